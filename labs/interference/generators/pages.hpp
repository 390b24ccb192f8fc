#pragma once
// Page migration as requests (HISS, table I), with the nodes as an argument: a machine with one
// node has nowhere to move pages to, a test may name it twice.
//
// Threading: as generator.hpp.

#include <vector>

#include "labs/interference/generators/generator.hpp"

namespace k2k::labs::generators {

// Page i is moved to nodes[i % nodes.size()]; with one node pages are only asked for theirs.
// Errors: those of DemandRegion.
Result<std::unique_ptr<Workload>> make_pages_on(Runtime& runtime, const Settings& settings,
                                                const std::vector<int>& nodes);

}  // namespace k2k::labs::generators
