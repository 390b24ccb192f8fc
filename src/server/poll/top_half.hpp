#pragma once
// The top half: takes doorbells from its rings, holds them for the coalescing window, and
// periodically searches a slice of the slots for requests whose doorbell was lost.
//
// Owned by a role: used by its holder, never by two threads.

#include <cstdint>
#include <vector>

#include "backend/backend.hpp"
#include "base/units.hpp"
#include "protocol/area.hpp"
#include "server/account/thread_stats.hpp"
#include "server/settings/config.hpp"

namespace k2k::server {

// Doorbells processed as one unit; each names a row and its ready lanes.
using Bundle = std::vector<protocol::Doorbell>;

class TopHalf {
 public:
  explicit TopHalf(const protocol::AreaView& area) : area_(&area) {
    rescued_.reserve(area.ring_count);
    waiting_.reserve(area.ring_count);
  }

  // While a window is open, this device may advance (Backend::advance). It must outlive the top
  // half.
  void attend(backend::Backend& device) { device_ = &device; }

  // This half serves ring `first`, `first + step`, ... and the rows that ring there.
  void assign(std::vector<protocol::RingConsumer*> rings, std::uint32_t first, std::uint32_t step);
  void configure(const ServerConfig& config);
  // Sets the coalescing window and the most requests of a bundle.
  void hold(std::uint32_t window_us, std::uint32_t requests_max);
  // If the rest of a window is longer than `cycles`, it is slept, and an urgent request waits up to
  // urgent_look. Until this is called the rest is spun.
  void sleep_beyond(std::uint64_t cycles) { nap_cycles_ = cycles; }

  // Appends the waiting doorbells to `bundle`; with a window, waits for more. Returns false if
  // there were none.
  bool collect(Bundle& bundle, ThreadStats& stats);

  // Prefetches the cache lines for the next collect() and its caller: first the lines of the rings,
  // then, some time later, the lines of the slots that were rung meanwhile. A thread prefetches
  // them before it makes another call, so that the lines arrive during the call.
  void prefetch_rings() const;
  void prefetch_slots() const;

  // Looks at the next slice of slots for ready ones: slice_slots, or a part of slices_max of all.
  // Returns how many requests were found and appended. If there were any, it skips a ring position
  // that was next at such a rescan hole_us ago and is followed by doorbells. (A ring that was idle
  // has been at its position for long, too.) `moment`: cycles(). The next rescan is due
  // rescan_us after it; after `idle` cycles without requests it is due after a sixteenth of `idle`,
  // at most 16 * rescan_us.
  std::uint32_t rescan(Bundle& bundle, ThreadStats& stats, std::uint64_t moment,
                       std::uint64_t idle = 0);

  // For a poller that found nothing and is about to sleep: skips a ring position that was next for
  // hole_us and is followed by doorbells, if a doorbell may have ended the last sleep (`woken`).
  // Returns true if there are doorbells to collect now.
  bool pass_holes(std::uint64_t moment, bool woken);

  // cycles() at which the next rescan is due.
  [[nodiscard]] std::uint64_t rescan_due() const { return rescan_due_; }

  [[nodiscard]] const std::vector<protocol::RingConsumer*>& rings() const { return rings_; }

  static constexpr std::uint32_t slice_slots = 1024;
  static constexpr std::uint32_t slices_max = 256;  // Rescans that see all slots, however many.
  static constexpr std::uint64_t rescan_stretch = 16;
  // A producer that lost its core between ticket and doorbell usually runs again by then.
  static constexpr std::uint32_t hole_us = 1'000;
  static constexpr Nanoseconds urgent_look = std::chrono::microseconds(100);
  // About as many lines as a core can prefetch at a time.
  static constexpr std::uint32_t prefetch_max = 16;

  // After this number of consecutive rescans that found requests without a doorbell, all positions
  // of a lap count as holes. Fewer may be due to producers that lost their core between publishing
  // and ringing: their doorbells would come too late.
  static constexpr std::uint32_t silent_rescues_max = 8;

 private:
  struct Rescued {
    std::uint64_t position = ~std::uint64_t{0};  // Ring position when a rescan last found requests.
    std::uint64_t since = 0;                     // cycles() of the first such rescan at it.
    std::uint32_t times = 0;                     // Such rescans since the ring reached it.
  };

  // Two top halves that both took a row's doorbells would accept its requests twice.
  [[nodiscard]] bool rings_here(std::uint32_t row) const {
    return ring_step_ == 1 || row % area_->ring_count % ring_step_ == first_ring_;
  }
  void wait_for_more(std::uint64_t end) const;
  std::uint32_t drain(Bundle& bundle, std::uint32_t requests_max, ThreadStats& stats);
  [[nodiscard]] bool any_urgent(const Bundle& bundle) const;

  struct Waiting {
    std::uint64_t position =
        ~std::uint64_t{0};    // Ring position when its holder last went to sleep.
    std::uint64_t since = 0;  // cycles() at its first sleep at this position.
  };

  const protocol::AreaView* area_;
  backend::Backend* device_ = nullptr;
  std::vector<protocol::RingConsumer*> rings_;
  std::vector<Rescued> rescued_;  // For each ring.
  std::vector<Waiting> waiting_;  // For each ring.
  std::uint32_t ring_step_ = 1;
  std::uint32_t first_ring_ = 0;
  std::uint32_t next_row_ = 0;
  std::uint64_t window_cycles_ = 0;
  std::uint64_t nap_cycles_ = ~std::uint64_t{0};
  std::uint64_t rescan_cycles_ = 0;
  std::uint64_t rescan_due_ = 0;
  std::uint32_t coalesce_max_ = 64;
};

}  // namespace k2k::server
