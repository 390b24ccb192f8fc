#pragma once
// Measures adaptive coalescing and the fixed settings on real servers, in turn. Each contender has
// a runtime of its own that keeps its state. In each round, all contenders serve the same events
// one after the other, and each round begins with another contender. So a change of the machine's
// speed affects all of them.
//
// CPU time is read from the CPU clocks of the service threads and includes the replayed device. The
// server's own ledger is compared with it.
//
// Threading: the caller's thread; while one contender works, the others sleep.

#include <cstdint>
#include <functional>

#include "base/result.hpp"
#include "base/units.hpp"
#include "k2k/runtime.hpp"
#include "labs/interference/coalescing/compare.hpp"
#include "labs/interference/coalescing/shapes.hpp"

namespace k2k::labs::coalescing {

struct Plan {
  std::uint32_t rounds = 20;
  Nanoseconds slice = std::chrono::milliseconds(200);  // Per round and contender.
  Nanoseconds warm_up = std::chrono::seconds(5);       // Adaptive coalescing learns; not measured.
  std::uint32_t delay_us = 200;                        // The bound on the mean delay
                                                       // (server.coalesce_delay_us).
  std::uint64_t seed = 1;
};

// The seed of a round's events.
inline std::uint64_t round_seed(const Plan& plan, std::uint32_t round) {
  return plan.seed * 1'000'003 + round;
}

struct Measured {
  Rounds rounds;
  std::uint64_t changes = 0;  // Changes of the setting by adaptive coalescing, in the rounds.
  double ledger_off = 0;      // The largest difference between a server's ledger and its threads'
                              // clocks.
};

// Calls `tell` before each round. Errors: as Runtime::create() and Trace::replay(); EIO if an
// answer was wrong.
Result<Measured> measure(const RuntimeConfig& base, const Shape& shape, const Plan& plan,
                         const std::function<void(std::uint32_t round)>& tell);

}  // namespace k2k::labs::coalescing
