#pragma once
// BPT and XSBench with kernels that are recorded.
//
// Threading: one thread.

#include "apps/bpt/search.hpp"
#include "apps/xsbench/lookup.hpp"
#include "k2k/runtime.hpp"

namespace k2k::labs::accesses {

// Errors: as Runtime::launch().
Result<LaunchReport> launch_bpt(Runtime& runtime, const LaunchShape& shape,
                                const bpt::Search& kernel);
Result<LaunchReport> launch_xsbench(Runtime& runtime, const LaunchShape& shape,
                                    const xsbench::Lookup& kernel, std::uint64_t material_entries);

}  // namespace k2k::labs::accesses
