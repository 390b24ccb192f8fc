// BFS of HISS, section III (SHOC; Danalis et al., GPGPU'10): level by level, with all work-items
// over all vertices. Its faults cluster at the beginning (HISS, section IV-A).

#include <queue>

#include "labs/interference/generators/generator.hpp"
#include "labs/interference/generators/graph.hpp"
#include "labs/interference/generators/input.hpp"
#include "labs/interference/generators/kernels.hpp"
#include "labs/interference/generators/output.hpp"

namespace k2k::labs::generators {

namespace {

class Bfs : public Workload {
 public:
  Bfs(std::uint32_t source, Input<std::uint32_t> offsets, Input<std::uint32_t> targets,
      DemandRegion depths, Output<std::uint32_t> reached)
      : source_(source),
        offsets_(std::move(offsets)),
        targets_(std::move(targets)),
        depths_(std::move(depths)),
        reached_(std::move(reached)) {
    depths_.as<std::uint32_t>()[source_] = 1;  // Here: this page is no work-item's fault.
  }

  Status run(Runtime& runtime) override {
    auto* const depths = depths_.as<std::uint32_t>();
    reached_[0] = 1;
    for (std::uint32_t depth = 1; reached_[0] != 0; ++depth) {
      reached_[0] = 0;
      const BfsKernel kernel{graph(), depths, depth, reached_.data()};
      Status done = launch_kernel(runtime, shape_on(runtime), kernel, "bfs");
      if (!done) return done;
    }
    return {};
  }

  std::vector<double> answers() override {
    const auto* const depths = depths_.as<const std::uint32_t>();
    return {depths, depths + vertices()};
  }

  // With a queue, on the CPU.
  std::vector<double> reference() override {
    std::vector<double> depths(vertices(), 0);
    std::queue<std::uint32_t> queue({source_});
    depths[source_] = 1;
    for (; !queue.empty(); queue.pop()) {
      const std::uint32_t vertex = queue.front();
      for (std::uint32_t edge = offsets_[vertex]; edge < offsets_[vertex + 1]; ++edge) {
        const std::uint32_t other = targets_[edge];
        if (depths[other] != 0) continue;
        depths[other] = depths[vertex] + 1;
        queue.push(other);
      }
    }
    return depths;
  }

  [[nodiscard]] std::vector<const DemandRegion*> regions() const override {
    return {offsets_.region(), targets_.region(), &depths_};
  }

 private:
  [[nodiscard]] std::uint32_t vertices() const {
    return static_cast<std::uint32_t>(offsets_.size() - 1);
  }
  [[nodiscard]] DeviceGraph graph() const { return {offsets_.data(), targets_.data(), vertices()}; }

  std::uint32_t source_;
  Input<std::uint32_t> offsets_;
  Input<std::uint32_t> targets_;
  DemandRegion depths_;
  Output<std::uint32_t> reached_;  // One number.
};

}  // namespace

Result<std::unique_ptr<Workload>> make_bfs(Runtime& runtime, const Settings& settings) {
  Graph graph = kronecker(settings.by_scale<std::uint32_t>(11, 15, 18),
                          settings.by_scale<std::uint32_t>(8, 16, 16), settings.seed);
  const std::uint32_t source = graph.busiest();
  auto depths = zeros<std::uint32_t>(runtime, graph.vertices(), "bfs depths");
  if (!depths) return depths.error();
  auto offsets = Input<std::uint32_t>::create(runtime, std::move(graph.offsets), "bfs offsets");
  if (!offsets) return offsets.error();
  auto targets = Input<std::uint32_t>::create(runtime, std::move(graph.targets), "bfs targets");
  if (!targets) return targets.error();
  auto reached = Output<std::uint32_t>::create(runtime, 1);
  if (!reached) return reached.error();
  return Result<std::unique_ptr<Workload>>(
      std::make_unique<Bfs>(source, std::move(offsets.value()), std::move(targets.value()),
                            std::move(depths.value()), std::move(reached.value())));
}

}  // namespace k2k::labs::generators
