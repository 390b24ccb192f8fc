#pragma once
// The thesis' machine (chapter 4), simulated: compute units whose wavefronts ask the TLB of their
// unit, the GPU's TLB, and by an ATS request the IOMMU, whose walkers read the page table.
//
//   wavefront ─▶ unit's TLB ─▶ GPU's TLB ─▶ way ─▶ IOMMU's TLB ─▶ one of N walkers
//        └────▶ data cache ─▶ memory       (a response brings the neighbours' translations, too)
//
// With demand paging a walk that finds no page becomes a page request, which waits in the IOMMU's
// queue for the driver's next batch (fault_desk.hpp). Beside the accesses, cores of the CPU
// invalidate translations by the IOMMU's command queue (invalidations.hpp).
//
// A model, not the machine: the order of events is that of wavefronts which become ready, and what
// the thesis does not state is assumed (thesis.hpp).
//
// Threading: simulate() is a pure function: equal arguments, equal results.

#include <cstdint>
#include <span>

#include "labs/translation/simulated/invalidations.hpp"
#include "labs/translation/simulated/lru_table.hpp"
#include "labs/translation/simulated/thesis.hpp"
#include "labs/translation/simulated/wave_trace.hpp"

namespace k2k::labs::translation {

inline constexpr std::uint64_t small_page = 4 << 10;
inline constexpr std::uint64_t large_page = 2 << 20;
inline constexpr std::uint64_t huge_page = 1 << 30;

struct Machine {
  std::uint64_t page_bytes = small_page;
  std::uint32_t prefetch = thesis::prefetch_pages;  // Pages that a response brings; 1: no prefetch.
  std::uint32_t walkers = thesis::walkers;
  std::uint32_t units = thesis::units;
  std::uint32_t waves_a_unit = thesis::waves_a_unit;
  TableShape unit_tlb = {thesis::unit_tlb_entries, thesis::unit_tlb_entries};
  TableShape gpu_tlb = {thesis::gpu_tlb_entries, thesis::gpu_tlb_ways};
  TableShape iommu_tlb = {thesis::iommu_tlb_entries, thesis::iommu_tlb_ways};
  TableShape cache = {thesis::cache_lines, thesis::cache_ways};
  bool demand = false;  // A page is mapped by a page fault, at its first walk; else all pages are.
  std::uint32_t fault_batch = thesis::fault_batch;
  std::uint32_t command_queue = thesis::command_queue;
};

struct Counts {
  std::uint64_t instructions = 0;  // Of wavefronts, with those that touch no memory.
  std::uint64_t accesses = 0;      // Of lanes.
  std::uint64_t lines = 0;         // After coalescing: accesses to the data cache.
  std::uint64_t line_hits = 0;
  std::uint64_t translations = 0;  // After coalescing: lookups in a unit's TLB.
  std::uint64_t unit_hits = 0;
  std::uint64_t gpu_hits = 0;
  std::uint64_t misses = 0;  // Of the GPU's TLB: ATS requests.
  std::uint64_t iommu_hits = 0;
  std::uint64_t walks = 0;    // Without those that the GPU asks for again after a page fault.
  double ns = 0;              // From the first instruction to the last data.
  double miss_wait_ns = 0;    // Sum over the instructions with a miss, until all are translated.
  std::uint64_t missing = 0;  // Instructions with a miss.

  std::uint64_t faults = 0;  // Each maps a page.
  std::uint64_t fault_batches = 0;
  double driver_ns = 0;      // Sum over the faults: from the IOMMU's queue to the mapping.
  double fault_wait_ns = 0;  // Sum over the faults: from the miss to the translation.

  std::uint64_t invalidations = 0;  // That have retired.
  std::uint64_t invalidated = 0;    // Entries of TLBs that they removed.
  double shootdown_ns = 0;          // Sum: from the request of a core to its end.

  [[nodiscard]] double misses_a_thousand() const {
    return instructions == 0
               ? 0
               : 1e3 * static_cast<double>(misses) / static_cast<double>(instructions);
  }
  // What a wavefront waits for, if a page of its instruction misses.
  [[nodiscard]] double miss_ns() const {
    return missing == 0 ? 0 : miss_wait_ns / static_cast<double>(missing);
  }
};

// Expects at least one walker, one unit, one wave a unit, a batch of one fault, a queue of one
// command, and pages of whole lines. `invalidations` name pages of the machine's size.
Counts simulate(const Machine& machine, const WaveTrace& trace,
                std::span<const Invalidation> invalidations = {});

}  // namespace k2k::labs::translation
