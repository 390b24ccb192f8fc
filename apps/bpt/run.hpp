#pragma once
// The searches of a file as one call.
//
// Threading: one thread; it starts a runtime, or threads.

#include "apps/bpt/tree_file.hpp"
#include "apps/common/lookups.hpp"

namespace k2k::bpt {

// Errors: as apps::run_lookups().
Result<apps::LookupOutcome> search_all(const TreeFile& file, const apps::LookupSettings& settings,
                                       const RuntimeConfig& config);

}  // namespace k2k::bpt
