#pragma once
// Measures direct transfers and copies from the page cache on the file system of a folder.
//
//   file     an unnamed file, so that nothing remains however the process ends. Its first half is
//            dropped from the page cache and read directly, its second half is cached
//   a round  every size once, in random order; directly and from the cache. Each counted read
//            follows an uncounted read of its own size, because effects of the preceding read (a
//            throttle's debt, a sleeping queue) must not count
//   together 64 transfers of 32 KiB in flight at once, from all over the first half
//   a point  the median of the rounds; a round in which cached pages were evicted does not count
//   engines  io::make_direct() and plain preads into ordinary memory; or the engines of DevicePaths
//            into memory of a device that the CPU cannot address
//
//
// Threading: one thread; it sleeps in reads.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "router/profile/profile.hpp"
#include "router/read/device_paths.hpp"

namespace k2k::router {

inline constexpr std::size_t calibrate_bytes_max = std::size_t{256} << 20;
inline constexpr std::size_t calibrate_bytes_min = std::size_t{64} << 20;
inline constexpr int rounds_min = 10;
inline constexpr int rounds_max = 51;
inline constexpr Nanoseconds calibrate_time_default = std::chrono::seconds(20);
inline constexpr Nanoseconds calibrate_time_min = std::chrono::seconds(1);
inline constexpr Nanoseconds calibrate_time_max = std::chrono::seconds(55);

// The device memory for the reads: calibrate_target_bytes, aligned to 2 MiB.
inline constexpr std::size_t calibrate_target_bytes = std::size_t{64} << 20;
struct CalibrateTarget {
  io::DeviceMemory* memory = nullptr;  // nullptr: ordinary memory, which measure() allocates
                                       // itself.
  std::byte* address = nullptr;
  DevicePathsConfig paths{};
};

// The progress, 0 to 1, and the current step: "writing", "reading". Return false to stop.
using Progress = std::function<bool(double done, const char* what)>;

struct Measurement {
  Identity identity;  // Of the file: with overlays its device differs from the folder's.
  std::vector<Point> direct;
  std::vector<Point> cache;
  Together together;
  int rounds = 0;
  std::size_t file_bytes = 0;
  Nanoseconds took{};
};

// Takes at most `longest` plus one round. Every error names the folder and the remedy.
//   EINVAL      `longest` is out of range
//   ENOSPC      less than four times calibrate_bytes_min is free
//   EOPNOTSUPP  the file system has no direct transfers: tmpfs, or O_DIRECT is refused or ignored
//   ETIMEDOUT   the device is too slow for rounds_min rounds
//   EAGAIN      memory is so short that cached pages do not stay
//   ECANCELED   progress returned false
//               others as open(2), write(2), fsync(2), read(2) and mmap(2)
// With a device's memory also the errors of DevicePaths.
Result<Measurement> measure(const std::string& folder, Nanoseconds longest,
                            const Progress& progress = {}, const CalibrateTarget& target = {});

}  // namespace k2k::router
