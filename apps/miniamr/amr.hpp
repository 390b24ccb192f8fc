#pragma once
// miniAMR as one call: settings in, checksum and resident memory over the steps out.
//
// Threading: one thread; it starts a runtime.

#include <cstdint>
#include <vector>

#include "apps/miniamr/kernel.hpp"
#include "runtime/settings/config.hpp"

namespace k2k::miniamr {

enum class By : std::uint8_t {
  kernel,  // One launch for all steps.
  direct,  // The same, with the kernel's calls by libc: the cpu backend alone.
  serial,  // One thread of the host, another program with memory of its own for each root. No
           // device.
};

struct Settings {
  By by = By::kernel;
  std::uint32_t roots_a_side = 8;  // 2 to roots_a_side_most.
  std::uint32_t steps = 40;
  std::uint32_t period = 20;
  std::uint64_t watermark = 0;  // Bytes of resident memory; 0: none.
  std::uint32_t items = 0;      // 0: the device's default.
};
inline constexpr std::uint32_t roots_a_side_most = 32;

struct Outcome {
  std::uint64_t checksum = 0;
  double seconds = 0;                   // Of the launch.
  std::uint64_t resident_begin = 0;     // Bytes before the runtime and the mesh were made.
  std::vector<std::uint64_t> resident;  // Bytes after the changes of each step; empty for serial.
  std::uint64_t returned = 0;           // Bytes that were advised.
  std::uint64_t failed = 0;             // Calls of madvise that failed.
};

// Errors: as Runtime::create() and launch(); ENOMEM; ENOTSUP (a device that does not reach the
// host's pages); the errno of a /proc/self/statm that the kernel could not read.
Result<Outcome> simulate(const Settings& settings, const RuntimeConfig& config);

// The same steps without a device: a mesh of its own, for the comparison.
std::uint64_t serial_checksum(const Settings& settings);

}  // namespace k2k::miniamr
