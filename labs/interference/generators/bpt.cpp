// BPT of HISS, section III (after Daga and Nutter, IA3'12): searches in a B+tree that touch only a
// part of it. Pinned memory would have to hold the whole tree.

#include "apps/bpt/tree.hpp"
#include "labs/interference/generators/generator.hpp"
#include "labs/interference/generators/input.hpp"
#include "labs/interference/generators/kernels.hpp"
#include "labs/interference/generators/output.hpp"

namespace k2k::labs::generators {

namespace {

class Bpt : public Workload {
 public:
  Bpt(std::uint64_t seed, std::vector<std::uint64_t> keys, const bpt::MadeTree& tree,
      Input<bpt::Node> nodes, Input<std::uint64_t> wanted, Output<std::uint64_t> found)
      : seed_(seed),
        keys_(std::move(keys)),
        root_(tree.root),
        levels_(tree.levels),
        nodes_(std::move(nodes)),
        wanted_(std::move(wanted)),
        found_(std::move(found)) {}

  Status run(Runtime& runtime) override {
    const bpt::Search kernel{.tree = {nodes_.data(), nodes_.size(), root_, levels_},
                             .wanted = wanted_.data(),
                             .found = found_.data(),
                             .lookups = found_.size()};
    return launch_kernel(runtime, shape_on(runtime), kernel, "bpt");
  }

  std::vector<double> answers() override { return {found_.begin(), found_.end()}; }

  // Without a tree.
  std::vector<double> reference() override {
    std::vector<double> values;
    for (std::size_t lookup = 0; lookup < wanted_.size(); ++lookup) {
      values.push_back(static_cast<double>(bpt::value_of(keys_, seed_, wanted_[lookup])));
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
  std::uint32_t levels_;
  Input<bpt::Node> nodes_;
  Input<std::uint64_t> wanted_;
  Output<std::uint64_t> found_;
};

}  // namespace

Result<std::unique_ptr<Workload>> make_bpt(Runtime& runtime, const Settings& settings) {
  const auto count = settings.by_scale<std::size_t>(20'000, 2'000'000, 12'000'000);
  const auto lookups = settings.by_scale<std::size_t>(2'000, 40'000, 400'000);
  std::vector<std::uint64_t> keys = bpt::keys_of(count, settings.seed);
  std::vector<std::uint64_t> wanted = bpt::wanted_of(keys, lookups, settings.seed);
  bpt::MadeTree tree = bpt::tree_of(keys, settings.seed);
  auto nodes = Input<bpt::Node>::create(runtime, std::move(tree.nodes), "bpt nodes");
  if (!nodes) return nodes.error();
  auto input = Input<std::uint64_t>::create(runtime, std::move(wanted), "bpt keys");
  if (!input) return input.error();
  auto found = Output<std::uint64_t>::create(runtime, lookups);
  if (!found) return found.error();
  return Result<std::unique_ptr<Workload>>(
      std::make_unique<Bpt>(settings.seed, std::move(keys), tree, std::move(nodes.value()),
                            std::move(input.value()), std::move(found.value())));
}

}  // namespace k2k::labs::generators
