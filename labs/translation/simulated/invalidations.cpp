#include "labs/translation/simulated/invalidations.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>

#include "base/contract.hpp"
#include "labs/translation/simulated/thesis.hpp"

namespace k2k::labs::translation {

namespace {

const thesis::Shootdown& parts_of(const Invalidation& one) {
  return one.pages == 0 ? thesis::all_entries : thesis::one_entry;
}

// A command that its core has made and that waits to be queued.
struct Made {
  double ready_ns;
  std::size_t index;
  bool operator>(const Made& other) const {
    return ready_ns != other.ready_ns ? ready_ns > other.ready_ns : index > other.index;
  }
};

}  // namespace

std::vector<InvalidationTimes> times_of(std::span<const Invalidation> invalidations,
                                        std::uint32_t command_queue) {
  K2K_EXPECT(command_queue > 0);
  std::vector<InvalidationTimes> times(invalidations.size());
  std::map<std::uint32_t, std::vector<std::size_t>> by_core;  // Backwards: the next one is last.
  for (std::size_t at = invalidations.size(); at > 0; --at) {
    by_core[invalidations[at - 1].core].push_back(at - 1);
  }
  std::priority_queue<Made, std::vector<Made>, std::greater<>> made;
  const auto ask = [&](std::vector<std::size_t>& own, double free_ns) {
    if (own.empty()) return;
    const std::size_t index = own.back();
    own.pop_back();
    times[index].asked_ns = std::max(invalidations[index].at_ns, free_ns);
    made.push({times[index].asked_ns + parts_of(invalidations[index]).initialise, index});
  };
  for (auto& [core, own] : by_core) ask(own, 0);

  // What a core makes next is ready later than all that is taken here: the order is that of time.
  std::queue<double> queued;  // When the places of the queue become free, oldest first.
  double iommu_free_ns = 0;
  double gpu_free_ns = 0;
  while (!made.empty()) {
    const Made next = made.top();
    made.pop();
    double entered_ns = next.ready_ns;
    if (queued.size() == command_queue) {
      entered_ns = std::max(entered_ns, queued.front());
      queued.pop();
    }
    const thesis::Shootdown& parts = parts_of(invalidations[next.index]);
    InvalidationTimes& one = times[next.index];
    one.iommu_ns = iommu_free_ns = std::max(entered_ns, iommu_free_ns) + parts.iommu;
    one.gpu_ns = gpu_free_ns = std::max(one.iommu_ns, gpu_free_ns) + parts.gpu;
    one.retired_ns = one.gpu_ns + parts.finalise;
    queued.push(one.gpu_ns);
    ask(by_core[invalidations[next.index].core], one.retired_ns);
  }
  return times;
}

}  // namespace k2k::labs::translation
