#pragma once
// Every constant of the simulated machine: what chapter 4 of the thesis ("Observations and
// Opportunities in Architecting Shared Virtual Memory for Heterogeneous Systems") states, with its
// section, and what it does not state, which is assumed here and marked so. No other file has a
// constant of that machine.
//
// Threading: constants.

#include <cstdint>

namespace k2k::labs::translation::thesis {

// --- Stated.

// Section 4.4.1, table 4.3: (18,444 - 12,707) us / (10,010 - 166) misses, "582 nanoseconds".
inline constexpr double gpu_miss_ns = 582;
// Section 4.4.1, table 4.3: (477 - 134) us / (15,938 - 1,412) misses.
inline constexpr double cpu_miss_ns = 23;
// Section 4.4.1, table 4.3: a work-item makes 10,000 accesses, 64 bytes or 4 KiB apart.
inline constexpr std::uint32_t stride_accesses = 10'000;
inline constexpr std::uint32_t line_misses = 166;
inline constexpr double line_us = 12'707;
inline constexpr std::uint32_t page_misses = 10'010;
inline constexpr double page_us = 18'444;
inline constexpr std::uint32_t cpu_line_misses = 1'412;
inline constexpr double cpu_line_us = 134;
inline constexpr std::uint32_t cpu_page_misses = 15'938;
inline constexpr double cpu_page_us = 477;
// Section 4.4.1, figure 4.2: "up to 16 concurrent page table walks".
inline constexpr std::uint32_t walkers = 16;
// Section 4.4.1, figure 4.2: 1 to 64 work-items, none of whose accesses coalesce.
inline constexpr std::uint32_t lanes = 64;
// Section 4.2.1: an ATS response brings up to eight contiguous pages, the default.
inline constexpr std::uint32_t prefetch_pages = 8;
// Section 4.3, table 4.1: 8 compute units of 720 MHz; DDR3 of 1600 MHz.
inline constexpr std::uint32_t units = 8;
inline constexpr double cycle_ns = 1e3 / 720;

// Section 4.5.1: the micro-benchmark's soft page faults; figure 4.6: their latency, from one at a
// time to the most, with 64 work-items, "260 page faults are serviced per millisecond", and
// throughput "does not scale beyond 32".
inline constexpr std::uint32_t faults = 512'000;
inline constexpr double one_fault_us = 5;
inline constexpr double most_fault_us = 140;
inline constexpr double faults_64_us = 100;
inline constexpr double faults_64_a_ms = 260;
inline constexpr std::uint32_t faults_flat_items = 32;
// Section 4.5.1: a soft page fault of the CPU.
inline constexpr double cpu_fault_us = 1.7;
// Section 4.5.1, figure 4.7: the CPU's clock; the latency of faults "nearly doubles".
inline constexpr double fast_ghz = 3.7;
inline constexpr double slow_ghz = 1.7;

// Section 4.6, table 4.4: the parts of a shootdown as printed, in ns, and the printed averages.
struct Shootdown {
  double printed;
  double initialise;
  double iommu;
  double gpu;
  double finalise;
  [[nodiscard]] constexpr double sum() const { return initialise + iommu + gpu + finalise; }
};
inline constexpr Shootdown one_entry{4'234, 79, 1'970, 2'021, 162};
inline constexpr Shootdown all_entries{4'409, 122, 2'052, 2'035, 299};

// --- Derived from what is stated.

// A load that misses the caches, without its translation: table 4.3's first row less its misses.
inline constexpr double memory_ns = (line_us * 1e3 - line_misses * gpu_miss_ns) / stride_accesses;

// The driver's time for a page fault among many, and what a batch of faults takes besides (the
// interrupt and the worker's start): one fault alone is a batch.
inline constexpr double fault_ns = 1e6 / faults_64_a_ms;
inline constexpr double fault_batch_ns = one_fault_us * 1e3 - fault_ns;

// --- Assumed: the thesis does not state these. Sizes are those of a GPU of that generation.

// Section 4.4.1 names "up to four" levels of TLBs; three are simulated.
inline constexpr std::uint32_t unit_tlb_entries = 64;  // Of each unit, fully associative.
inline constexpr std::uint32_t gpu_tlb_entries = 1'024;
inline constexpr std::uint32_t gpu_tlb_ways = 16;
inline constexpr std::uint32_t iommu_tlb_entries = 512;
inline constexpr std::uint32_t iommu_tlb_ways = 8;
// The part of a miss in which a walker is busy; the rest is the way to the IOMMU and back. A miss
// that hits the IOMMU's TLB costs the way alone.
inline constexpr double walk_ns = 382;
inline constexpr double way_ns = gpu_miss_ns - walk_ns;
inline constexpr double gpu_tlb_ns = 20;
// The GPU's data cache, 512 KiB in lines of 64 bytes, and memory of two channels.
inline constexpr std::uint32_t cache_lines = 8'192;
inline constexpr std::uint32_t cache_ways = 16;
inline constexpr double cache_ns = 300;
inline constexpr double line_ns = 64 / 25.6;
// Wavefronts that a unit holds at a time.
inline constexpr std::uint32_t waves_a_unit = 16;
// Section 4.2.2: "Multiple PPR requests can be queued before the CPU is interrupted";
// section 4.2.3: "a memory-resident command queue". The sizes of both are those of Linux' driver of
// AMD's IOMMU.
inline constexpr std::uint32_t fault_batch = 512;
inline constexpr std::uint32_t command_queue = 512;

}  // namespace k2k::labs::translation::thesis
