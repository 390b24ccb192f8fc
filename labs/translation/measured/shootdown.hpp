#pragma once
// What a change of mappings costs on this machine when other cores have used the address space:
// each of them must drop its copies of the translations (the thesis' table 4.4 measures a GPU's; it
// is "comparable to 4 to 8 CPU cores").
//
// Threading: measures with threads of its own, each held on one core.

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace k2k::labs::translation {

struct ShootdownCost {
  std::uint32_t cores;  // That run threads of the program, the caller's among them.
  const char* call;     // "mprotect" or "munmap"
  std::uint32_t pages;  // Whose mappings one call changes.
  std::uint64_t calls;
  double ns;          // A call: the median.
  double interrupts;  // That other cores received, a call; -1: Linux does not count them.
};

// One page, and more pages than Linux invalidates one by one.
inline constexpr std::uint32_t shootdown_pages[] = {1, 256};

// For 1, 2, 4, … cores up to all that this process may use. Errors: ENOMEM, EAGAIN (no thread).
Result<std::vector<ShootdownCost>> shootdown_costs(std::uint32_t calls);

// The sum of the line "TLB:" of the text of /proc/interrupts; -1 without it.
double shootdowns_in(std::string_view interrupts);

}  // namespace k2k::labs::translation
