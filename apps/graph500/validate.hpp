#pragma once
// Graph500's validation of a search (specification, "Validation"): five rules, checked against the
// generator's list of edges and not against the adjacency lists that the search used.
//
//   1  the tree is a tree: each vertex's parents lead to the root without a cycle
//   2  each tree edge joins vertices whose levels differ by one
//   3  each edge of the list joins vertices whose levels differ by at most one
//   4  the tree spans its component: no edge of the list has one end in the tree
//   5  each vertex and its parent are joined by an edge of the list
//
// Threading: one thread.

#include <cstdint>

#include "apps/graph500/graph_file.hpp"
#include "apps/graph500/traverse.hpp"

namespace k2k::graph500 {

struct Reached {
  std::uint64_t vertices = 0;
  std::uint64_t edges = 0;   // Of the list within the tree, with loops and repetitions: Graph500's
                             // count of traversed edges.
  std::uint32_t levels = 0;  // 1 for a root alone.
};

// Errors: EPROTO (a rule is broken; the message has its number and the place), EINVAL (an edge of
// the list has no vertex), ECANCELED (`stopped` meanwhile), as apps::read_at().
Result<Reached> validate(const GraphFile& file, std::uint32_t root, const Tree& tree,
                         const Stopped& stopped);

// Of all levels: equal for equal searches, whatever the parents.
std::uint64_t digest_of(const Tree& tree);

}  // namespace k2k::graph500
