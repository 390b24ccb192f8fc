#pragma once
// A synthetic graph in compressed rows, the same for the same seed on every machine.
//
// Threading: pure functions.

#include <cstdint>
#include <vector>

namespace k2k::labs::generators {

// The neighbours of vertex v: targets[offsets[v]] to targets[offsets[v + 1]], ascending, without v
// itself, each once. Undirected: who is a neighbour has one.
struct Graph {
  std::vector<std::uint32_t> offsets;  // One more than vertices.
  std::vector<std::uint32_t> targets;

  [[nodiscard]] std::uint32_t vertices() const {
    return static_cast<std::uint32_t>(offsets.size() - 1);
  }
  // With the most neighbours; a search from there reaches nearly everything that can be reached.
  [[nodiscard]] std::uint32_t busiest() const;
};

// 2^scale vertices and about `edge_factor` times as many edges, few of them with most of the
// neighbours (R-MAT: Chakrabarti, Zhan and Faloutsos, SDM'04, with Graph500's probabilities).
Graph kronecker(std::uint32_t scale, std::uint32_t edge_factor, std::uint64_t seed);

// The weight of the edge between two vertices, 1 to 255, in both directions.
std::uint32_t weight_of(std::uint32_t from, std::uint32_t to, std::uint64_t seed);

}  // namespace k2k::labs::generators
