#pragma once
// The device side of a replay: work-items that take the events of a trace in turn, ask, wait for
// the answer and take the next one. No thread: whoever calls says what time it is, and everything
// that was due by then happens, in the order in which it was due.
//
//        take                    publish(now)              answered(rows)
//   idle ────▶ waiting until due ───────────▶ with the host ─────────────▶ idle
//                   (a heap)                   (a slot)
//
// A work-item that comes free takes the next event, which is due at its time since the begin or its
// time after this answer. So at most `outstanding` requests are with the host; while all of them
// are and the trace has one more that could be asked, the accelerator is stalled.
//
// Time is in ticks: cycles(), or what a test likes. Nothing is allocated after begin().
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
  std::uint64_t requests = 0;  // Asked of the host.
  std::uint64_t answered = 0;  // Of these, by a right answer or a wrong one.
  std::uint64_t refused = 0;   // Of these, ended by the server instead of answered.
  std::uint64_t errors = 0;    // Answers that were wrong; part of answered.
  Ask first_error_ask = Ask::nop;
  std::int64_t first_error = 0;  // The answer; what else is wrong is none of an answer.
  Tick stalled = 0;
  std::uint64_t ring_full = 0;          // Times that a doorbell ring had no place.
  telemetry::HistogramSnapshot delays;  // Ticks from due to answered.
};

class Accelerator {
 public:
  Accelerator(const protocol::AreaView& area, double ticks_per_ns)
      : area_(area), ticks_per_ns_(ticks_per_ns) {}

  // Both outlive the replay. Events due more than `longest` after now are not taken. Expects 1 to
  // as many outstanding requests as there are slots, and that the last replay has ended.
  void begin(Source& source, const Requests& requests, std::uint32_t outstanding, Tick longest,
             Tick now);
  // Asks for everything that is due. True if a doorbell was rung.
  bool publish(Tick now);
  // Asks for what was due before, then takes the answers that are in these rows; others are left
  // alone. True if a doorbell was rung. What an answer made due is for the next publish().
  bool answered(const std::uint32_t* rows, std::size_t count, Tick now);
  // Nothing more is asked for; what is with the host is still waited for.
  void stop();
  // What is with the host will not be answered: it counts as refused.
  void give_up();

  // When publish() will have something to do; `never`: not before an answer.
  [[nodiscard]] Tick next_due() const;
  // Nothing is with the host, and nothing will be.
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
    std::uint64_t turn;  // Of those due together, in the trace's order.
    std::uint32_t item;
  };

  bool draw();
  void take(std::uint32_t item, Tick now);
  bool ask(std::uint32_t item);
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
  std::vector<Due> due_;                // A heap: the earliest first.
  std::vector<std::uint64_t> asked_;    // A row's lanes that are with the host.
  std::vector<std::uint32_t> item_at_;  // Whose a slot is, where asked_ says that it is.
  Event next_;
  bool drawn_ = false;  // next_ is the next event.
  bool over_ = true;    // No more events.
  std::uint64_t turns_ = 0;
  Tick begin_ = 0;
  Tick until_ = 0;
  Tick retry_at_ = 0;        // After a ring was full.
  Tick full_since_ = never;  // All work-items are with the host since then.
  std::uint32_t with_host_ = 0;
  Counts counts_;
};

}  // namespace k2k::backend::trace
