#pragma once
// Page migration as requests (HISS, table I), with the nodes as an argument: on a machine with one
// node pages cannot move, but a test may name that node twice.
//
// Threading: as generator.hpp.

#include <vector>

#include "labs/interference/generators/generator.hpp"

namespace k2k::labs::generators {

// Moves page i to nodes[i % nodes.size()]; with one node, the pages' nodes are only read. Errors:
// as DemandRegion.
Result<std::unique_ptr<Workload>> make_pages_on(Runtime& runtime, const Settings& settings,
                                                const std::vector<int>& nodes);

}  // namespace k2k::labs::generators
