#pragma once
// Finds the cached runs of a residency, 64 pages at a time, with this CPU's vector instructions.
//
// Two methods. all_runs() reads every byte. long_runs() finds only runs above a length, so it
// reads windows of 64 pages with such distances that each such run fills one of them:
//
//   residency   1.11..1..111.1.......11111111111111111111..1...1.1.1
//   windows     [--]           [--]           [--]           [--]       none fully cached: no run
//                                              fully cached: find its begin and its end
//
//
// The reads are independent, so the CPU executes them in parallel. Without long runs, only a part
// of a residency is read; otherwise each byte about once.
//
// The body is compiled once for each instruction set (scan.inl) and selected when the process
// starts; no other code of K2K is compiled for several instruction sets.
//
// Threading: pure functions.

#include <cstdint>
#include <span>

#include "router/plan/plan.hpp"

namespace k2k::router {

// A residency without its cached ends. If it is fully cached, head is the number of pages.
struct Inner {
  std::uint32_t head = 0;   // Pages before it are cached, this one is not.
  std::uint32_t tail = 0;   // Pages from it on are cached, the one before is not.
  std::uint32_t count = 0;  // Long runs between them.
};

// The functions of one instruction set. `pages` is at least 1; `runs` has room for pages / 2 + 1.
struct Scan {
  const char* name;
  // Writes all cached runs; returns their number.
  std::uint32_t (*all_runs)(const std::uint8_t* residency, std::uint32_t pages, Range* runs);
  // Writes the runs of more than `ignored` pages that lie between head and tail.
  Inner (*long_runs)(const std::uint8_t* residency, std::uint32_t pages, std::uint32_t ignored,
                     Range* runs);
};

// The functions that this CPU can run, the fastest first; the last one is portable.
std::span<const Scan> scans();

}  // namespace k2k::router
