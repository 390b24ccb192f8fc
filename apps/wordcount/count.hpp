#pragma once
// wordcount as one call: strings and files in, counts back, by each of its ways.
//
// Threading: one thread; it starts others and ends them.

#include <optional>
#include <string>
#include <vector>

#include "apps/common/rates.hpp"
#include "apps/wordcount/inputs.hpp"
#include "apps/wordcount/kernel.hpp"
#include "runtime/settings/config.hpp"

namespace k2k::wordcount {

enum class By : std::uint8_t { kernel, relaunch, direct, openmp };

struct Settings {
  By by = By::kernel;
  std::uint32_t groups = 0;  // 0: the default of the device and the way.
  std::uint32_t items = 0;
  std::uint32_t threads = 0;  // Of openmp, and of relaunch' calls; 0: one per usable core.
  std::uint32_t chunk_bytes = 64u << 10;
  bool rates = false;
};

struct Counts {
  std::vector<std::uint64_t> of_strings;  // One per counter of Strings.
  std::vector<std::int32_t> errors;       // One per file: an errno, or 0.
  std::uint64_t bytes = 0;
  double seconds = 0;  // From the first file to the last count, without the device's start.
  std::uint64_t launches = 0;
  std::uint64_t host_calls = 0;  // Of relaunch.
  std::vector<apps::RateSample> rates;
};

// Errors: as Runtime::create() and launch(); ENOMEM; ENOTSUP (direct on a GPU); EAGAIN (no thread).
// A file that cannot be read is no error: its errno is in Counts::errors.
Result<Counts> count(const Strings& strings, const std::vector<std::string>& files,
                     const Settings& settings, const RuntimeConfig& config);

// By::openmp. No device.
Counts count_by_openmp(const Strings& strings, const std::vector<std::string>& files,
                       std::uint32_t threads, std::uint32_t chunk_bytes);

}  // namespace k2k::wordcount
