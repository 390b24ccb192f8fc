#pragma once
// Makes a B+tree (node.hpp), the keys that are searched in it, and their values by another method.
//
// Threading: pure functions.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "apps/bpt/node.hpp"

namespace k2k::bpt {

// Between neighbouring keys, so that half of the searches miss.
inline constexpr std::uint64_t gap_max = 8;

struct MadeTree {
  std::vector<Node> nodes;
  std::uint32_t root = 0;
  std::uint32_t levels = 0;

  // Expects that the nodes live as long.
  [[nodiscard]] Tree tree() const { return {nodes.data(), nodes.size(), root, levels}; }
};

// Ascending and distinct.
std::vector<std::uint64_t> keys_of(std::size_t count, std::uint64_t seed);
// Of the key at `place`; never `absent`.
std::uint64_t value_at(std::uint64_t seed, std::size_t place);
// Full nodes, built from the leaves up. Expects keys.
MadeTree tree_of(const std::vector<std::uint64_t>& keys, std::uint64_t seed);

// Keys to search, in a random order: half of them are drawn from `keys`, the others from all
// numbers up to the last key. Expects fewer than 2^32 keys.
std::vector<std::uint64_t> wanted_of(const std::vector<std::uint64_t>& keys, std::size_t lookups,
                                     std::uint64_t seed);
// The value of a key, or `absent`, by a binary search in the sorted keys, without a tree.
std::uint64_t value_of(const std::vector<std::uint64_t>& keys, std::uint64_t seed,
                       std::uint64_t key);

}  // namespace k2k::bpt
