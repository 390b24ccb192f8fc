#pragma once
// A synthetic graph in compressed rows; equal seeds give equal graphs on every machine.
//
// Threading: pure functions.

#include <cstdint>
#include <vector>

namespace k2k::labs::generators {

// The neighbours of vertex v are targets[offsets[v]] to targets[offsets[v + 1]], ascending,
// distinct, without v itself. Undirected: if a is a neighbour of b, then b is a neighbour of a.
struct Graph {
  std::vector<std::uint32_t> offsets;  // Number of vertices + 1.
  std::vector<std::uint32_t> targets;

  [[nodiscard]] std::uint32_t vertices() const {
    return static_cast<std::uint32_t>(offsets.size() - 1);
  }
  // The vertex with the most neighbours; a search from it reaches nearly every vertex that can be
  // reached.
  [[nodiscard]] std::uint32_t busiest() const;
};

// 2^scale vertices and about `edge_factor` times as many edges; few vertices have most of the
// neighbours (R-MAT: Chakrabarti, Zhan and Faloutsos, SDM'04, with Graph500's probabilities).
Graph kronecker(std::uint32_t scale, std::uint32_t edge_factor, std::uint64_t seed);

// The weight of the edge between two vertices, 1 to 255, in both directions.
std::uint32_t weight_of(std::uint32_t from, std::uint32_t to, std::uint64_t seed);

}  // namespace k2k::labs::generators
