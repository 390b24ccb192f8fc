#pragma once
// A B+tree whose nodes are pages, and the search of one key in it, from the root to a leaf (after
// Daga and Nutter, IA3'12). The first visit of a node touches its page.
//
// The nodes may come from a file that is wrong or changes: each word that leads a search further is
// checked before its use.
//
// Threading: pure functions of plain data, host and device. C++17.

#include <cstdint>

#include "base/attributes.hpp"

namespace k2k::bpt {

inline constexpr std::uint32_t keys_a_node = 255;
inline constexpr std::uint64_t absent = (std::uint64_t{1} << 53) - 1;

// Inner: keys[i] is the smallest key below children[i]. Leaf: keys[i] has values[i].
struct alignas(4096) Node {
  std::uint32_t count;
  std::uint32_t leaf;
  std::uint64_t keys[keys_a_node];
  union {
    std::uint32_t children[keys_a_node];
    std::uint64_t values[keys_a_node];
  };
};
static_assert(sizeof(Node) == 4096);

// Expects a root below `node_count`, and a level or more.
struct Tree {
  const Node* nodes = nullptr;
  std::uint64_t node_count = 0;
  std::uint32_t root = 0;
  std::uint32_t levels = 0;  // Of nodes from the root to every leaf, both included.
};

// The reasons why a search ends at a node.
enum class Wrong : std::uint8_t {
  nothing,
  count,  // No key, or more than a node has room for.
  depth,  // A leaf above the last level, or none there.
  child,  // Beyond the nodes.
};

struct Found {
  std::uint64_t value = absent;
  Wrong wrong = Wrong::nothing;
  std::uint32_t node = 0;  // That is wrong.
};

// The number of the node's first `count` keys that are not above `key`.
K2K_HD inline std::uint32_t rank_in(const Node& node, std::uint32_t count, std::uint64_t key) {
  std::uint32_t low = 0;
  std::uint32_t high = count;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (node.keys[middle] <= key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

K2K_HD inline Found find(const Tree& tree, std::uint64_t key) {
  std::uint32_t place = tree.root;
  for (std::uint32_t level = 1;; ++level) {
    const Node& node = tree.nodes[place];
    const std::uint32_t count = node.count;
    if (count == 0 || count > keys_a_node) return {absent, Wrong::count, place};
    const std::uint32_t rank = rank_in(node, count, key);
    const bool last = level == tree.levels;
    if ((node.leaf != 0) != last) return {absent, Wrong::depth, place};
    if (rank == 0) return {};  // Below the smallest key.
    if (last) return {node.keys[rank - 1] == key ? node.values[rank - 1] : absent};
    const std::uint32_t child = node.children[rank - 1];
    if (child >= tree.node_count) return {absent, Wrong::child, place};
    place = child;
  }
}

}  // namespace k2k::bpt
