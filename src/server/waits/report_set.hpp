#pragma once
// The descriptors that one thread waits for: an epoll(7) set. A registration is valid for one
// report (EPOLLONESHOT) and is renewed for the next one. Linux refuses a renewal if the number is
// closed or belongs to another file.
//
// The host program may close the set, as daemons close all descriptors: then open() is false, and
// the owner makes a new set and registers its descriptors again. It may also close the descriptor
// that wakes the thread: then wake_lost() is true, and the thread must look periodically.
//
// A descriptor that Linux does not accept into the set is polled beside it
// (polled_descriptors.hpp): it is reported as long as it is ready, and its number may get another
// file unnoticed.
//
// A wait has three steps: begin() ─▶ block() ─▶ reports().
//
// Threading: confined to one thread, or guarded by a lock of its owner, without which the waiting
// thread is only in block(). Meanwhile another thread may change registrations if may_change()
// permits it: Linux reports them to the blocked thread.

#include <sys/epoll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/descriptor.hpp"
#include "base/units.hpp"
#include "server/waits/polled_descriptors.hpp"

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

  // Both return the error; 0 also if there is no set any more. `events` are poll(2)'s. EPERM: no
  // event of such a file is ever waited for. Other errors than EBADF: there is no memory.
  int add(int descriptor, std::uint32_t events);
  int renew(int descriptor, std::uint32_t events);
  // Fails if the number is closed or belongs to another file. Then the set has forgotten the file,
  // or, if another number keeps it open, reports it once more.
  void remove(int descriptor);

  void watch_wake(int wake);
  void renew_wake();
  [[nodiscard]] bool wake_lost() const { return wake_lost_; }

  // A wait until a report, `wake` readable, or `end`. Expects open().
  void begin(Instant end);
  // Blocks the thread.
  void block();
  // The reports but for the one of `wake`, whose event it reads off: none also if the set was
  // closed. They are valid until the next wait.
  std::span<const epoll_event> reports();
  // May a thread add and renew descriptors while another thread is in block()? Not while the latter
  // polls descriptors beside the set.
  [[nodiscard]] bool may_change() const { return open() && !blocked_.polls; }
  // False if a thread in block() does not wait for all registrations any more.
  [[nodiscard]] bool reports_all() const { return open() && (blocked_.polls || polled_.empty()); }

 private:
  // A wait: what block() reads, and its results.
  struct Blocked {
    int set = -1;
    bool polls = false;  // Descriptors beside the set, too.
    Instant end{};
    std::array<epoll_event, reports_max> room;
    std::size_t polled = 0;  // Reports of descriptors beside the set. They come first.
    int count = 0;           // Reports of the set, or -1.
    int error = 0;           // If `count` is -1.
  };

  int change(int operation, int descriptor, std::uint32_t events);
  // Whether the program has closed the set, or given its number to another file. Expects that it
  // has just refused to add `descriptor`.
  [[nodiscard]] bool is_lost(int descriptor) const;
  // Returns the number of reports of polled descriptors. Also returns once the set has a report.
  std::size_t wait_with_polled(std::span<epoll_event> room);
  // Returns the number of reports, or -1 and errno.
  int wait_for_reports(std::span<epoll_event> reports, Instant end);
  void lose_wake();

  Descriptor set_;
  PolledDescriptors polled_;  // Not changed while a thread in block() polls.
  Blocked blocked_;
  int wake_ = -1;              // The wake descriptor in `set_`.
  bool fine_timeouts_ = true;  // epoll_pwait2(2), since Linux 5.11. Of block().
  bool wake_lost_ = false;
};

// In milliseconds, rounded up; -1 = no end (Instant::max()).
int timeout_until(Instant end);

}  // namespace k2k::server
