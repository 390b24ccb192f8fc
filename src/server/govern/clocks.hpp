#pragma once
// The clocks by which grants are given and charged, as an interface: tests pass their own clocks
// and replay a run without waiting.
//
// Threading: all members from anywhere; thread_time() and switches() are the calling thread's.

#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/clock.hpp"
#include "server/account/thread_stats.hpp"

namespace k2k::server {

// What a thread did that interrupts end, since it started.
struct Switches {
  std::uint64_t voluntary = 0;    // Sleeps.
  std::uint64_t involuntary = 0;  // Another thread took the core.
  std::uint64_t blocks = 0;       // Moved from and to disks, of 512 bytes.
};

class Clocks {
 public:
  Clocks() = default;
  virtual ~Clocks() = default;
  Clocks(const Clocks&) = delete;
  Clocks& operator=(const Clocks&) = delete;

  [[nodiscard]] virtual Instant now() const { return k2k::now(); }
  [[nodiscard]] virtual std::uint64_t cycles() const { return k2k::cycles(); }
  [[nodiscard]] virtual Nanoseconds thread_time() const { return k2k::thread_time(); }
  [[nodiscard]] virtual Switches switches() const {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return {static_cast<std::uint64_t>(usage.ru_nvcsw), static_cast<std::uint64_t>(usage.ru_nivcsw),
            static_cast<std::uint64_t>(usage.ru_inblock + usage.ru_oublock)};
  }
  [[nodiscard]] virtual double nanoseconds_per_cycle() const {
    return k2k::nanoseconds_per_cycle();
  }
  // The core that the calling thread runs on, as the ledger numbers them.
  [[nodiscard]] virtual std::size_t core() const { return this_core(); }

  [[nodiscard]] std::uint64_t cycles_in(Nanoseconds time) const {
    return static_cast<std::uint64_t>(static_cast<double>(time.count()) / nanoseconds_per_cycle());
  }
  // The instant of a reading of cycles(); now if it has passed.
  [[nodiscard]] Instant instant_of(std::uint64_t moment) const {
    const std::uint64_t now_cycles = cycles();
    if (moment <= now_cycles) return now();
    const double ns = static_cast<double>(moment - now_cycles) * nanoseconds_per_cycle();
    return now() + Nanoseconds(static_cast<std::int64_t>(std::min(ns, longest_ns)));
  }

 private:
  static constexpr double longest_ns = 1e18;  // 30 years: the sum stays an Instant.
};

// The clocks of base/clock.hpp.
inline const Clocks& real_clocks() {
  static const Clocks clocks;
  return clocks;
}

}  // namespace k2k::server
