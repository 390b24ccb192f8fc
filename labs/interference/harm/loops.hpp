#pragma once
// The laboratory's own victims: small programs of one behaviour each. Their work is fixed, so a run
// takes longer only if the program is disturbed.
//
// Threading: run_loop() starts threads of its own and returns when they have ended. Each reads its
// own schedstat, so no thread's account is lost with the thread.

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.hpp"

namespace k2k::labs::harm {

struct Loop {
  const char* name;
  const char* description;
  bool one_thread;  // Else as many threads as cores.
};
std::span<const Loop> loops();
const Loop* find_loop(std::string_view name);  // nullptr if there is none.

// The work of one run, without the start of its threads.
struct LoopReport {
  double wall_s = 0;
  double cpu_s = 0;          // Of all threads, by their clocks,
  double run_delay_s = 0;    // and their time on a run queue.
  std::uint64_t answer = 0;  // The same for the same rounds and threads.
};

// Errors: as open(2) for /proc/thread-self/schedstat; EAGAIN, no thread.
Result<LoopReport> run_loop(const Loop& loop, std::uint64_t rounds, unsigned threads);

}  // namespace k2k::labs::harm
