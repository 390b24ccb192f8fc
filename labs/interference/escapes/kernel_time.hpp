#pragma once
// CPU time of Linux that belongs to no process: its own threads, and interrupts. The work that
// requests cause there is in no process' account.
//
// Where Linux measures the time of interrupts, that time is in no thread's clock, and the columns
// of /proc/stat have it. Other Linux counts ticks that fall into soft interrupts, and the clock of
// a thread includes the interrupts that it was interrupted by: a sum of both would have these twice
// (datagrams over loopback are delivered within the sender's thread). There, interrupts are the
// time in which a core was neither idle nor in any thread. Those that interrupt other programs are
// then missing, so the machine must be quiet.
//
// Threading: confined to one thread.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "host/observer.hpp"

namespace k2k::labs::escapes {

// A line of /proc/PID/stat: is it a thread of Linux?
bool is_kernel_thread(std::string_view stat);
// The same line: CPU time of children that have ended, in ticks; 0 if it has no such fields.
std::uint64_t ticks_of_children(std::string_view stat);

// Only differences mean anything.
struct KernelSeconds {
  double threads = 0;
  double interrupts = 0;
};

// As the machine has them; tests pass their own.
struct KernelClocks {
  std::function<Instant()> now;
  std::function<std::optional<Nanoseconds>(int)> of_process;  // CPU time; empty: it has ended.
  double cores = 1;

  static KernelClocks real();
};

class KernelTime {
 public:
  explicit KernelTime(std::string proc = "/proc", KernelClocks clocks = KernelClocks::real())
      : proc_(std::move(proc)), clocks_(std::move(clocks)) {}
  // Errors: EPROTO, /proc/stat begins with another line.
  Result<KernelSeconds> read();
  // At the last look. 0 in most containers, where they cannot be seen.
  [[nodiscard]] std::size_t threads() const { return threads_; }

 private:
  std::string proc_;
  KernelClocks clocks_;
  host::ThreadSum sum_;
  std::size_t threads_ = 0;
};

}  // namespace k2k::labs::escapes
