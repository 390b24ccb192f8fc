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

// When a request was worked on, in cycles().
struct Moments {
  std::uint64_t begun = 0;  // A thread began with it.
  std::uint64_t done = 0;   // Its call had returned.
};

// The result into the slot, and the slot to whom it belongs now. The device may run on before the
// books are made: call it, and what books it, inside `stats.booking`.
inline void publish_answer(const protocol::AreaView& area, const services::Request& request,
                           std::int64_t value, protocol::TransportError error,
                           const Moments& moments, DetachedErrors& detached_errors) {
  using protocol::Side;
  using protocol::SlotState;
  protocol::Slot& slot = area.slot(request.wave, request.lane);
  if (request.detached()) {
    if (is_error(value)) detached_errors.add(request.number, static_cast<int>(-value));
    // Pairs with is_open(): the next claimer sees our reads of the slot as done.
    protocol::move<SlotState::processing, SlotState::free, Side::host>(slot);
  } else {
    slot.arguments[protocol::answer_word::value] = static_cast<std::uint64_t>(value);
    slot.arguments[protocol::answer_word::begun] = moments.begun;
    slot.arguments[protocol::answer_word::done] = moments.done;
    // Pairs with finish()'s observe() on the device.
    protocol::move<SlotState::processing, SlotState::finished, Side::host>(slot, request.number,
                                                                           error);
  }
}

// Books answers. Those of a wave are mostly of one call, one tenant and one moment: what counts
// them is added to once. Leaves in `stats.shares` whose they were.
class Bookkeeper {
 public:
  // Passed in, so that one clock read serves a bundle.
  Bookkeeper(ThreadStats& stats, const Moments& moments) : stats_(&stats), moments_(moments) {}
  Bookkeeper(const Bookkeeper&) = delete;
  Bookkeeper& operator=(const Bookkeeper&) = delete;
  ~Bookkeeper() { settle(); }

  void add(const services::Request& request, std::int64_t value) {
    const std::size_t tenant = tenant_place(request.attributes);
    if (request.row != row_ || tenant != tenant_ || request.stamp != stamp_) {
      settle();
      row_ = request.row;
      tenant_ = tenant;
      stamp_ = request.stamp;
    }
    ++count_;
    if (is_error(value)) counters().errors.add();
  }

 private:
  CallCounters& counters() { return stats_->calls[call_place(row_)]; }
  void settle() {
    if (count_ == 0) return;
    CallCounters& call = counters();
    call.count.add(count_);
    stats_->answered.add(count_);
    stats_->tenant_requests[tenant_].add(count_);
    if (stamp_ != 0) {
      call.latency_cycles.record(cycles_since(stamp_, moments_.done), count_);
      stats_->times.record(telemetry::RequestPart::scheduling, cycles_since(stamp_, moments_.begun),
                           count_);
    }
    auto& shares = stats_->shares;
    const std::size_t place = call_place(row_);
    if (shares.empty() || shares.back().call != place || shares.back().tenant != tenant_) {
      shares.push_back({place, tenant_, 0});
    }
    shares.back().requests += count_;
    count_ = 0;
  }

  ThreadStats* stats_;
  Moments moments_;
  std::uint64_t count_ = 0;
  std::size_t tenant_ = 0;
  std::uint32_t stamp_ = 0;
  std::int16_t row_ = -1;
};

// What `requests` requests took together, `cycles` in `stage`, of which those in `stats.shares`
// were answered: theirs is charged to their calls and tenants. Takes the shares.
inline void charge_shares(ThreadStats& stats, telemetry::Stage stage, std::uint64_t cycles,
                          std::uint64_t requests) {
  stats.ledger.charge(stage, cycles);
  if (stats.shares.empty()) return;
  const std::uint64_t each = requests == 0 ? 0 : cycles / requests;
  for (const ThreadStats::Share& share : stats.shares) {
    stats.ledger.attribute(each * share.requests, share.call, share.tenant);
  }
  stats.shares.clear();
}

// Both, of one request; what it took is charged by the caller.
inline void complete(const protocol::AreaView& area, const services::Request& request,
                     std::int64_t value, protocol::TransportError error, const Moments& moments,
                     ThreadStats& stats, DetachedErrors& detached_errors) {
  publish_answer(area, request, value, error, moments, detached_errors);
  Bookkeeper(stats, moments).add(request, value);
  stats.times.record(telemetry::RequestPart::processing,
                     moments.done > moments.begun ? moments.done - moments.begun : 0);
}

}  // namespace k2k::server
