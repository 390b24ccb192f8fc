#pragma once
// signal-search as one call: records and queries in, a digest for each block out, by each of its
// ways.
//
// Threading: one thread at a time in a process, because the signal is the process'. It starts
// threads and ends them.

#include <vector>

#include "apps/signal_search/hashers.hpp"
#include "apps/signal_search/kernel.hpp"
#include "runtime/settings/config.hpp"

namespace k2k::signal_search {

enum class By : std::uint8_t {
  signals,  // The kernel sends a signal for each block, and threads hash meanwhile.
  direct,   // The same with signals by libc on the kernel's threads.
  launch,   // The kernel looks up everything; then threads hash: figure 3.12's baseline.
  serial,   // One thread of the host looks up and hashes, block by block. No device.
};

struct Settings {
  By by = By::signals;
  std::uint32_t groups = 0;  // 0: the device's default.
  std::uint32_t items = 0;
  std::uint32_t threads = 0;  // That hash; 0: one per usable core.
  std::uint32_t block_queries = 1024;
  std::uint32_t tries = 2'000;  // Per signal that is waited for, while the queue is full.
};

struct Outcome {
  std::vector<Digest> digests;
  double seconds = 0;           // From the launch to the last digest.
  double lookup_seconds = 0;    // The launch alone.
  std::uint32_t signalled = 0;  // Blocks that a signal named.
  std::uint32_t swept = 0;      // Blocks that were hashed after the kernel's end.
  std::uint32_t retries = 0;    // Refusals of the full queue.
  std::uint32_t strays = 0;     // Signals that named no block.
  std::uint32_t credits = 0;
};

// Errors: as Runtime::create() and launch(); ENOMEM; EAGAIN (no thread); ENOTSUP (direct on a GPU).
Result<Outcome> search(const std::vector<Record>& records,
                       const std::vector<std::uint64_t>& queries, const Settings& settings,
                       const RuntimeConfig& config);

}  // namespace k2k::signal_search
