#pragma once
// How far Linux reads ahead on a device: the administrator's read_ahead_kb. Larger sequential
// requests are read directly.
//
// The folder is an argument, so that tests can use their own files. Threading: pure functions.

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace k2k::router {

inline constexpr std::uint32_t read_ahead_kib_default = 512;      // If it cannot be read.
inline constexpr std::uint32_t read_ahead_kib_max = 1024 * 1024;  // Larger values are cut to this.
inline constexpr const char* sys_folder = "/sys";

// The setting of a device's queue, of the queue of the device that it is a partition of, or of the
// substitute for a file system without a device (bdi). Errors: ENOENT, none of them exists. EINVAL:
// the file contains no number.
Result<std::uint32_t> read_ahead_kib(dev_t device, const std::string& sys = sys_folder);

// For the device of a file, or a block device itself; the default on failure.
std::uint64_t read_ahead_pages(int descriptor, const std::string& sys = sys_folder);

}  // namespace k2k::router
