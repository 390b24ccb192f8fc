#pragma once
// Device code of the B+tree: each work-item searches one key, from the root to a leaf. A node is a
// page, so the first visit of a node is a fault. C++17, any device.

#include <cstddef>
#include <cstdint>

#include "device/k2k.hpp"

namespace k2k::labs::generators {

inline constexpr std::uint32_t bpt_keys_max = 255;
inline constexpr std::uint64_t bpt_absent = (std::uint64_t{1} << 53) - 1;

// Inner: keys[i] is the smallest key below children[i]. Leaf: keys[i] has values[i].
struct alignas(4096) BptNode {
  std::uint32_t count;
  std::uint32_t leaf;
  std::uint64_t keys[bpt_keys_max];
  union {
    std::uint32_t children[bpt_keys_max];
    std::uint64_t values[bpt_keys_max];
  };
};
static_assert(sizeof(BptNode) == 4096);

// The number of the node's keys that are not above `key`.
K2K_DEVICE inline std::uint32_t bpt_rank(const BptNode& node, std::uint64_t key) {
  std::uint32_t low = 0;
  std::uint32_t high = node.count;
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

struct BptKernel {
  const BptNode* nodes;
  std::uint32_t root;
  const std::uint64_t* wanted;
  std::uint64_t* found;
  std::uint64_t lookups;

  K2K_DEVICE void operator()() const {
    for (std::uint64_t lookup = k2k::global_rank(); lookup < lookups;
         lookup += k2k::global_size()) {
      found[lookup] = find(wanted[lookup]);
    }
  }

 private:
  K2K_DEVICE std::uint64_t find(std::uint64_t key) const {
    const BptNode* node = nodes + root;
    while (true) {
      const std::uint32_t rank = bpt_rank(*node, key);
      if (rank == 0) return bpt_absent;  // Below the smallest key.
      if (node->leaf != 0) return node->keys[rank - 1] == key ? node->values[rank - 1] : bpt_absent;
      node = nodes + node->children[rank - 1];
    }
  }
};

}  // namespace k2k::labs::generators
