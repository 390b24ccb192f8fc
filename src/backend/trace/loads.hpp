#pragma once
// Traces by name: computed from a seed as they are replayed, never stored.
//
//   uniform        the governor's study load: each work-item pauses 1 us, then needs 2 to 50 us
//   burst          the same after a second of silence
//   lognormal      services of 8 us (median), sigma 0.8, at least 2 and at most 50
//   poisson:RATE   RATE requests a second arrive independently of answers; services as in uniform
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

// A list for display; the first ones are complete names.
std::vector<std::string> load_names();

// For so many work-items. Errors: EINVAL, with the name and the list of names.
Result<std::unique_ptr<Source>> create_load(std::string_view name, std::uint64_t seed,
                                            std::uint32_t outstanding);

}  // namespace k2k::backend::trace
