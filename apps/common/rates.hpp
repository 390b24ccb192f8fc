#pragma once
// What a process takes from CPU and disk, at 10 Hz (thesis, figure 3.14).
//
// CPU time is that of all threads of the process (getrusage), disk bytes are those that Linux
// fetched from storage for it (/proc/self/io, read_bytes).
//
// Threading: one thread of its own, from the constructor to end().

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "base/units.hpp"

namespace k2k::apps {

struct RateSample {
  double seconds = 0;    // Since the beginning.
  double cpu_share = 0;  // Of all usable cores, 0 to 1, since the sample before.
  std::optional<std::uint64_t>
      disk_bytes;  // Since the sample before; nullopt: Linux does not tell.
};

// The number behind "read_bytes:" in the text of /proc/self/io.
std::optional<std::uint64_t> read_bytes_in(std::string_view text);

class Rates {
 public:
  static constexpr Nanoseconds period{100'000'000};

  // Samples only if `wanted`. Without a thread there are no samples but the last.
  explicit Rates(bool wanted);
  ~Rates();
  Rates(const Rates&) = delete;
  Rates& operator=(const Rates&) = delete;

  // Ends the thread. Returns all samples; the last covers the time since the sample before it.
  std::vector<RateSample> end();

 private:
  struct Reading {
    Instant at;
    Nanoseconds cpu_time{};
    std::optional<std::uint64_t> disk_bytes;
  };
  static Reading read();
  void take();
  void run();

  const bool wanted_;
  Reading begin_;
  Reading last_;
  std::vector<RateSample> samples_;  // The thread's, until it has ended.
  std::mutex mutex_;
  std::condition_variable ended_there_;
  bool ended_ = false;  // Guarded by mutex_.
  std::thread thread_;
};

}  // namespace k2k::apps
