#include "server/poll/bottom_half.hpp"

#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "base/bits.hpp"
#include "base/cache_line.hpp"
#include "base/clock.hpp"
#include "services/rules/call_judge.hpp"
#include "services/rules/call_rules.hpp"

namespace k2k::server {

namespace {

// Row of every call number, so that classifying is one load.
constexpr std::size_t table_size = services::call_number_end;
constexpr std::array<std::int16_t, table_size> row_table = [] {
  std::array<std::int16_t, table_size> table{};
  for (std::int16_t& entry : table) entry = -1;
  for (int row = 0; row < calls::row_count; ++row) {
    if (calls::shapes[row].number < table_size) {
      table[calls::shapes[row].number] = static_cast<std::int16_t>(row);
    }
  }
  return table;
}();
constexpr auto nop_row = static_cast<std::int16_t>(calls::find(calls::nop_number));
constexpr auto pread_row = static_cast<std::int16_t>(calls::find(SYS_pread64));
constexpr auto fault_in_row = static_cast<std::int16_t>(calls::find(calls::fault_in_number));
constexpr auto host_call_row = static_cast<std::int16_t>(calls::find(calls::host_call_number));

std::int16_t row_of(std::uint16_t number) {
  if (number < table_size) return row_table[number];
  if (number == calls::nop_number) return nop_row;
  if (number == calls::host_call_number) return host_call_row;
  return number == calls::fault_in_number ? fault_in_row : std::int16_t{-1};
}

}  // namespace

// Prefetches the cache lines of a bundle's slots, with ownership because each will be written. A
// core's maximum number of prefetches is in flight while earlier slots are processed.
class SlotsAhead {
 public:
  SlotsAhead(const protocol::AreaView& area, const Bundle& bundle, std::uint64_t row_lanes)
      : area_(&area), next_(bundle.data()), end_(next_ + bundle.size()), row_lanes_(row_lanes) {
    enter();
    for (int line = 0; line < lines_ahead; ++line) step();
  }

  // Prefetches one more line, if there is one.
  void step() {
    if (lanes_ == 0) return;
    prefetch_to_write(row_ + lowest_bit(lanes_));
    lanes_ &= lanes_ - 1;
    if (lanes_ != 0) return;
    ++next_;
    enter();
  }

 private:
  // Finds the next doorbell that names a lane.
  void enter() {
    for (; next_ != end_; ++next_) {
      row_ = &area_->slot(next_->wave, 0);
      lanes_ = next_->lanes & row_lanes_;
      if (lanes_ != 0) return;
    }
  }

  static constexpr int lines_ahead = 12;  // A core has ten to sixteen line fill buffers.
  const protocol::AreaView* area_;
  const protocol::Doorbell* next_;
  const protocol::Doorbell* end_;
  const protocol::Slot* row_ = nullptr;
  std::uint64_t row_lanes_;
  std::uint64_t lanes_ = 0;
};

// Its constructor writes only what a pass needs: gcc clears an aggregate as a whole first, and a
// lone call would pay for 416 bytes.
struct BottomHalf::Pass {
  Pass(const Processing& processing, std::uint64_t begun, SlotsAhead slots, std::size_t doorbells,
       std::vector<Pending>& rest, ThreadStats& thread)
      : how(processing),
        moment(begun),
        ahead(slots),
        counts(thread, {begun, begun}),
        batch(rest),
        stats(thread),
        left(doorbells) {}

  const Processing& how;
  std::uint64_t moment;
  SlotsAhead ahead;
  AnswerCounts counts;
  std::vector<Pending>& batch;
  ThreadStats& stats;
  std::uint64_t accepted = 0;
  std::size_t left;               // Doorbells after the current one.
  std::uint64_t on_the_spot = 0;  // Requests that were served on the spot,
  std::uint64_t charged = 0;      // and the cycles that were charged for them.
  bool unsettled = false;         // Some of them are not charged yet.
  bool follows = true;            // As in ReadySlot.
  bool lost = false;
  std::optional<services::CallJudge> judge;  // Made for the first request that needs it.

  // The place that requests use one after the other if they are answered at once.
  Pending& place() { return place_ ? *place_ : place_.emplace(); }

  void settle() {
    if (!unsettled) return;
    unsettled = false;
    follows = true;
    moment = how.on_the_spot->settle(charged);
    counts.set_moments({moment, moment});
  }

 private:
  std::optional<Pending> place_;
};

bool BottomHalf::permits_reads(const services::CallRules* rules) {
  return rules == nullptr || rules->permits(SYS_pread64);
}

inline services::CallJudge& BottomHalf::judge_of(Pass& pass) const {
  if (!pass.judge) {
    pass.judge.emplace(*backend_, hides_memory_, *files_, rules_, pass.how.openness, &judgements_,
                       &parts_);
  }
  return *pass.judge;
}

bool BottomHalf::is_for_the_spot(std::int16_t row) const {
  return (row == pread_row && reads_on_the_spot_) ||
         (row == host_call_row && functions_on_the_spot_);
}

bool BottomHalf::serve_on_the_spot(const ReadySlot& ready, Pass& pass) const {
  if (!pass.unsettled) pass.counts.settle();  // All answers are counted before a call is made.
  switch (pass.how.on_the_spot->serve(ready, pass.batch)) {
    case OnTheSpot::Outcome::declined:
      return false;
    case OnTheSpot::Outcome::answered:
    case OnTheSpot::Outcome::put_off:
      break;
    case OnTheSpot::Outcome::lost:
      pass.lost = true;
      break;
  }
  ++pass.on_the_spot;
  pass.unsettled = true;
  return true;
}

inline std::uint64_t BottomHalf::process_row(const protocol::Doorbell& doorbell, Pass& pass) const {
  std::uint64_t answered = 0;
  // An answer here takes less than the clock can measure.
  Moments moments{pass.moment, pass.moment};
  protocol::Slot* const row_slots = &area_->slot(doorbell.wave, 0);
  for (std::uint64_t lanes = doorbell.lanes & row_lanes_; lanes != 0; lanes &= lanes - 1) {
    const auto lane = lowest_bit(lanes);
    protocol::Slot& slot = row_slots[lane];
    pass.ahead.step();
    const protocol::Control control = observe(slot);  // Pairs with publish() on the device.
    if (control.state != protocol::SlotState::ready) continue;
    const std::int16_t row = row_of(control.number);
    const bool never_blocks =
        !pass.how.defer && row >= 0 && calls::shapes[row].blocking == calls::Blocking::never;
    // Atomic loads: a compiler must not read again what the device may have changed.
    const protocol::Attributes attributes =
        protocol::unpack_attributes(protocol::load_hint(&slot.attributes));
    const std::uint32_t stamp = protocol::load_hint(&slot.stamp);
    ++pass.accepted;
    if (pass.how.trace) {
      pass.stats.events.record({pass.moment, telemetry::EventKind::accepted,
                                static_cast<std::uint8_t>(lane), control.number, doorbell.wave,
                                protocol::load_hint(&slot.arguments[0])});
    }
    // Constructed on demand: it would take a fifth of a no-op's time, and a no-op needs none.
    const auto ready = [&] {
      return ReadySlot{slot,       doorbell.wave,  static_cast<std::uint8_t>(lane),
                       row,        control.number, stamp,
                       attributes, pass.left,      pass.follows};
    };
    if (is_for_the_spot(row) && pass.how.on_the_spot != nullptr &&
        serve_on_the_spot(ready(), pass)) {
      if (pass.lost) return answered;
      continue;
    }
    if (pass.unsettled) {
      pass.settle();
      moments = {pass.moment, pass.moment};
    }
    pass.follows = false;
    // A no-op has no arguments to copy, and no memory to check.
    if (never_blocks && row == nop_row) {
      const bool detached = (attributes.flags & protocol::flag::detached) != 0;
      protocol::move<protocol::SlotState::ready, protocol::SlotState::processing,
                     protocol::Side::host>(slot, control.number);
      if (pass.how.trace) {
        trace_answer(pass.stats, doorbell.wave, static_cast<std::uint8_t>(lane), control.number,
                     moments);
      }
      publish_answer(slot, control.number, detached, 0, protocol::TransportError::none, moments,
                     *detached_errors_);
      pass.counts.add(row, attributes, stamp, 0);
      ++answered;
      continue;
    }
    Pending& pending = never_blocks ? pass.place() : pass.batch.emplace_back();
    services::Request& request = pending.request;
    std::memcpy(request.arguments, slot.arguments, sizeof(request.arguments));
    ready().describe(request);
    protocol::move<protocol::SlotState::ready, protocol::SlotState::processing,
                   protocol::Side::host>(slot, control.number);
    const bool open = open_rows_.has(row) &&
                      (pass.how.openness == services::Openness::any || calls::is_basic(row));
    std::int64_t value = open ? 0 : judge_of(pass)(request);
    if (value == 0 && !never_blocks) continue;
    if (value != 0) {
      pass.stats.refused.add();
    } else {
      const services::Answer answer =
          services::execute_without_waiting(request, pending.progress, *files_);
      if (answer.would_wait) [[unlikely]] {  // It waits for a page of its argument.
        pass.batch.push_back(std::exchange(pending, {}));
        continue;
      }
      value = answer.value;
    }
    if (pass.how.trace) {
      trace_answer(pass.stats, request.wave, request.lane, request.number, moments);
    }
    publish_answer(slot, request.number, request.detached(), value, protocol::TransportError::none,
                   moments, *detached_errors_);
    pass.counts.add(request, value);
    if (!never_blocks) pass.batch.pop_back();
    ++answered;
  }
  return answered;
}

std::uint64_t BottomHalf::process(const Bundle& bundle, const Processing& how,
                                  std::vector<Pending>& batch, std::vector<std::uint32_t>& answered,
                                  ThreadStats& stats) const {
  const std::uint64_t moment = how.begun != 0 ? how.begun : cycles();
  std::uint64_t answered_here = 0;
  stats.counting.begin();
  Pass pass(how, moment, SlotsAhead(*area_, bundle, row_lanes_), bundle.size(), batch, stats);
  for (const protocol::Doorbell& doorbell : bundle) {
    --pass.left;
    std::atomic_flag& busy = busy_rows_[doorbell.wave];
    while (how.shared && busy.test_and_set(std::memory_order_acquire)) {  // Pairs with the clear.
      std::this_thread::yield();
    }
    const std::uint64_t row = process_row(doorbell, pass);
    if (how.shared) busy.clear(std::memory_order_release);
    if (row != 0) answered.push_back(doorbell.wave);
    answered_here += row;
    if (pass.lost) break;
  }
  stats.accepted.add(pass.accepted);
  if (pass.lost) return 0;
  const bool ends_on_the_spot = pass.unsettled;
  pass.settle();
  pass.counts.settle();
  stats.counting.end();
  const std::uint64_t end = ends_on_the_spot ? pass.moment : cycles();
  const std::uint64_t others = pass.accepted - pass.on_the_spot;
  const std::uint64_t took = end - moment - pass.charged;
  if (answered_here != 0) {
    const std::uint32_t bundles = stats.bundle_sampler.next(0);
    if (bundles != 0) {
      stats.times.record(telemetry::RequestPart::processing, took / others,
                         answered_here * bundles);
    }
  }
  charge_shares(stats, telemetry::Stage::bottom_half, took, others);
  return end;
}

}  // namespace k2k::server
