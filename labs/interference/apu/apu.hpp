#pragma once
// The interference paper's machine in simulated time: an AMD A10-7850K, whose GPU's page faults
// four cores serve. It shows what a machine without deep sleep states cannot: where the cores'
// sleep goes, and how many of the paper's figures follow from the path of a request alone.
//
//   fault ─▶ interrupt ─▶ top half ─wake─▶ bottom half ─wake─▶ worker ─▶ answer ─▶ next fault
//            any core,                     core 0               core 1
//            or core 0
//
// A core that is idle for `entry_us` sleeps in CC6 until work comes, and then needs `exit_us`.
// While the bottom half has not yet cleared the interrupt, further faults raise none. Jobs of a
// core are served in their order; interrupts overtake threads, and preempt nothing.
//
// Not in the model: caches, clock frequencies, other programs. What it gives is of the simulated
// machine alone.
//
// Threading: pure functions.

#include <cstdint>

namespace k2k::labs::apu {

// Times in microseconds.
struct Apu {
  // --- Stated. Paper, table II.
  std::uint32_t cores = 4;
  // Thesis, section 4.5.1: with 64 work-items 260 faults a millisecond are served,
  std::uint32_t outstanding = 64;
  double saturated_per_ms = 260;
  // and one alone takes 5 us.
  double alone_us = 5;
  // Paper, section V-B: the IOMMU waits 13 us at most.
  double coalesce_us = 13;
  // Paper, sections IV-B and V-E: of the cores' time, without requests and with them. The only
  // outcomes that the model is fitted to.
  double asleep_without = 0.86;
  double asleep_default = 0.12;

  // --- Assumed: neither states these. `k2k lab apu` shows what other values change.
  double entry_us = 50;
  double exit_us = 30;
  double background_us = 20;  // Of a moment of work that has nothing to do with requests.
  double gap_us = 0.5;        // Of the GPU, between an answer and the next fault.

  // --- Derived. The worker is the narrowest stage of a saturated path,
  [[nodiscard]] double worker_us() const { return 1e3 / saturated_per_ms; }
  // and the rest of a lone fault is divided evenly: top half, wake-up, bottom half, wake-up.
  [[nodiscard]] double stage_us() const { return (alone_us - worker_us()) / 4; }
};

struct Setting {
  bool steer = false;       // Interrupts come to the bottom half's core.
  bool coalesce = false;    // An interrupt waits for further faults.
  bool monolithic = false;  // The top half does the bottom half's work.
};

struct Outcome {
  double asleep = 0;         // Part of all cores' time in CC6.
  double faults_per_ms = 0;  // Served.
  double interrupts = 0;     // A fault,
  double between_cores = 0;  // and wake-ups of another core.
  double host_us = 0;        // CPU time a fault.
  double latency_us = 0;     // From fault to answer.
  double share = 0;          // Of all cores' CPU time, for faults.
};

// While the microbenchmark makes faults without an end. `seconds` of simulated time; equal seeds
// give equal outcomes.
Outcome simulate(const Apu& apu, const Setting& setting, double seconds, std::uint64_t seed);
// Wake-ups of the background, a core and microsecond, that leave `asleep_without`.
double background_rate(const Apu& apu);

// A whole run of the microbenchmark has a part without faults, in which the cores sleep as without
// requests. Its length follows from asleep_default; a path that serves faster makes the other part
// shorter. The cores' time asleep in a whole run: `path` under a setting, `usual` under none.
double asleep_in_a_run(const Apu& apu, const Outcome& path, const Outcome& usual);

}  // namespace k2k::labs::apu
