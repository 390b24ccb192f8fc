#pragma once
// Any number of calls on one thread: calls that wait until a descriptor is ready, or any of several
// descriptors, calls that sleep until a moment, and calls that are tried again and again
// (retried_calls.hpp).
//
//   add ──▶ [descriptor: first come, first served] ──epoll(7)──▶ tried again ──▶ answered
//                          ▲                                         │ would wait: another took it
//                          └─────────────────────────────────────────┘
//
// A call is tried only when epoll reports a descriptor of its, and never waits in Linux for long:
// if another reader took the data meanwhile, the call waits again. A send or receive timeout of the
// socket ends the wait as it would end the call; a timeout of the call itself ends it with a last
// try, as in Linux.
//
// A call with one descriptor answers EBADF if it is closed, or gets another file, while the call
// waits: when the descriptor is reported, or check_every later at the latest. Linux' own call would
// continue to wait. poll and select look at their descriptors again then, and report the closed
// ones, as Linux does whenever it looks. epoll forgets a closed file without a report, and still
// reports a file that another number keeps open. So a registration is valid for one report, and all
// are renewed every check_every: Linux refuses a renewal if the number has another file.
//
// Cost: a report costs the same whatever the number of descriptors, and time linear in the calls
// that it answers; a renewal is linear in the number of descriptors.
//
// A wait has three steps: begin_wait() ─▶ block() ─▶ end_wait(). While the thread is in block(),
// other threads may add calls for which it need not wake (add_beside()): epoll_ctl(2) is permitted
// meanwhile, and the blocked thread gets the reports of the new registrations, too.
//
// Threading: one thread waits, tries calls and answers. A lock of the owner guards all members but
// block(), if other threads add calls. Any thread may write to the wake descriptor.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "server/poll/bottom_half.hpp"
#include "server/waits/attempt_timer.hpp"
#include "server/waits/once_a_slot.hpp"
#include "server/waits/report_set.hpp"
#include "server/waits/retried_calls.hpp"
#include "server/waits/waiting_lines.hpp"

namespace k2k::server {

class DescriptorWaits {
 public:
  struct Answered {
    Pending call;
    std::int64_t value = 0;  // -ECANCELED: the call had no effect yet.
  };
  struct Round {
    std::vector<Answered> answered;
    // Calls for threads of the pool, which may block: the descriptor is ready, but the call would
    // wait, or DescriptorWaits cannot wait for it.
    std::vector<Pending> for_pool;

    [[nodiscard]] bool empty() const { return answered.empty() && for_pool.empty(); }
    // Reserves room for `calls` calls, or for twice as many if it must grow.
    void reserve(std::size_t calls) {
      if (answered.capacity() < calls) answered.reserve(2 * calls);
      if (for_pool.capacity() < calls) for_pool.reserve(2 * calls);
    }
  };

  // The time between two renewals of all registrations.
  static constexpr Nanoseconds check_every = std::chrono::seconds(1);

  // Tries calls by `files`, which must outlive this object.
  explicit DescriptorWaits(router::Files& files);

  // Adds a tried call that must wait for call.readiness. Appends results to `round`: the call
  // itself if epoll does not accept its descriptor, no signal could end an attempt or its
  // descriptors cannot be copied, and calls of which a descriptor was closed. Throws std::bad_alloc
  // before any change. Drops the call if another call of its slot waits here.
  void add(const Pending& call, Instant moment, Round& round);
  [[nodiscard]] std::size_t size() const { return slots_.size(); }

  // A wait until a descriptor is ready, a timeout has passed, `wake` is readable, or check_every
  // has passed with calls waiting; at most 10 ms if `wake` is not open (any more). If begin_wait()
  // appends results, the thread should not block.
  void begin_wait(int wake, Round& round);
  void block();
  // Tries the calls whose descriptor became ready. Appends results.
  void end_wait(Round& round);

  enum class Beside : std::uint8_t { refused, added, must_wake };
  // As add(), while the waiting thread is in block(). `refused`: the thread must add() it, because
  // the call is due before the thread looks by itself, or waits for more than one descriptor or a
  // moment. `must_wake`: there are results, the host program closed the set, or Linux did not
  // accept the descriptor into it.
  Beside add_beside(const Pending& call, Instant moment, Round& round);

  // Ends the waits of all calls, or of all that are not detached: a call that has moved some bytes
  // answers their number. Appends results.
  enum class Whose { everybody, not_detached };
  void end(Whose whose, std::vector<Answered>& answered);

 private:
  using Sleeps = std::multimap<Instant, Pending>;  // By their ends.

  void add_due(const Pending& call, Instant moment, Instant deadline, Round& round);
  void insert(const Pending& call, Instant moment, Instant deadline, Round& round);
  void insert_wait(Wait&& wait, std::span<const WaitingLines::Watched> watched, Instant moment,
                   Round& round);
  // Registers `descriptor`. If that fails, its calls end, or are left to threads that may block.
  void enter(int descriptor, Line& line, Round& round);
  // Registers `descriptor` again. If the number is closed or belongs to another file, its calls
  // lose their file, but for the newest `kept`.
  void renew(int descriptor, Line& line, std::size_t kept, Round& round);
  void lose_file(Line& line, std::size_t kept, Round& round);

  [[nodiscard]] Instant next_look(Instant moment) const;
  void serve(int descriptor, Line& line, std::uint32_t ready, Round& round);
  services::Answer attempt(Wait& wait);
  services::Answer attempt(Pending& call);
  void expire(Wait& wait, Round& round);
  void end_sleeps(Instant moment, Round& round);
  void retry(Instant moment, Round& round);
  void remove(Wait& wait);
  void answer(Wait& wait, std::int64_t value, std::vector<Answered>& answered);
  // Answers -error if no bytes were moved.
  void give_up(Wait& wait, int error, std::vector<Answered>& answered);
  void sweep();

  router::Files* files_;
  AttemptTimer timer_;
  ReportSet set_;
  WaitingLines lines_;
  Sleeps sleeps_;
  RetriedCalls retried_;
  OnceASlot slots_;    // Of the calls in `lines_`, `sleeps_` and `retried_`.
  Instant renewed_{};  // When all registrations were renewed, or the first one was made.
  // Of block():
  Instant blocked_end_{};
  bool has_set_ = false;
};

}  // namespace k2k::server
