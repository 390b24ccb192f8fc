#pragma once
// A run of kernels on an input file: its launches, and what it took in time, page faults and
// memory.
//
// Threading: one thread, that of the run.

#include <cstdint>
#include <string>

#include "apps/common/input_file.hpp"
#include "apps/common/input_memory.hpp"
#include "apps/common/resident.hpp"
#include "base/clock.hpp"
#include "k2k/runtime.hpp"

namespace k2k::apps {

struct InputRun {
  double read_seconds = 0;     // Up to the first launch: pinned and huge read the file here.
  double take_seconds = 0;     // Of the first launch, which touches the whole input.
  double kernel_seconds = 0;   // Of all launches.
  double seconds = 0;          // Of everything.
  std::uint64_t requests = 0;  // Page faults of kernels that the server resolved.
  std::uint64_t pages = 0;     // That came on demand.
  std::uint64_t huge_bytes = 0;
  ProcessMemory begin;  // Before the runtime and the memory were made,
  ProcessMemory taken;  // after the first launch,
  ProcessMemory end;    // and after the last one.
};

// Work-groups and work-items of a launch on the device; 0 of either is the device's default.
LaunchShape shape_on(const Runtime& runtime, std::uint32_t groups, std::uint32_t items);

// Counts the time of `launch`, which returns a Result. Errors: its own; EIO (the file became
// shorter: a page that it has lost ends the launch).
template <class Launch>
Status timed_launch(const InputFile& file, InputRun& run, const Launch& launch) {
  const Instant begin = now();
  const auto report = launch();
  run.kernel_seconds += seconds_since(begin);
  if (report) return {};
  if (Status whole = still_whole(file); !whole) return whole;
  return report.error();
}

// After the first launch, and after the last one.
void note_taken(InputRun& run);
void note_end(InputRun& run, const Runtime& runtime, const InputMemory& memory);

// Two lines: times, and memory with page faults.
std::string text_of(const InputRun& run);

}  // namespace k2k::apps
