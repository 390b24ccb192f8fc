#pragma once
// CPU time of Linux that belongs to no process: its own threads, and interrupts. The work that
// requests cause there is in no process' account.
//
// Threading: confined to one thread.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "host/observer.hpp"

namespace k2k::labs::escapes {

// The first line of /proc/stat: time in interrupts, hard and soft, of all cores, in ticks of
// sysconf. Errors: EPROTO.
Result<std::uint64_t> ticks_in_interrupts(std::string_view line);
// A line of /proc/PID/stat: is it a thread of Linux?
bool is_kernel_thread(std::string_view stat);

// Only differences mean anything.
struct KernelSeconds {
  double threads = 0;
  double interrupts = 0;
};

class KernelTime {
 public:
  explicit KernelTime(std::string proc = "/proc") : proc_(std::move(proc)) {}
  // Errors: of /proc/stat.
  Result<KernelSeconds> read();
  // At the last look. 0 in most containers, where they cannot be seen.
  [[nodiscard]] std::size_t threads() const { return threads_; }

 private:
  std::string proc_;
  host::ThreadSum sum_;
  std::size_t threads_ = 0;
};

}  // namespace k2k::labs::escapes
