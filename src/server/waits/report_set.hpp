#pragma once
// The descriptors that one thread waits for: an epoll(7) set. A registration is valid for one
// report (EPOLLONESHOT) and is renewed for the next one. Linux refuses a renewal if the number is
// closed or belongs to another file.
//
// The host program may close the set, as daemons close all descriptors: then open() is false, and
// the owner makes a new set and registers its descriptors again. It may also close the descriptor
// that wakes the thread: then wake_lost() is true, and the thread must look periodically.
//
// Threading: confined to one thread.

#include <sys/epoll.h>

#include <cstdint>
#include <span>

#include "base/descriptor.hpp"
#include "base/units.hpp"

namespace k2k::server {

class ReportSet {
 public:
  // Reports of one wait. Linux reports each descriptor in turn.
  static constexpr std::size_t reports_max = 64;

  // The set is created before the first call waits: a later one could get the number of a
  // descriptor that was closed while its calls wait.
  ReportSet();

  [[nodiscard]] bool open() const { return set_.open(); }
  // If the system gives no set (EMFILE, ENFILE, ENOMEM), open() stays false.
  void make();

  // Both return the error; 0 also if there is no set any more. `events` are poll(2)'s.
  int add(int descriptor, std::uint32_t events);
  int renew(int descriptor, std::uint32_t events);
  // Fails if the number is closed or belongs to another file. Then the set has forgotten the file,
  // or, if another number keeps it open, reports it once more.
  void remove(int descriptor);

  void watch_wake(int wake);
  void renew_wake();
  [[nodiscard]] bool wake_lost() const { return wake_lost_; }

  // Blocks until a report, `wake` readable, or `end`. Returns the reports, in `room`, but for the
  // one of `wake`, whose event it reads off: none also if the set was closed. Expects open().
  std::span<const epoll_event> wait(std::span<epoll_event, reports_max> room, Instant end);

 private:
  int change(int operation, int descriptor, std::uint32_t events);
  // Returns the number of reports, or -1 and errno.
  int wait_for_reports(std::span<epoll_event> reports, Instant end);
  void lose_wake();

  Descriptor set_;
  int wake_ = -1;              // The wake descriptor in `set_`.
  bool fine_timeouts_ = true;  // epoll_pwait2(2), since Linux 5.11.
  bool wake_lost_ = false;
};

// In milliseconds, rounded up; -1 = no end (Instant::max()).
int timeout_until(Instant end);

}  // namespace k2k::server
