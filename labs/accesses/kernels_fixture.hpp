#pragma once
// A kernel whose accesses are known, recorded.
//
// Threading: one thread.

#include <cstdint>

#include "k2k/runtime.hpp"

namespace k2k::labs::accesses {

struct KnownJob {
  const std::uint64_t* read;     // Eight words a lane: a line.
  std::uint32_t* written;        // A word a lane.
  std::uint64_t rounds;          // Lanes below 8 make one more.
  const void* behind = nullptr;  // Of the recording.
};

// Each lane loads word 0 of its line, `rounds` times a word of lane 0's line, and stores a word.
Result<LaunchReport> launch_known(Runtime& runtime, const LaunchShape& shape, const KnownJob& job);

}  // namespace k2k::labs::accesses
