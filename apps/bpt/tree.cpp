#include "apps/bpt/tree.hpp"

#include <algorithm>

#include "apps/common/counter_random.hpp"

namespace k2k::bpt {

namespace {

using apps::below;
using apps::draw;

// Adds a level above `below`: nodes with up to keys_a_node children each. Returns the new level.
std::vector<std::uint32_t> add_level(std::vector<Node>& nodes,
                                     const std::vector<std::uint32_t>& below) {
  std::vector<std::uint32_t> level;
  for (std::size_t first = 0; first < below.size(); first += keys_a_node) {
    Node node{};
    for (std::size_t child = first; child < std::min(below.size(), first + keys_a_node); ++child) {
      node.keys[node.count] = nodes[below[child]].keys[0];
      node.children[node.count++] = below[child];
    }
    level.push_back(static_cast<std::uint32_t>(nodes.size()));
    nodes.push_back(node);
  }
  return level;
}

}  // namespace

std::vector<std::uint64_t> keys_of(std::size_t count, std::uint64_t seed) {
  std::vector<std::uint64_t> keys(count);
  std::uint64_t last = 0;
  for (std::size_t place = 0; place < count; ++place) {
    last += 1 + draw(seed, place) % gap_max;
    keys[place] = last;
  }
  return keys;
}

std::uint64_t value_at(std::uint64_t seed, std::size_t place) {
  return draw(seed + 1, place) >> 12;
}

MadeTree tree_of(const std::vector<std::uint64_t>& keys, std::uint64_t seed) {
  MadeTree tree;
  std::vector<std::uint32_t> level;
  for (std::size_t first = 0; first < keys.size(); first += keys_a_node) {
    Node node{};
    node.leaf = 1;
    for (std::size_t place = first; place < std::min(keys.size(), first + keys_a_node); ++place) {
      node.keys[node.count] = keys[place];
      node.values[node.count++] = value_at(seed, place);
    }
    level.push_back(static_cast<std::uint32_t>(tree.nodes.size()));
    tree.nodes.push_back(node);
  }
  tree.levels = 1;
  for (; level.size() > 1; ++tree.levels) level = add_level(tree.nodes, level);
  tree.root = level.front();
  return tree;
}

std::vector<std::uint64_t> wanted_of(const std::vector<std::uint64_t>& keys, std::size_t lookups,
                                     std::uint64_t seed) {
  std::vector<std::uint64_t> wanted(lookups);
  const std::uint64_t end = keys.back() + gap_max;
  for (std::size_t lookup = 0; lookup < lookups; ++lookup) {
    const std::uint64_t chance = draw(seed + 2, lookup);
    const auto near = below(static_cast<std::uint32_t>(keys.size()), chance);
    wanted[lookup] = chance % 2 == 0 ? keys[near] : (chance >> 1) % end;
  }
  return wanted;
}

std::uint64_t value_of(const std::vector<std::uint64_t>& keys, std::uint64_t seed,
                       std::uint64_t key) {
  const auto place = std::lower_bound(keys.begin(), keys.end(), key);
  if (place == keys.end() || *place != key) return absent;
  return value_at(seed, static_cast<std::size_t>(place - keys.begin()));
}

}  // namespace k2k::bpt
