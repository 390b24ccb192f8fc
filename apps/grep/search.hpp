#pragma once
// k2k grep as one call: words and paths in, names on standard output, an exit status back.
//
// Threading: one thread; starts a runtime and ends it.

#include <optional>
#include <string>
#include <vector>

#include "apps/grep/kernel.hpp"
#include "apps/grep/worker_buffers.hpp"

namespace k2k::grep {

enum class Progress : std::uint8_t { automatic, always, never };

struct SearchOptions {
  JobOptions job;
  std::vector<std::string> words;
  std::optional<Granularity> granularity;  // Without it: the device's default.
  bool halting = false;
  bool detached = true;
  std::uint32_t groups = 0;  // 0: the device's default.
  std::uint32_t items = 0;
  Progress progress = Progress::automatic;
  bool stats = false;  // A table on standard error at the end.
  bool json = false;   // The same table as one JSON object.
};

inline constexpr int exit_found = 0;
inline constexpr int exit_not_found = 1;
inline constexpr int exit_trouble = 2;

// Prints "k2k grep: message" on standard error; returns exit_trouble.
int complain(const std::string& message);

// Returns 0: a name was found; 1: none; 2: an error, even if names were found; with `quiet`, a
// found name takes precedence.
int search(const SearchOptions& options, RuntimeConfig config);

}  // namespace k2k::grep
