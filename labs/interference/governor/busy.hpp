#pragma once
// CPU programs beside the server: one thread per core, of normal priority, that computes for a
// fraction of the time and counts its work. Their own progress shows how much CPU time they lose.
//
// A thread wants a core for `fraction` of each 10 ms and sleeps for the rest; with 1 it never
// sleeps. Its rate is its work divided by the time in which it wanted a core, so that sleep is not
// counted as a loss. The work reads private memory that fits into a core's cache, so that cold
// caches count as a loss.
//
// Threading: start(), stop() and done() from one thread; each program has a thread of its own.

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"

namespace k2k::labs::governor {

// The programs' work so far, summed.
struct Progress {
  std::uint64_t work = 0;  // Rounds.
  Nanoseconds wanted{};    // Time in which a core was wanted.
};

// Rounds per nanosecond between two looks; 0 if no core was wanted.
double rate_between(const Progress& before, const Progress& after);
// The median of the rates between successive looks, so that an occasional disturbance on a shared
// machine does not count. Expects at least two looks.
double median_rate(const std::vector<Progress>& looks);

class BusyPrograms {
 public:
  BusyPrograms() = default;
  ~BusyPrograms() { stop(); }
  BusyPrograms(const BusyPrograms&) = delete;
  BusyPrograms& operator=(const BusyPrograms&) = delete;

  // Expects no running programs, fraction > 0 and at most 1. Errors: EAGAIN if no thread could be
  // started.
  Status start(std::uint32_t cores, double fraction);
  void stop();
  [[nodiscard]] Progress done() const;

 private:
  struct Program {
    std::atomic<std::uint64_t> work{0};
    std::atomic<std::int64_t> wanted_ns{0};
    std::thread thread;
  };
  void compute(Program& program, double fraction) const;

  std::atomic<bool> stop_{false};
  std::vector<std::unique_ptr<Program>> programs_;
};

}  // namespace k2k::labs::governor
