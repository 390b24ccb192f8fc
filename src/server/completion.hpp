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

// `moment` is cycles() as of now; passed in so that one clock read serves a bundle. The device may
// run on before the books are made: call it inside `stats.booking`.
inline void complete(const protocol::AreaView& area, const services::Request& request,
                     std::int64_t value, protocol::TransportError error, std::uint64_t moment,
                     ThreadStats& stats, DetachedErrors& detached_errors) {
  using protocol::Side;
  using protocol::SlotState;
  const bool failed = value < 0 && value >= -4095;
  protocol::Slot& slot = area.slot(request.wave, request.lane);
  if (request.detached()) {
    if (failed) detached_errors.add(request.number, static_cast<int>(-value));
    // Pairs with try_claim's observe(): the next claimer sees our reads of the slot as done.
    protocol::move<SlotState::processing, SlotState::free, Side::host>(slot);
  } else {
    slot.arguments[0] = static_cast<std::uint64_t>(value);
    // Pairs with finish()'s observe() on the device.
    protocol::move<SlotState::processing, SlotState::finished, Side::host>(slot, request.number,
                                                                           error);
  }

  CallCounters& call =
      stats.calls[request.row < 0 ? calls::row_count : static_cast<std::size_t>(request.row)];
  call.count.add();
  if (failed) call.errors.add();
  if (request.stamp != 0) call.latency_cycles.record(cycles_since(request.stamp, moment));
  stats.answered.add();
}

}  // namespace k2k::server
