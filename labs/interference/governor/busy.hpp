#pragma once
// CPU programs beside the server: one thread a core, of normal priority, that computes for a part
// of the time and counts what it gets done. What they lose is told by their own progress.
//
// A thread wants a core for `fraction` of each 10 ms and sleeps for the rest; with 1 it never
// sleeps. Its rate is work done in the time that it wanted a core, so that sleep is no loss. The
// work walks over memory of its own that fits into a core's cache, so that caches gone cold count.
//
// Threading: start, stop and done() by one thread; each program has a thread of its own.

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"

namespace k2k::labs::governor {

// What programs have done so far, summed.
struct Progress {
  std::uint64_t work = 0;  // Rounds.
  Nanoseconds wanted{};    // Time in which a core was wanted.
};

// Rounds a nanosecond between two looks; 0 where nothing was wanted.
double rate_between(const Progress& before, const Progress& after);
// The median of the rates between neighbours: what disturbs now and then, on a machine that is
// shared, does not count. Expects at least two looks.
double median_rate(const std::vector<Progress>& looks);
// What is missing to the rate alone: 0 to 1, and a little below 0 by noise. Expects alone > 0.
double loss_of(double rate, double alone);

class BusyPrograms {
 public:
  BusyPrograms() = default;
  ~BusyPrograms() { stop(); }
  BusyPrograms(const BusyPrograms&) = delete;
  BusyPrograms& operator=(const BusyPrograms&) = delete;

  // Expects none running, fraction > 0 and at most 1. Errors: EAGAIN, no thread.
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
