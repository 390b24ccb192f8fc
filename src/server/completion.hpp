#pragma once
// The last step of a request: its result into the slot, the state released, the books kept.
//
// Waking is left to the caller, once for many: Backend::resume after the last of them.

#include <cerrno>
#include <cstdint>

#include "base/clock.hpp"
#include "protocol/area.hpp"
#include "server/detached_errors.hpp"
#include "server/thread_stats.hpp"
#include "services/request.hpp"

namespace k2k::server {

inline bool is_error(std::int64_t value) { return value < 0 && value >= -4095; }

// The result into the slot, and the slot to whom it belongs now. The device may run on before the
// books are made: call it, and what books it, inside `stats.booking`.
inline void publish_answer(const protocol::AreaView& area, const services::Request& request,
                           std::int64_t value, protocol::TransportError error,
                           DetachedErrors& detached_errors) {
  using protocol::Side;
  using protocol::SlotState;
  protocol::Slot& slot = area.slot(request.wave, request.lane);
  if (request.detached()) {
    if (is_error(value)) detached_errors.add(request.number, static_cast<int>(-value));
    // Pairs with is_open(): the next claimer sees our reads of the slot as done.
    protocol::move<SlotState::processing, SlotState::free, Side::host>(slot);
  } else {
    slot.arguments[0] = static_cast<std::uint64_t>(value);
    // Pairs with finish()'s observe() on the device.
    protocol::move<SlotState::processing, SlotState::finished, Side::host>(slot, request.number,
                                                                           error);
  }
}

// Books answers. Those of a wave are mostly of one call: its counters are added to once.
class Bookkeeper {
 public:
  // `moment` is cycles() as of now; passed in so that one clock read serves a bundle.
  Bookkeeper(ThreadStats& stats, std::uint64_t moment) : stats_(&stats), moment_(moment) {}
  Bookkeeper(const Bookkeeper&) = delete;
  Bookkeeper& operator=(const Bookkeeper&) = delete;
  ~Bookkeeper() { settle(); }

  void add(const services::Request& request, std::int64_t value) {
    if (request.row != row_) {
      settle();
      row_ = request.row;
    }
    ++count_;
    if (is_error(value)) counters().errors.add();
    if (request.stamp != 0) {
      counters().latency_cycles.record(cycles_since(request.stamp, moment_));
    }
  }

 private:
  CallCounters& counters() {
    return stats_->calls[row_ < 0 ? calls::row_count : static_cast<std::size_t>(row_)];
  }
  void settle() {
    if (count_ == 0) return;
    counters().count.add(count_);
    stats_->answered.add(count_);
    count_ = 0;
  }

  ThreadStats* stats_;
  std::uint64_t moment_;
  std::uint64_t count_ = 0;
  std::int16_t row_ = -1;
};

// Both, of one request.
inline void complete(const protocol::AreaView& area, const services::Request& request,
                     std::int64_t value, protocol::TransportError error, std::uint64_t moment,
                     ThreadStats& stats, DetachedErrors& detached_errors) {
  publish_answer(area, request, value, error, detached_errors);
  Bookkeeper(stats, moment).add(request, value);
}

}  // namespace k2k::server
