#pragma once
// The last step of a request: writes its result into the slot, releases the state and counts the
// call.
//
// The caller wakes the device once for many requests: Backend::resume after the last one.

#include <cerrno>
#include <cstdint>

#include "base/clock.hpp"
#include "base/system_call.hpp"
#include "protocol/area.hpp"
#include "server/account/detached_errors.hpp"
#include "server/account/thread_stats.hpp"
#include "services/request.hpp"

namespace k2k::server {

// True if the times of this request are not measured: another request of its kind is the sample.
inline bool is_untimed(const protocol::Attributes& attributes, std::uint32_t stamp) {
  return stamp == 0 && (attributes.flags & protocol::flag::sampled) != 0;
}

// When service of a request began and ended, in cycles().
struct Moments {
  std::uint64_t begun = 0;  // A thread began to serve it.
  std::uint64_t done = 0;   // Its call had returned.
};

// Writes the result into the slot and passes the slot to its next owner. The device may continue
// before the answer is counted: call this function, and the function that counts the answer, inside
// `stats.counting`.
inline void publish_answer(protocol::Slot& slot, std::uint16_t number, bool detached,
                           std::int64_t value, protocol::TransportError error,
                           const Moments& moments, DetachedErrors& detached_errors) {
  using protocol::Side;
  using protocol::SlotState;
  if (detached) {
    if (is_error(value)) detached_errors.add(number, static_cast<int>(-value));
    // Pairs with is_open(): our reads of the slot happen before the next claim.
    protocol::move<SlotState::processing, SlotState::free, Side::host>(slot);
  } else {
    slot.arguments[protocol::answer_word::value] = static_cast<std::uint64_t>(value);
    slot.arguments[protocol::answer_word::begun] = moments.begun;
    slot.arguments[protocol::answer_word::done] = moments.done;
    // Pairs with finish()'s observe() on the device.
    protocol::move<SlotState::processing, SlotState::finished, Side::host>(slot, number, error);
  }
}
inline void publish_answer(const protocol::AreaView& area, const services::Request& request,
                           std::int64_t value, protocol::TransportError error,
                           const Moments& moments, DetachedErrors& detached_errors) {
  publish_answer(area.slot(request.wave, request.lane), request.number, request.detached(), value,
                 error, moments, detached_errors);
}

// Records when service of a request began and ended, if events are recorded (telemetry/
// event_ring.hpp). Call it before the answer is published: then the slot is still this request's.
inline void trace_answer(ThreadStats& stats, std::uint32_t wave, std::uint8_t lane,
                         std::uint16_t number, const Moments& moments) {
  if (!stats.events.on()) return;
  using telemetry::EventKind;
  stats.events.record({moments.begun, EventKind::started, lane, number, wave});
  stats.events.record({moments.done, EventKind::completed, lane, number, wave});
}

// Counts the times of `requests` requests of one call, one stamp and one kind of sample; does
// nothing if their times are not measured.
inline void record_times(ThreadStats& stats, CallCounters& call, std::uint32_t stamp,
                         std::uint8_t flags, std::uint64_t requests, const Moments& moments) {
  if (stamp == 0) return;
  const bool sampled = (flags & protocol::flag::sampled) != 0;
  const std::uint64_t calls = sampled ? requests * protocol::sample_stride : requests;
  call.latency_cycles.record(cycles_since(stamp, moments.done), calls);
  stats.times.record(telemetry::RequestPart::scheduling, cycles_since(stamp, moments.begun), calls);
}

// Counts answers. A wave's answers mostly have one call, one tenant and one moment, so each counter
// changes once. Leaves their calls and tenants in `stats.shares`.
class AnswerCounts {
 public:
  // Passed in, so that one clock read serves a bundle.
  AnswerCounts(ThreadStats& stats, const Moments& moments) : stats_(&stats), moments_(moments) {}
  AnswerCounts(const AnswerCounts&) = delete;
  AnswerCounts& operator=(const AnswerCounts&) = delete;
  ~AnswerCounts() { settle(); }

  void add(std::int16_t row, const protocol::Attributes& attributes, std::uint32_t stamp,
           std::int64_t value) {
    const std::size_t tenant = tenant_place(attributes);
    if (row != row_ || tenant != tenant_ || stamp != stamp_ || attributes.flags != flags_) {
      settle();
      row_ = row;
      tenant_ = tenant;
      stamp_ = stamp;
      flags_ = attributes.flags;
    }
    ++count_;
    if (is_error(value)) counters().errors.add();
  }
  void add(const services::Request& request, std::int64_t value) {
    add(request.row, request.attributes, request.stamp, value);
  }
  // Answers that are added from now on have these moments.
  void set_moments(const Moments& moments) {
    settle();
    moments_ = moments;
  }
  // Counts the added answers. Expects the caller inside `stats.counting`.
  void settle() {
    if (count_ == 0) return;
    CallCounters& call = counters();
    call.count.add(count_);
    stats_->answered.add(count_);
    stats_->tenant_requests[tenant_].add(count_);
    record_times(*stats_, call, stamp_, flags_, count_, moments_);
    auto& shares = stats_->shares;
    const std::size_t place = call_place(row_);
    if (shares.empty() || shares.back().call != place || shares.back().tenant != tenant_) {
      shares.push_back({place, tenant_, 0});
    }
    shares.back().requests += count_;
    count_ = 0;
  }

 private:
  CallCounters& counters() { return stats_->calls[call_place(row_)]; }

  ThreadStats* stats_;
  Moments moments_;
  std::uint64_t count_ = 0;
  std::size_t tenant_ = 0;
  std::uint32_t stamp_ = 0;
  std::int16_t row_ = -1;
  std::uint8_t flags_ = 0;
};

// `requests` requests took `cycles` together in `stage`. Charges the answered requests' part of
// that time to their calls and tenants, as `stats.shares` lists them. Clears the shares.
inline void charge_shares(ThreadStats& stats, telemetry::Stage stage, std::uint64_t cycles,
                          std::uint64_t requests) {
  stats.ledger.charge(stage, cycles);
  if (stats.shares.empty()) return;
  const ThreadStats::Share& first = stats.shares.front();
  if (stats.shares.size() == 1 &&
      first.requests == requests) {  // The usual case needs no division.
    stats.ledger.attribute(cycles, first.call, first.tenant);
    stats.shares.clear();
    return;
  }
  const std::uint64_t each = requests == 0 ? 0 : cycles / requests;
  for (const ThreadStats::Share& share : stats.shares) {
    stats.ledger.attribute(each * share.requests, share.call, share.tenant);
  }
  stats.shares.clear();
}

// Counts one answer without its times.
inline void count_answer(ThreadStats& stats, std::int16_t row,
                         const protocol::Attributes& attributes, std::int64_t value) {
  CallCounters& call = stats.calls[call_place(row)];
  call.count.add();
  if (is_error(value)) call.errors.add();
  stats.answered.add();
  stats.tenant_requests[tenant_place(attributes)].add();
}

// Publishes and counts the answer of a request whose times are not measured.
inline void complete_untimed(const protocol::AreaView& area, const services::Request& request,
                             std::int64_t value, protocol::TransportError error,
                             const Moments& moments, ThreadStats& stats,
                             DetachedErrors& detached_errors) {
  trace_answer(stats, request.wave, request.lane, request.number, moments);
  publish_answer(area, request, value, error, moments, detached_errors);
  count_answer(stats, request.row, request.attributes, value);
}

// Publishes and counts the answer of one request; the caller charges its time.
inline void complete(const protocol::AreaView& area, const services::Request& request,
                     std::int64_t value, protocol::TransportError error, const Moments& moments,
                     ThreadStats& stats, DetachedErrors& detached_errors) {
  complete_untimed(area, request, value, error, moments, stats, detached_errors);
  if (is_untimed(request.attributes, request.stamp)) return;
  const bool sampled = (request.attributes.flags & protocol::flag::sampled) != 0;
  CallCounters& call = stats.calls[call_place(request.row)];
  record_times(stats, call, request.stamp, request.attributes.flags, 1, moments);
  stats.times.record(telemetry::RequestPart::processing,
                     moments.done > moments.begun ? moments.done - moments.begun : 0,
                     sampled ? protocol::sample_stride : 1);
}

}  // namespace k2k::server
