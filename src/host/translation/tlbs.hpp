#pragma once
// The TLBs that the CPU reports by the instruction CPUID. A hypervisor may hide them, and Linux
// shows only one of them (/proc/cpuinfo), so CPUID is read directly.
//
//   Intel   leaf 18h; before it, leaf 2: a byte for each TLB (SDM, volume 2A, "CPUID")
//   AMD     leaves 8000_0005h (level 1), 8000_0006h (level 2), 8000_0019h (pages of 1 GiB), and
//           8000_0021h: level 2 is counted in 32s (APM, volume 3, appendix E.4)
//
// Threading: pure functions; tlbs_here() reads the CPU that it runs on.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace k2k::host {

struct CpuidWords {
  std::uint32_t eax = 0;
  std::uint32_t ebx = 0;
  std::uint32_t ecx = 0;
  std::uint32_t edx = 0;
};
using Cpuid = std::function<CpuidWords(std::uint32_t leaf, std::uint32_t subleaf)>;

enum class TlbUse : std::uint8_t { data, instructions, shared, loads, stores };

// Bits of Tlb::pages.
inline constexpr std::uint32_t pages_4k = 1;
inline constexpr std::uint32_t pages_2m = 2;
inline constexpr std::uint32_t pages_4m = 4;
inline constexpr std::uint32_t pages_1g = 8;

struct Tlb {
  std::uint32_t level = 0;  // 1: the nearest to the core.
  TlbUse use = TlbUse::data;
  std::uint32_t pages = 0;  // Sizes that share its entries.
  std::uint64_t entries = 0;
  std::uint32_t ways = 0;  // As `entries`: fully associative; 0: not reported.
  bool operator==(const Tlb&) const = default;
};

struct Tlbs {
  std::vector<Tlb> all;            // Empty: the CPU, or a hypervisor, reports none.
  std::string source;              // The leaves that have them; empty if `all` is.
  std::uint32_t not_reported = 0;  // Sizes that the CPU has and no TLB of `all` holds.
  std::string note;                // A doubt about the sizes; mostly empty.
};

// A wrong answer of `cpuid` gives no TLB or a wrong one, and nothing worse.
Tlbs tlbs_of(const Cpuid& cpuid);
Tlbs tlbs_here();

const char* name_of(TlbUse use);                               // "data", "instructions", …
std::vector<std::string> names_of_pages(std::uint32_t pages);  // {"4 KiB", "2 MiB"}

}  // namespace k2k::host
