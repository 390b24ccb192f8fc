#pragma once
// Any number of calls on one thread: calls that wait until a descriptor is ready, calls that sleep
// until a moment, and calls that are tried again and again (retried_calls.hpp).
//
//   add ──▶ [descriptor: first come, first served] ──epoll(7)──▶ tried again ──▶ answered
//                          ▲                                         │ would wait: another took it
//                          └─────────────────────────────────────────┘
//
// A call is tried only when epoll reports its descriptor, and never waits in Linux for long: if
// another reader took the data meanwhile, the call waits again. A send or receive timeout of the
// socket ends the wait as it would end the call; a timeout of the call itself ends the wait with 0.
//
// A call answers EBADF if its descriptor is closed, or gets another file, while the call waits:
// when the descriptor is reported, or check_every later at the latest. Linux' own call would
// continue to wait. epoll forgets a closed file without a report, and still reports a file that
// another number keeps open. So a registration is valid for one report, and all are renewed every
// check_every: Linux refuses a renewal if the number has another file.
//
// Cost: a report costs the same whatever the number of descriptors; a renewal is linear in it.
//
// Threading: confined to one thread. Any thread may write to the wake descriptor.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "base/descriptor.hpp"
#include "base/units.hpp"
#include "server/poll/bottom_half.hpp"
#include "server/waits/attempt_timer.hpp"
#include "server/waits/once_a_slot.hpp"
#include "server/waits/retried_calls.hpp"

struct epoll_event;

namespace k2k::server {

class DescriptorWaits {
 public:
  struct Answered {
    Pending call;
    std::int64_t value = 0;  // -ECANCELED: the call had no effect yet.
  };
  struct Round {
    std::vector<Answered> answered;
    std::vector<Pending>
        stubborn;  // Their descriptors are ready, but they would wait: for a thread that may block.

    // Reserves room for `calls` calls, or for twice as many if it must grow.
    void reserve(std::size_t calls) {
      if (answered.capacity() < calls) answered.reserve(2 * calls);
      if (stubborn.capacity() < calls) stubborn.reserve(2 * calls);
    }
  };

  // The time between two renewals of all registrations.
  static constexpr Nanoseconds check_every = std::chrono::seconds(1);

  // Tries calls by `files`, which must outlive this object.
  explicit DescriptorWaits(router::Files& files);

  // Adds a tried call that must wait for call.readiness. Appends results to `round`: the call
  // itself if epoll does not accept its descriptor or no signal could end an attempt, and older
  // calls whose descriptor was closed. Throws std::bad_alloc before any change. Drops the call if
  // another call of its slot waits here.
  void add(const Pending& call, Instant moment, Round& round);
  [[nodiscard]] std::size_t size() const { return slots_.size(); }

  // Blocks until a descriptor is ready, a timeout has passed, `wake` is readable, or check_every
  // has passed with calls waiting; tries the calls whose descriptor became ready. Appends results
  // to `round`. Blocks at most 10 ms if `wake` is not open (any more).
  void wait(int wake, Round& round);

  // Ends the waits of all calls, or of all that are not detached: a call that has moved some bytes
  // answers their number. Appends results.
  enum class Whose { everybody, not_detached };
  void end(Whose whose, std::vector<Answered>& answered);

 private:
  struct Wait {
    Pending call;
    Instant deadline;
    int fruitless = 0;  // Tries without result although its descriptor was reported.
  };
  using Line = std::deque<Wait>;
  using Lines = std::map<int, Line>;  // By descriptor; none is empty between two calls.
  using Deadlines = std::multiset<Instant>;
  using Sleeps = std::multimap<Instant, Pending>;  // By their ends.

  // Creates the epoll set, and registers all lines.
  void open(Round& round);
  void insert(const Pending& call, Instant moment, Round& round);
  void watch_wake(int wake);
  void lose_wake();
  // epoll_ctl(2) with the events of `line`. Returns the error; 0 also if there is no set any more.
  int change(int operation, int descriptor, const Line& line);
  // Registers `descriptor`. The calls of `line` end if that fails.
  void enter(int descriptor, Line& line, Round& round);
  // Registers `descriptor` again. Returns false if the number is closed or belongs to another file:
  // all calls of `line` but the newest `kept` have ended then.
  bool renew(int descriptor, Line& line, std::size_t kept, Round& round);
  void renew_all(Round& round);
  // Fills `reports`, or waits until `end`. Returns the number of reports, or -1 and errno.
  int wait_for_reports(std::span<epoll_event> reports, Instant end);
  Lines::iterator leave(Lines::iterator line);
  // Calls visit(descriptor, line) for each line, and removes lines that are then empty.
  template <class Visit>
  void visit_lines(Visit visit);

  [[nodiscard]] Instant next_look() const;
  void serve(int descriptor, Line& line, std::uint32_t ready, Round& round);
  services::Answer attempt(Pending& call);
  void end_sleeps(Instant moment, Round& round);
  void retry(Instant moment, Round& round);
  Line::iterator remove(Line& line, Line::iterator wait);
  // Answers -error if no bytes were moved.
  Line::iterator end_wait(Line& line, Line::iterator wait, int error,
                          std::vector<Answered>& answered);
  // Ends all calls of `line` but the newest `kept`.
  void end_older(Line& line, std::size_t kept, int error, std::vector<Answered>& answered);
  // Ends the waits for which `over` holds.
  template <class Over>
  void give_up(Over over, int error, std::vector<Answered>& answered);

  router::Files* files_;
  AttemptTimer timer_;
  Descriptor set_;  // epoll(7): one entry per line, and the wake descriptor.
  Lines lines_;
  Deadlines deadlines_;  // Of the waits in `lines_` that have one.
  Sleeps sleeps_;
  RetriedCalls retried_;
  OnceASlot slots_;  // Of the calls in `lines_`, `sleeps_` and `retried_`.
  Instant renewed_{};
  int wake_ = -1;              // The wake descriptor in `set_`.
  bool fine_timeouts_ = true;  // epoll_pwait2(2), since Linux 5.11.
  bool wake_lost_ = false;     // The wake descriptor is closed: the thread looks periodically.
};

}  // namespace k2k::server
