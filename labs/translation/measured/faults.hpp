#pragma once
// What a page fault of a program costs on this machine, by kind (the thesis: 1.7 us for a soft
// fault of a CPU, section 4.5.1). Faults are counted by Linux (getrusage), not assumed.
//
// Threading: confined to one thread.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace k2k::labs::translation {

struct FaultCost {
  const char* kind;
  const char* about;
  std::uint64_t faults = 0;  // Of the repeat that counts.
  double ns = 0;             // A fault, the cheapest of all repeats.
  std::string absent = {};   // The reason why the kind was not measured.
};

// Each kind over `pages` pages. Errors: ENOMEM, and as the system calls that prepare the memory.
Result<std::vector<FaultCost>> fault_costs(std::uint32_t pages, std::uint32_t repeats);

}  // namespace k2k::labs::translation
