#pragma once
// The NUMA nodes from which this process may allocate memory.
//
// Threading: parse_list() is pure; memory_nodes() reads files.

#include <optional>
#include <string_view>
#include <vector>

namespace k2k::labs::generators {

// Parses a list as Linux prints it: "0", "0-2,5". Empty: not such a list, or a list without a
// number.
std::optional<std::vector<int>> parse_list(std::string_view text);

// The nodes with memory (/sys/devices/system/node/has_memory) that the process may use
// (Mems_allowed_list in /proc/self/status), ascending; {0} if Linux reports no nodes.
std::vector<int> memory_nodes();

}  // namespace k2k::labs::generators
