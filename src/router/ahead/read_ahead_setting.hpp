#pragma once
// How far Linux reads ahead on a device: the administrator's read_ahead_kb. Larger sequential
// requests are read directly.
//
// The folder is an argument, so that tests plant files of their own. Threading: pure functions.

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace k2k::router {

inline constexpr std::uint32_t read_ahead_kib_default = 512;      // Where it cannot be read.
inline constexpr std::uint32_t read_ahead_kib_max = 1024 * 1024;  // What is above it is cut off.
inline constexpr const char* sys_folder = "/sys";

// Of a device's queue, of the queue of the device that it is a partition of, or of what stands for
// a file system without a device of its own (bdi). ENOENT: none of them. EINVAL: no number is
// there.
Result<std::uint32_t> read_ahead_kib(dev_t device, const std::string& sys = sys_folder);

// Of the device that a file lies on, or that a block device is; the default where that fails.
std::uint64_t read_ahead_pages(int descriptor, const std::string& sys = sys_folder);

}  // namespace k2k::router
