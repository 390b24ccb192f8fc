#pragma once
// The lookups of a file as one call.
//
// Threading: one thread; it starts a runtime, or threads.

#include "apps/common/lookups.hpp"
#include "apps/xsbench/table_file.hpp"

namespace k2k::xsbench {

// Errors: as apps::run_lookups().
Result<apps::LookupOutcome> look_all_up(const TableFile& file, const apps::LookupSettings& settings,
                                        const RuntimeConfig& config);

}  // namespace k2k::xsbench
