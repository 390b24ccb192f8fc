// BPT of HISS, section III (after Daga and Nutter, IA3'12): searches in a B+tree that touch only a
// part of it. Pinned memory would have to hold the whole tree.

#include <algorithm>

#include "labs/interference/generators/bpt_kernel.hpp"
#include "labs/interference/generators/counter_random.hpp"
#include "labs/interference/generators/generator.hpp"
#include "labs/interference/generators/input.hpp"

namespace k2k::labs::generators {

namespace {

constexpr std::uint64_t gap_max = 8;  // Between neighbouring keys, so that half of the searches
                                      // miss.

// Ascending and distinct. The value of keys[i] is draw(seed, i) >> 12, never bpt_absent.
std::vector<std::uint64_t> ascending_keys(std::size_t count, std::uint64_t seed) {
  std::vector<std::uint64_t> keys(count);
  std::uint64_t last = 0;
  for (std::size_t place = 0; place < count; ++place) {
    last += 1 + draw(seed, place) % gap_max;
    keys[place] = last;
  }
  return keys;
}

std::uint64_t value_of(std::uint64_t seed, std::size_t place) {
  return draw(seed + 1, place) >> 12;
}

struct Tree {
  std::vector<BptNode> nodes;
  std::uint32_t root = 0;
};

// Adds a level above `below`: nodes with up to bpt_keys_max children each. Returns the new level.
std::vector<std::uint32_t> add_level(std::vector<BptNode>& nodes,
                                     const std::vector<std::uint32_t>& below) {
  std::vector<std::uint32_t> level;
  for (std::size_t first = 0; first < below.size(); first += bpt_keys_max) {
    BptNode node{};
    for (std::size_t child = first; child < std::min(below.size(), first + bpt_keys_max); ++child) {
      node.keys[node.count] = nodes[below[child]].keys[0];
      node.children[node.count++] = below[child];
    }
    level.push_back(static_cast<std::uint32_t>(nodes.size()));
    nodes.push_back(node);
  }
  return level;
}

// Builds full nodes from the leaves up.
Tree bulk_load(const std::vector<std::uint64_t>& keys, std::uint64_t seed) {
  Tree tree;
  std::vector<std::uint32_t> level;
  for (std::size_t first = 0; first < keys.size(); first += bpt_keys_max) {
    BptNode node{};
    node.leaf = 1;
    for (std::size_t place = first; place < std::min(keys.size(), first + bpt_keys_max); ++place) {
      node.keys[node.count] = keys[place];
      node.values[node.count++] = value_of(seed, place);
    }
    level.push_back(static_cast<std::uint32_t>(tree.nodes.size()));
    tree.nodes.push_back(node);
  }
  while (level.size() > 1) level = add_level(tree.nodes, level);
  tree.root = level.front();
  return tree;
}

class Bpt : public Workload {
 public:
  Bpt(std::uint64_t seed, std::vector<std::uint64_t> keys, std::uint32_t root, Input<BptNode> nodes,
      Input<std::uint64_t> wanted)
      : seed_(seed),
        keys_(std::move(keys)),
        root_(root),
        nodes_(std::move(nodes)),
        wanted_(std::move(wanted)),
        found_(wanted_.size()) {}

  Status run(Runtime& runtime) override {
    const BptKernel kernel{nodes_.data(), root_, wanted_.data(), found_.data(), found_.size()};
    const auto report = runtime.launch(shape_on(runtime), kernel, "bpt");
    return report ? Status{} : report.error();
  }

  std::vector<double> answers() override { return {found_.begin(), found_.end()}; }

  // By a binary search in the sorted keys, without a tree.
  std::vector<double> reference() override {
    std::vector<double> values;
    for (std::size_t lookup = 0; lookup < wanted_.size(); ++lookup) {
      const std::uint64_t key = wanted_[lookup];
      const auto place = std::lower_bound(keys_.begin(), keys_.end(), key);
      const bool there = place != keys_.end() && *place == key;
      const auto index = static_cast<std::size_t>(place - keys_.begin());
      values.push_back(static_cast<double>(there ? value_of(seed_, index) : bpt_absent));
    }
    return values;
  }

  [[nodiscard]] std::vector<const DemandRegion*> regions() const override {
    return {nodes_.region(), wanted_.region()};
  }

 private:
  std::uint64_t seed_;
  std::vector<std::uint64_t> keys_;
  std::uint32_t root_;
  Input<BptNode> nodes_;
  Input<std::uint64_t> wanted_;
  std::vector<std::uint64_t> found_;
};

}  // namespace

Result<std::unique_ptr<Workload>> make_bpt(Runtime& runtime, const Settings& settings) {
  const auto count = settings.by_scale<std::size_t>(20'000, 2'000'000, 12'000'000);
  const auto lookups = settings.by_scale<std::size_t>(2'000, 40'000, 400'000);
  std::vector<std::uint64_t> keys = ascending_keys(count, settings.seed);
  std::vector<std::uint64_t> wanted(lookups);
  const std::uint64_t end = keys.back() + gap_max;
  for (std::size_t lookup = 0; lookup < lookups; ++lookup) {
    const std::uint64_t chance = draw(settings.seed + 2, lookup);
    const auto near = below(static_cast<std::uint32_t>(count), chance);
    wanted[lookup] = chance % 2 == 0 ? keys[near] : (chance >> 1) % end;
  }
  Tree tree = bulk_load(keys, settings.seed);
  auto nodes = Input<BptNode>::create(runtime, std::move(tree.nodes), "bpt nodes");
  if (!nodes) return nodes.error();
  auto input = Input<std::uint64_t>::create(runtime, std::move(wanted), "bpt keys");
  if (!input) return input.error();
  return Result<std::unique_ptr<Workload>>(
      std::make_unique<Bpt>(settings.seed, std::move(keys), tree.root, std::move(nodes.value()),
                            std::move(input.value())));
}

}  // namespace k2k::labs::generators
