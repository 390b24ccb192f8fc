#pragma once
// The time that Linux spends in interrupts, of the whole machine (/proc/stat).
//
// A Linux with CONFIG_IRQ_TIME_ACCOUNTING measures hard and soft interrupts and takes their time
// out of the clocks of the threads that they interrupt. Any other Linux samples: a tick that falls
// into a soft interrupt counts as one, hard interrupts count as nothing, and the clock of an
// interrupted thread includes both. On such a Linux the column of hard interrupts stays 0.
//
// Threading: from anywhere; its owner closes the file.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "host/proc_file.hpp"

namespace k2k::host {

// The times of all cores, in ticks of sysconf(_SC_CLK_TCK): the columns of the line `cpu`.
struct CoreTicks {
  std::uint64_t user = 0;
  std::uint64_t nice = 0;
  std::uint64_t system = 0;
  std::uint64_t idle = 0;
  std::uint64_t disk = 0;  // Idle, and a thread waits for a disk.
  std::uint64_t hard = 0;  // In interrupts,
  std::uint64_t soft = 0;  // and in soft interrupts.
  std::uint64_t stolen = 0;
};

// Parses the text of /proc/stat, or its first line. Empty: no such line with eight numbers.
std::optional<CoreTicks> core_ticks_of(std::string_view stat);

// Since the machine started. Only differences mean anything.
struct InterruptCounts {
  Nanoseconds hard{};            // In interrupts, of all cores,
  Nanoseconds soft{};            // and in soft interrupts.
  Nanoseconds stolen{};          // In which a hypervisor let other machines run.
  std::uint64_t of_devices = 0;  // Interrupts with a number of their own.
  std::uint64_t of_io = 0;       // Soft interrupts of networks and of block devices.

  // True if Linux measures the time, false if it samples.
  [[nodiscard]] bool measured() const { return hard > Nanoseconds::zero(); }
};

// Parses the text of /proc/stat, whose times are in ticks of this length. Empty: a line is missing.
std::optional<InterruptCounts> interrupt_counts_of(std::string_view stat, Nanoseconds tick);

class InterruptTime {
 public:
  // Errors: from opening and reading the file; EBADMSG, unknown format; EFBIG, more than
  // text_bytes_max.
  static Result<InterruptTime> open(const std::string& proc = proc_folder);

  // Empty if the file can no longer be read. Takes some microseconds, on a machine with hundreds of
  // cores a millisecond. Uses a buffer of this object: by one thread at a time.
  [[nodiscard]] std::optional<InterruptCounts> read();

 private:
  explicit InterruptTime(ProcFile file) : file_(std::move(file)), text_(text_bytes) {}

  Result<std::string_view> whole_text();

  static constexpr std::size_t text_bytes = 128 << 10;  // 1,000 cores and 20,000 interrupts.
  static constexpr std::size_t text_bytes_max = 8 << 20;

  ProcFile file_;
  std::vector<char> text_;
};

}  // namespace k2k::host
