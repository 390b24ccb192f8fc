#pragma once
// Traces by name: computed from a seed as they are replayed, never stored.
//
//   uniform        the governor's study load: each work-item thinks 1 us and asks for 2 to 50 us
//   burst          the same after a second of silence
//   lognormal      services of 8 us in the middle, sigma 0.8, at least 2 and at most 50
//   poisson:RATE   so many requests a second arrive whatever the host does; services as in uniform
//
// Threading: as for any source.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/trace/event.hpp"
#include "base/result.hpp"

namespace k2k::backend::trace {

// As a list for people; the first are names as they stand.
std::vector<std::string> load_names();

// For so many work-items. Errors: EINVAL, the name and those that there are.
Result<std::unique_ptr<Source>> create_load(std::string_view name, std::uint64_t seed,
                                            std::uint32_t outstanding);

}  // namespace k2k::backend::trace
