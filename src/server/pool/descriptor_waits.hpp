#pragma once
// Calls that wait until a descriptor is ready: any number of them, on one thread.
//
//   add ──▶ [descriptor: first come, first served] ──poll(2)──▶ tried again ──▶ answered
//                          ▲                                        │ would wait: another took it
//                          └────────────────────────────────────────┘
//
// A call is tried only when poll says so, and never waits in the kernel: if another reader took the
// data meanwhile, the call waits again. A send or receive timeout of the socket ends the wait as it
// would end the call. A descriptor that is closed meanwhile makes its calls answer EBADF, where the
// kernel would go on waiting on the file behind it.
//
// Threading: confined to one thread. Any thread may write to the wake descriptor.

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "base/units.hpp"
#include "server/poll/bottom_half.hpp"

namespace k2k::server {

class DescriptorWaits {
 public:
  struct Answered {
    Pending call;
    std::int64_t value = 0;  // -ECANCELED: nothing had happened yet.
  };
  struct Round {
    std::vector<Answered> answered;
    std::vector<Pending>
        stubborn;  // Ready, and yet they would wait: for a thread that may be kept.

    // For as many calls, twice as many as there are places for already if it must be more.
    void reserve(std::size_t calls) {
      if (answered.capacity() < calls) answered.reserve(2 * calls);
      if (stubborn.capacity() < calls) stubborn.reserve(2 * calls);
    }
  };

  // Tries calls by `files`, which outlives it.
  explicit DescriptorWaits(router::Files& files) : files_(&files) {}

  // `call` was tried and is to wait for call.readiness. Throws std::bad_alloc, and does nothing
  // then.
  void add(const Pending& call, Instant moment);
  [[nodiscard]] std::size_t size() const { return size_; }

  // Blocks until a descriptor is ready, a timeout has passed, or `wake` is readable; tries the
  // calls whose descriptor became ready. Results are appended. Where `wake` is not open (any more),
  // at most 10 ms.
  void wait(int wake, Round& round);

  // Ends the waits of all calls, or of all that are not detached: a call that has moved some
  // bytes answers their number. Results are appended.
  enum class Whose { everybody, not_detached };
  void end(Whose whose, std::vector<Answered>& answered);

 private:
  struct Wait {
    Pending call;
    Instant deadline;
    int fruitless = 0;  // Times it was tried in vain although poll said ready.
  };
  using Line = std::deque<Wait>;

  void prepare(int wake);
  void serve(Line& line, short ready, Round& round);
  Line::iterator remove(Line& line, Line::iterator wait);
  // Ends the waits for which `over` holds, with -error where nothing was moved.
  template <class Over>
  void give_up(Over over, int error, std::vector<Answered>& answered);
  void remove_empty_lines();

  router::Files* files_;
  std::map<int, Line> lines_;  // By descriptor.
  std::vector<pollfd> polled_;
  std::size_t size_ = 0;
  bool changed_ = true;     // `polled_` is older than `lines_`.
  bool wake_lost_ = false;  // The wake descriptor is closed: looked after by time.
};

}  // namespace k2k::server
