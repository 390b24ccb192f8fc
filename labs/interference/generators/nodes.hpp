#pragma once
// The NUMA nodes whose memory this process may have.
//
// Threading: pure functions, but for the one that reads.

#include <optional>
#include <string_view>
#include <vector>

namespace k2k::labs::generators {

// A kernel's list: "0", "0-2,5". Empty: not such a list, or it names nothing.
std::optional<std::vector<int>> parse_list(std::string_view text);

// Those with memory (/sys/devices/system/node/has_memory) that the process is allowed
// (Mems_allowed_list in /proc/self/status), ascending; {0} where the kernel knows no nodes.
std::vector<int> memory_nodes();

}  // namespace k2k::labs::generators
