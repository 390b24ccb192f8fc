#include "server/poll/top_half.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <thread>
#include <utility>

#include "base/bits.hpp"
#include "base/cache_line.hpp"
#include "base/clock.hpp"

namespace k2k::server {

namespace {
// std::popcount is a library call for plain x86-64, and most doorbells ring for one lane.
std::uint32_t number_of(std::uint64_t lanes) {
  return (lanes & (lanes - 1)) == 0 ? 1 : static_cast<std::uint32_t>(std::popcount(lanes));
}
}  // namespace

void TopHalf::assign(std::vector<protocol::RingConsumer*> rings, std::uint32_t first,
                     std::uint32_t step) {
  rings_ = std::move(rings);
  rescued_.assign(rings_.size(), Rescued{});
  waiting_.assign(rings_.size(), Waiting{});
  first_ring_ = first;
  ring_step_ = step;
  next_row_ = 0;
}

void TopHalf::configure(const ServerConfig& config) {
  hold(config.coalesce_window_us, config.coalesce_max);
  rescan_cycles_ = cycles_of(config.rescan_us);
  rescan_due_ = cycles() + rescan_cycles_;
}

void TopHalf::hold(std::uint32_t window_us, std::uint32_t requests_max) {
  window_cycles_ = cycles_of(window_us);
  coalesce_max_ = requests_max;
}

// Do not sleep if a sleep costs more CPU time than it saves. A window longer than one permitted
// sleep is divided into equal sleeps: a short remainder would be spun.
void TopHalf::wait_for_more(std::uint64_t end) const {
  const std::uint64_t moment = cycles();
  if (moment >= end || end - moment < nap_cycles_) return;
  const Nanoseconds left =
      std::chrono::microseconds((end - moment) / std::max<std::uint64_t>(1, cycles_of(1)));
  std::this_thread::sleep_for(left / (left / urgent_look + 1));
}

bool TopHalf::collect(Bundle& bundle, ThreadStats& stats) {
  std::uint32_t requests = drain(bundle, coalesce_max_, stats);
  if (requests == 0) return false;
  if (window_cycles_ != 0) {
    const std::uint64_t end = cycles() + window_cycles_;
    while (requests < coalesce_max_ && !any_urgent(bundle) && cycles() < end) {
      wait_for_more(end);
      if (device_ != nullptr) device_->advance();
      requests += drain(bundle, coalesce_max_ - requests, stats);
    }
  }
  stats.bundles.add();
  return true;
}

std::uint32_t TopHalf::drain(Bundle& bundle, std::uint32_t requests_max, ThreadStats& stats) {
  std::uint32_t requests = 0;
  for (protocol::RingConsumer* ring : rings_) {
    protocol::Doorbell doorbell;
    std::uint64_t doorbells = 0;
    // A device that forges doorbells faster than they are read must not keep this thread: each
    // doorbell counts as at least one request, whatever it names.
    while (requests < requests_max && doorbells < requests_max && ring->poll(doorbell)) {
      ++doorbells;
      // A row beyond the area, or of another half's ring, can only come from an invalid ring entry.
      if (doorbell.wave >= area_->wave_count || !rings_here(doorbell.wave)) continue;
      bundle.push_back(doorbell);
      requests += number_of(doorbell.lanes);
    }
    if (doorbells == 0) continue;
    stats.doorbells.add(doorbells);
    ring->publish();
  }
  return requests;
}

void TopHalf::prefetch_rings() const {
  constexpr std::uint32_t entries_a_line = 64 / sizeof(protocol::DoorbellEntry);
  for (const protocol::RingConsumer* ring : rings_) {
    for (std::uint32_t ahead = 0; ahead < prefetch_max; ahead += entries_a_line) {
      prefetch_to_read(ring->entry(ahead));
    }
  }
}

void TopHalf::prefetch_slots() const {
  for (const protocol::RingConsumer* ring : rings_) {
    protocol::Doorbell doorbell;
    for (std::uint32_t ahead = 0; ahead < prefetch_max && ring->peek(ahead, doorbell); ++ahead) {
      const std::uint64_t lanes = doorbell.lanes & (~std::uint64_t{0} >> (64 - area_->wave_lanes));
      if (doorbell.wave >= area_->wave_count || lanes == 0) continue;
      prefetch_to_write(&area_->slot(doorbell.wave, lowest_bit(lanes)));
    }
  }
}

bool TopHalf::any_urgent(const Bundle& bundle) const {
  for (const protocol::Doorbell& doorbell : bundle) {
    for (std::uint32_t lane = 0; lane < area_->wave_lanes; ++lane) {
      if ((doorbell.lanes >> lane & 1) == 0) continue;
      const protocol::Slot& slot = area_->slot(doorbell.wave, lane);
      if (observe(slot).state != protocol::SlotState::ready) continue;
      // A hint: in split mode another thread may have accepted the request meanwhile, and the slot
      // may be filled again.
      const std::uint32_t attributes = protocol::load_hint(&slot.attributes);
      if ((protocol::unpack_attributes(attributes).flags & protocol::flag::urgent) != 0)
        return true;
    }
  }
  return false;
}

bool TopHalf::pass_holes(std::uint64_t moment, bool woken) {
  bool passed = false;
  for (std::size_t index = 0; index < rings_.size(); ++index) {
    protocol::RingConsumer& ring = *rings_[index];
    Waiting& waiting = waiting_[index];
    if (waiting.position != ring.position()) {
      waiting = {ring.position(), moment};
    } else if (woken && moment - waiting.since >= cycles_of(hole_us) && ring.skip_hole()) {
      ring.publish();
      passed = true;
    }
  }
  return passed;
}

std::uint32_t TopHalf::rescan(Bundle& bundle, ThreadStats& stats, std::uint64_t moment,
                              std::uint64_t idle) {
  std::uint32_t found = 0;
  const std::uint32_t part = slices_max * ring_step_;
  const std::uint32_t rows =
      std::max({1u, slice_slots / area_->wave_lanes, (area_->wave_count + part - 1) / part}) *
      ring_step_;
  for (std::uint32_t step = 0; step < rows && step < area_->wave_count; ++step) {
    const std::uint32_t row = next_row_;
    next_row_ = row + 1 == area_->wave_count ? 0 : row + 1;
    if (!rings_here(row)) continue;
    std::uint64_t lanes = 0;
    for (std::uint32_t lane = 0; lane < area_->wave_lanes; ++lane) {
      if (observe(area_->slot(row, lane)).state == protocol::SlotState::ready) {
        lanes |= std::uint64_t{1} << lane;
      }
    }
    if (lanes != 0) {
      bundle.push_back({row, lanes});
      found += static_cast<std::uint32_t>(std::popcount(lanes));
    }
  }
  // Requests without a doorbell: a producer may have died and left a hole in front of other
  // doorbells.
  if (found != 0) {
    stats.rescued.add(found);
    for (std::size_t index = 0; index < rings_.size(); ++index) {
      protocol::RingConsumer& ring = *rings_[index];
      // Or so many producers died that the ring is full of holes, and no producer can ring after
      // them. A place that has just become the next one is no hole: its doorbell is on its way. On
      // a full GPU the requests of a slice are nearly all in this state.
      Rescued& rescued = rescued_[index];
      if (rescued.position != ring.position()) rescued = {ring.position(), moment, 0};
      const bool passed = moment - rescued.since >= cycles_of(hole_us) && ring.skip_hole();
      rescued.times = passed ? 1 : rescued.times + 1;
      if (rescued.times == silent_rescues_max) {
        ring.pass_lap();
        rescued.times = 0;
      }
      ring.publish();
    }
  }
  // The slots are not in the cache after a sleep: reading 64 KiB of slots every millisecond would
  // be most of an idle server's cost.
  rescan_due_ =
      moment + std::clamp(idle / rescan_stretch, rescan_cycles_, rescan_cycles_ * rescan_stretch);
  return found;
}

}  // namespace k2k::server
