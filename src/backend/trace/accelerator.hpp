#pragma once
// The device side of a replay: work-items take the events of a trace in turn, publish a request,
// wait for the answer and take the next event. It has no thread: the caller passes the time, and
// everything due by then is processed, in due order.
//
//        take                    publish(now)              answered(rows)
//   idle ────▶ waiting until due ───────────▶ with the host ─────────────▶ idle
//                   (a heap)                   (a slot)
//
// A free work-item takes the next event, which is due at its time since the begin or its time after
// this answer. So at most `outstanding` requests are with the host. While all of them are, and the
// trace has a further request that is due, the accelerator is stalled.
//
// Time is in ticks: cycles(), or any unit of a test. Nothing is allocated after begin().
//
// Threading: the caller serialises all members.

#include <cstdint>
#include <vector>

#include "backend/trace/event.hpp"
#include "backend/trace/requests.hpp"
#include "protocol/area.hpp"
#include "protocol/claim.hpp"
#include "telemetry/histogram.hpp"

namespace k2k::backend::trace {

using Tick = std::uint64_t;
inline constexpr Tick never = ~Tick{0};

struct Counts {
  std::uint64_t requests = 0;  // Published to the host.
  std::uint64_t answered = 0;  // Of these, answered rightly or wrongly.
  std::uint64_t refused = 0;   // Of these, ended by the server without an answer.
  std::uint64_t errors = 0;    // Wrong answers; part of answered.
  Operation first_error_operation = Operation::nop;
  std::int64_t first_error = 0;  // The wrong answer itself.
  Tick stalled = 0;
  std::uint64_t ring_full = 0;          // Number of times that a doorbell ring had no place.
  telemetry::HistogramSnapshot delays;  // Ticks from due to answered.
};

class Accelerator {
 public:
  Accelerator(const protocol::AreaView& area, double ticks_per_ns)
      : area_(area), ticks_per_ns_(ticks_per_ns) {}

  // Both must outlive the replay. Events due more than `longest` after now are not taken. Expects 1
  // to as many outstanding requests as there are slots, and that the last replay has ended.
  void begin(Source& source, const Requests& requests, std::uint32_t outstanding, Tick longest,
             Tick now);
  // Publishes everything that is due. Returns true if a doorbell was rung.
  bool publish(Tick now);
  // Publishes requests that were due before, then takes the answers in these rows; other rows are
  // not read. Returns true if a doorbell was rung. Requests that become due by these answers are
  // left to the next publish().
  bool answered(const std::uint32_t* rows, std::size_t count, Tick now);
  // Publishes nothing more; requests with the host are still waited for.
  void stop();
  // Requests with the host will not be answered: they count as refused.
  void give_up();

  // The next time at which publish() has work; `never`: not before an answer.
  [[nodiscard]] Tick next_due() const;
  // No request is with the host, and none will be.
  [[nodiscard]] bool ended() const { return with_host_ == 0 && due_.empty(); }
  [[nodiscard]] std::uint32_t with_host() const { return with_host_; }
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  struct Item {
    protocol::Place place;
    std::uint32_t generation = 0;
    Event event;
    Tick due = 0;
    Tick free_since = 0;
    std::int64_t right = 0;
  };
  struct Due {
    Tick when;
    std::uint64_t turn;  // Breaks ties, in the trace's order.
    std::uint32_t item;
  };

  bool draw();
  void take(std::uint32_t item, Tick now);
  bool request(std::uint32_t item);
  bool has_room(const protocol::DoorbellRing& ring);
  void take_answer(std::uint32_t item, Tick now);
  void end_stall(Tick now);
  [[nodiscard]] Tick ticks(std::int64_t nanoseconds) const {
    return static_cast<Tick>(static_cast<double>(nanoseconds) * ticks_per_ns_);
  }
  [[nodiscard]] std::uint32_t& item_at(protocol::Place place) {
    return item_at_[std::size_t{place.wave} * area_.wave_lanes + place.lane];
  }

  const protocol::AreaView area_;
  const double ticks_per_ns_;
  Source* source_ = nullptr;
  const Requests* requests_ = nullptr;
  std::vector<Item> items_;
  std::vector<Due> due_;                    // A heap: the earliest first.
  std::vector<std::uint64_t> outstanding_;  // Per row: the lanes that are with the host.
  std::vector<std::uint32_t> item_at_;      // The work-item of each slot that outstanding_ marks.
  Event next_;
  bool drawn_ = false;  // next_ is the next event.
  bool over_ = true;    // No more events.
  std::uint64_t turns_ = 0;
  Tick begin_ = 0;
  Tick until_ = 0;
  Tick retry_at_ = 0;        // After a full ring.
  Tick full_since_ = never;  // Since when all work-items are with the host.
  std::uint32_t with_host_ = 0;
  Counts counts_;
};

}  // namespace k2k::backend::trace
