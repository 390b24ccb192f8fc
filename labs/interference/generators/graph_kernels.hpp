#pragma once
// Device code of the two graph searches. A launch is one step, and the host launches again until no
// work is left, because work-groups of one launch cannot wait for each other. C++17, any device.
//
// A vertex holds 1 + its depth or distance, and 0 until it is reached. So the zeros of a
// demand-allocated page need no initialisation.

#include <cstdint>

#include "device/k2k.hpp"

namespace k2k::labs::generators {

struct DeviceGraph {
  const std::uint32_t* offsets;
  const std::uint32_t* targets;
  std::uint32_t vertices;
};

// Every vertex of this depth gives its neighbours the next depth.
struct BfsKernel {
  DeviceGraph graph;
  std::uint32_t* depths;
  std::uint32_t depth;     // 1 + the depth of the level.
  std::uint32_t* reached;  // Number of vertices reached for the first time.

  K2K_DEVICE void operator()() const {
    for (std::uint64_t vertex = k2k::global_rank(); vertex < graph.vertices;
         vertex += k2k::global_size()) {
      if (protocol::device_load(depths + vertex) == depth) expand(vertex);
    }
  }

 private:
  K2K_DEVICE void expand(std::uint64_t vertex) const {
    std::uint32_t added = 0;
    const std::uint32_t end = graph.offsets[vertex + 1];
    for (std::uint32_t edge = graph.offsets[vertex]; edge < end; ++edge) {
      std::uint32_t* const other = depths + graph.targets[edge];
      if (protocol::device_load(other) != 0) continue;
      if (protocol::device_compare_exchange(other, std::uint32_t{0}, depth + 1)) ++added;
    }
    if (added != 0) protocol::device_add(reached, added);
  }
};

// A list of vertices with a shorter distance than before, and its length.
struct Worklist {
  std::uint32_t* vertices;
  std::uint32_t* count;
};

// Copies the distances of a list's vertices. So the next launch offers the same distances for every
// order of its work-items, and puts the same vertices into the next list.
struct SsspSnapshotKernel {
  const std::uint32_t* distances;
  const std::uint32_t* now;
  std::uint32_t now_count;
  std::uint32_t* before;

  K2K_DEVICE void operator()() const {
    for (std::uint64_t place = k2k::global_rank(); place < now_count; place += k2k::global_size()) {
      before[place] = protocol::device_load(distances + now[place]);
    }
  }
};

// Every vertex of one list offers its neighbours the path through it; a vertex with a shorter
// distance enters the next list, once.
struct SsspKernel {
  DeviceGraph graph;
  const std::uint32_t* weights;  // Of the edges, indexed as the targets.
  std::uint32_t* distances;
  const std::uint32_t* before;  // Of the list's vertices, by their places in the list.
  std::uint32_t* listed;        // For each vertex, the last round in which it entered a list.
  const std::uint32_t* now;
  std::uint32_t now_count;
  Worklist next;
  std::uint32_t round;  // Number of the next list; at least 1.

  K2K_DEVICE void operator()() const {
    for (std::uint64_t place = k2k::global_rank(); place < now_count; place += k2k::global_size()) {
      relax_around(now[place], before[place]);
    }
  }

 private:
  K2K_DEVICE void relax_around(std::uint32_t vertex, std::uint32_t distance) const {
    const std::uint32_t end = graph.offsets[vertex + 1];
    for (std::uint32_t edge = graph.offsets[vertex]; edge < end; ++edge) {
      const std::uint32_t other = graph.targets[edge];
      if (lower(distances + other, distance + weights[edge])) put(other);
    }
  }
  K2K_DEVICE static bool lower(std::uint32_t* distance, std::uint32_t offer) {
    std::uint32_t seen = protocol::device_load(distance);
    while (seen == 0 || offer < seen) {
      if (protocol::device_compare_exchange(distance, seen, offer)) return true;
      seen = protocol::device_load(distance);
    }
    return false;
  }
  // The next launch reads the list, and with it every distance of this launch.
  K2K_DEVICE void put(std::uint32_t vertex) const {
    const std::uint32_t last = protocol::device_load(listed + vertex);
    if (last == round) return;
    if (!protocol::device_compare_exchange(listed + vertex, last, round)) return;
    next.vertices[protocol::device_add(next.count, std::uint32_t{1})] = vertex;
  }
};

}  // namespace k2k::labs::generators
