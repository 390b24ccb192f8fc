#pragma once
// A profile as JSON: {"format": 1, "k2k": ..., "identity": {...}, "model": {...}, "r2": {...},
// "points": {...}, "sum": "..."}. The sum is FNV-1a of the object without it, in nlohmann's output
// format.
//
// Threading: pure functions.

#include <cstdint>
#include <string_view>

#include "base/result.hpp"
#include "router/profile/profile.hpp"

namespace k2k::router {

inline constexpr std::int64_t profile_format = 1;

struct Parsed {
  std::int64_t format = profile_format;  // With another format, the rest is empty.
  Profile profile;                       // With a model that costs_of() accepts.
};

// Errors: EINVAL, with the mistake, without the file's name.
Result<Parsed> parse_profile(std::string_view text);

}  // namespace k2k::router
