// SSSP of HISS, section III (Pannotia; Che et al., IISWC'13): Bellman and Ford's relaxation,
// applied to the vertices of a worklist instead of all vertices. A round relaxes from the distances
// that held when it began, so each worklist has the same vertices in every run, whatever the order
// of work-items.

#include <array>
#include <queue>

#include "labs/interference/generators/generator.hpp"
#include "labs/interference/generators/graph.hpp"
#include "labs/interference/generators/input.hpp"
#include "labs/interference/generators/kernels.hpp"
#include "labs/interference/generators/output.hpp"

namespace k2k::labs::generators {

namespace {

struct SsspInputs {
  Input<std::uint32_t> offsets;
  Input<std::uint32_t> targets;
  Input<std::uint32_t> weights;
};

// The device code's outputs: distances, distances of the list's vertices when the round began,
// rounds, two lists that alternate, and the length of the next one.
struct SsspState {
  DemandRegion distances;
  DemandRegion before;
  DemandRegion listed;
  std::array<DemandRegion, 2> lists;
  Output<std::uint32_t> next_count;  // One number.
};

class Sssp : public Workload {
 public:
  Sssp(std::uint32_t source, SsspInputs inputs, SsspState state)
      : source_(source), in_(std::move(inputs)), state_(std::move(state)) {
    // Here: these pages are no work-item's faults.
    state_.distances.as<std::uint32_t>()[source_] = 1;
    *state_.lists[1].as<std::uint32_t>() = source_;
  }

  Status run(Runtime& runtime) override {
    auto* const distances = state_.distances.as<std::uint32_t>();
    std::uint32_t count = 1;
    for (std::uint32_t round = 1; count != 0; ++round) {
      state_.next_count[0] = 0;
      const auto* const now = state_.lists[round % 2].as<const std::uint32_t>();
      auto* const before = state_.before.as<std::uint32_t>();
      const SsspSnapshotKernel snapshot{distances, now, count, before};
      Status done = launch_kernel(runtime, shape_on(runtime), snapshot, "sssp snapshot");
      if (!done) return done;
      const SsspKernel kernel{
          .graph = {in_.offsets.data(), in_.targets.data(), vertices()},
          .weights = in_.weights.data(),
          .distances = distances,
          .before = before,
          .listed = state_.listed.as<std::uint32_t>(),
          .now = now,
          .now_count = count,
          .next = {state_.lists[(round + 1) % 2].as<std::uint32_t>(), state_.next_count.data()},
          .round = round};
      if (done = launch_kernel(runtime, shape_on(runtime), kernel, "sssp"); !done) return done;
      count = state_.next_count[0];
    }
    return {};
  }

  std::vector<double> answers() override {
    const auto* const distances = state_.distances.as<const std::uint32_t>();
    return {distances, distances + vertices()};
  }

  // By Dijkstra's algorithm.
  std::vector<double> reference() override {
    using Offer = std::pair<std::uint32_t, std::uint32_t>;  // Distance, vertex.
    std::vector<double> distances(vertices(), 0);
    std::priority_queue<Offer, std::vector<Offer>, std::greater<>> offers;
    offers.emplace(1, source_);
    while (!offers.empty()) {
      const auto [distance, vertex] = offers.top();
      offers.pop();
      if (distances[vertex] != 0) continue;
      distances[vertex] = distance;
      for (std::uint32_t edge = in_.offsets[vertex]; edge < in_.offsets[vertex + 1]; ++edge) {
        offers.emplace(distance + in_.weights[edge], in_.targets[edge]);
      }
    }
    return distances;
  }

  [[nodiscard]] std::vector<const DemandRegion*> regions() const override {
    return {in_.offsets.region(), in_.targets.region(), in_.weights.region(), &state_.distances,
            &state_.before,       &state_.listed,       &state_.lists[0],     &state_.lists[1]};
  }

 private:
  [[nodiscard]] std::uint32_t vertices() const {
    return static_cast<std::uint32_t>(in_.offsets.size() - 1);
  }

  std::uint32_t source_;
  SsspInputs in_;
  SsspState state_;
};

std::vector<std::uint32_t> weights_of(const Graph& graph, std::uint64_t seed) {
  std::vector<std::uint32_t> weights;
  for (std::uint32_t vertex = 0; vertex < graph.vertices(); ++vertex) {
    for (std::uint32_t edge = graph.offsets[vertex]; edge < graph.offsets[vertex + 1]; ++edge) {
      weights.push_back(weight_of(vertex, graph.targets[edge], seed));
    }
  }
  return weights;
}

Result<SsspState> state_for(Runtime& runtime, std::uint32_t vertices) {
  auto distances = zeros<std::uint32_t>(runtime, vertices, "sssp distances");
  if (!distances) return distances.error();
  auto before = zeros<std::uint32_t>(runtime, vertices, "sssp snapshot");
  if (!before) return before.error();
  auto listed = zeros<std::uint32_t>(runtime, vertices, "sssp rounds");
  if (!listed) return listed.error();
  auto even = zeros<std::uint32_t>(runtime, vertices, "sssp even list");
  if (!even) return even.error();
  auto odd = zeros<std::uint32_t>(runtime, vertices, "sssp odd list");
  if (!odd) return odd.error();
  auto next_count = Output<std::uint32_t>::create(runtime, 1);
  if (!next_count) return next_count.error();
  return SsspState{std::move(distances.value()),
                   std::move(before.value()),
                   std::move(listed.value()),
                   {std::move(even.value()), std::move(odd.value())},
                   std::move(next_count.value())};
}

}  // namespace

Result<std::unique_ptr<Workload>> make_sssp(Runtime& runtime, const Settings& settings) {
  Graph graph = kronecker(settings.by_scale<std::uint32_t>(11, 14, 17),
                          settings.by_scale<std::uint32_t>(8, 16, 16), settings.seed);
  const std::uint32_t source = graph.busiest();
  auto state = state_for(runtime, graph.vertices());
  if (!state) return state.error();
  auto weights =
      Input<std::uint32_t>::create(runtime, weights_of(graph, settings.seed + 1), "sssp weights");
  if (!weights) return weights.error();
  auto offsets = Input<std::uint32_t>::create(runtime, std::move(graph.offsets), "sssp offsets");
  if (!offsets) return offsets.error();
  auto targets = Input<std::uint32_t>::create(runtime, std::move(graph.targets), "sssp targets");
  if (!targets) return targets.error();
  return Result<std::unique_ptr<Workload>>(
      std::make_unique<Sssp>(source,
                             SsspInputs{std::move(offsets.value()), std::move(targets.value()),
                                        std::move(weights.value())},
                             std::move(state.value())));
}

}  // namespace k2k::labs::generators
