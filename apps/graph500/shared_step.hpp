#pragma once
// A step whose long lists the items of a group share (Merrill, Garland and Grimshaw, PPoPP'12: the
// gathering by groups and by waves). An item that meets a long list of targets puts its vertex into
// the group's table; after the turns the items go through the table:
//
//   at least a group's items of targets   one after the other, all items of the group together
//   less                                  one for each wave, by the lanes of the wave
//
// A list that finds no place in the table is searched by its item alone.
//
// Threading: device code; every item of the group calls run_shared().

#include "apps/graph500/step.hpp"
#include "device/k2k.hpp"

namespace k2k::graph500 {

inline constexpr std::uint32_t shared_lists_max = 512;

struct SharedLists {
  std::uint32_t count;  // May be beyond shared_lists_max.
  std::uint32_t vertices[shared_lists_max];
};

K2K_DEVICE inline void claim_shared(Step& step, const Job& job, const SharedLists& lists) {
  const std::uint32_t count = lists.count < shared_lists_max ? lists.count : shared_lists_max;
  const std::uint32_t items = k2k::group_size();
  const std::uint32_t lanes = k2k::wave_lanes() < items ? k2k::wave_lanes() : items;
  const std::uint32_t item = k2k::item_rank();
  const std::uint32_t waves =
      items / lanes;  // Items of a last, smaller wave share wide lists only.
  const std::uint32_t wave = item / lanes;
  for (std::uint32_t at = 0; at < count; ++at) {
    const std::uint32_t vertex = lists.vertices[at];
    if (job.offsets[vertex + std::uint64_t{1}] - job.offsets[vertex] >= items) {
      step.claim_targets(vertex, item, items);
    } else if (at % waves == wave) {
      step.claim_targets(vertex, item % lanes, lanes);
    }
  }
}

K2K_DEVICE inline void run_shared(const Job& job, Work work) {
  K2K_LOCAL(SharedLists, lists);
  if (k2k::item_rank() == 0) lists.count = 0;
  k2k::barrier();
  Step step(job);
  step.take_turns(work, k2k::global_rank(), k2k::global_size(),
                  [&](std::uint64_t vertex, std::uint64_t targets) {
                    if (targets < job.share_min) return false;
                    const std::uint32_t place =
                        k2k::AtomicRef(lists.count).fetch_add(1, k2k::memory_order_relaxed);
                    if (place >= shared_lists_max) return false;
                    lists.vertices[place] = static_cast<std::uint32_t>(vertex);
                    return true;
                  });
  k2k::barrier();
  claim_shared(step, job, lists);
  step.end(work, k2k::global_size());
}

}  // namespace k2k::graph500
