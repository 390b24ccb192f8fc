#pragma once
// What giving pages of a demand region back costs, and where the time goes (thesis, section 4.6,
// table 4.4: the parts of a TLB shootdown).
//
// Threading: measures with threads of its own, each held on one core.

#include <nlohmann/json_fwd.hpp>

#include "bench/command/bench.hpp"

namespace k2k::bench {

// A table: a row for each number of cores that run threads of this process, and of pages. Medians:
//
//   initialise_ns, finalise_ns  by the region's counters
//   unmap_ns      Linux' part while no other core runs a thread of the process
//   remote_ns     mprotect(2) of as many pages beside threads on other cores, less the same without
//                 them: the cores drop translations, and nothing else differs
//   total_ns      a discard beside these threads
//   sum_to_total  of the parts, over rounds, with its 95 % interval sum_low to sum_high
//   within_5_percent  is the whole interval within 0.95 to 1.05? "yes", "no" or "cannot tell"
//
// Each part is measured for itself, so that the sum can be wrong.
// Errors: ENOMEM, EAGAIN (no thread); as DemandRegion::zero().
Result<nlohmann::ordered_json> discard_costs(Runtime& runtime, Effort effort);

}  // namespace k2k::bench
