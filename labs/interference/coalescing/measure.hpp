#pragma once
// Adaptive coalescing and the fixed settings on real servers, in turn: each is a runtime of its own
// that keeps what it learnt, and in each round each is given the same events, one after the other,
// beginning with another one each time. So whatever changes on this machine changes for all.
//
// CPU time is what the CPU clocks of the service threads say before and after, the replayed device
// among it; the server's own books are compared with it.
//
// Threading: the caller's thread; while one is at work the others sleep.

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
  Nanoseconds slice = std::chrono::milliseconds(200);  // Of a round, a contender.
  Nanoseconds warm_up = std::chrono::seconds(5);       // Adaptive learns, unseen.
  std::uint32_t delay_us = 200;                        // The bound (server.coalesce_delay_us).
  std::uint64_t seed = 1;
};

// Of the events of a round.
inline std::uint64_t round_seed(const Plan& plan, std::uint32_t round) {
  return plan.seed * 1'000'003 + round;
}

struct Measured {
  Rounds rounds;
  std::uint64_t changes = 0;  // Times that adaptive chose another setting, in the rounds.
  double books_off = 0;       // The most that a server's books differ from its threads' clocks.
};

// `tell` is called before each round. Errors: those of Runtime::create() and Trace::replay(); EIO,
// an answer was wrong.
Result<Measured> measure(const RuntimeConfig& base, const Shape& shape, const Plan& plan,
                         const std::function<void(std::uint32_t round)>& tell);

}  // namespace k2k::labs::coalescing
