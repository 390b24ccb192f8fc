#pragma once
// Graph500's generator: the edges of a Kronecker graph with shuffled vertices, and its adjacency
// lists in one of the two orders (Graph500 benchmark specification, "Generating the edge list").
//
// Threading: pure. Equal arguments give equal graphs on every machine.

#include <cstdint>
#include <vector>

#include "apps/graph500/format.hpp"

namespace k2k::graph500 {

struct Recipe {
  std::uint32_t scale = 16;
  std::uint32_t edge_factor = 16;
  std::uint64_t seed = 1;
  Order order = Order::unsorted;
};

struct Graph {
  std::vector<Edge> edges;
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint32_t> targets;
  std::vector<std::uint32_t> roots;  // Fewer than roots_max if fewer vertices have edges.
};

// Throws std::bad_alloc.
Graph make_graph(const Recipe& recipe);

// The bytes that make_graph() needs at least.
std::uint64_t least_bytes(const Recipe& recipe);

}  // namespace k2k::graph500
