#pragma once
// How long a unit has had nothing to do: it spins at first, then more politely, then naps.
//
//   begin() ──▶ early, spins ──(a quarter)──▶ spins ──(device.spin_us)──▶ naps, each twice the last
//
// Threading: the unit's thread; cpu() from anywhere. Not instrumented for ThreadSanitizer
// (sanitizers.hpp).

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "backend/cpu/fibre/sanitizers.hpp"
#include "backend/cpu/simt/unit_plan.hpp"
#include "base/clock.hpp"
#include "base/units.hpp"

namespace k2k::backend::cpu {

class Idleness {
 public:
  explicit Idleness(const UnitPlan& plan) : plan_(plan) {}

  K2K_ALWAYS_INLINE void begin_launch() { nap_ = nap_min; }
  // The unit has something to do.
  K2K_ALWAYS_INLINE void end() { since_ = 0; }
  // Nothing to do: since now, unless it began before.
  K2K_ALWAYS_INLINE void begin() {
    if (since_ != 0) return;
    since_ = cycles();
    nap_ = nap_min;
  }
  // Spins from now on as if there had been something to do.
  K2K_ALWAYS_INLINE void restart() { since_ = cycles(); }
  // Nothing to do since `moment`, a value of cycles().
  K2K_ALWAYS_INLINE void begin_at(std::uint64_t moment) { since_ = moment; }

  [[nodiscard]] K2K_ALWAYS_INLINE bool spins() const { return spins(since_); }
  [[nodiscard]] K2K_ALWAYS_INLINE bool spins(std::uint64_t since) const {
    return cycles() - since < plan_.spin_cycles;
  }
  // After this part of the spin the core is offered to others between polls: the server may be one
  // of them.
  [[nodiscard]] K2K_ALWAYS_INLINE bool is_early() const { return is_early(since_); }
  [[nodiscard]] K2K_ALWAYS_INLINE bool is_early(std::uint64_t since) const {
    return cycles() - since < plan_.spin_cycles / polite_after;
  }

  // On the server's own CPU every further poll delays the answer. Never of a unit that serves.
  [[nodiscard]] K2K_ALWAYS_INLINE bool is_beside_server(bool serves) {
    const int here = sched_getcpu();
    cpu_.store(here, std::memory_order_relaxed);
    return !serves && here == plan_.server_cpu.load(std::memory_order_relaxed);
  }
  // The CPU it was on at the last check for the server; -1 before the first.
  [[nodiscard]] K2K_ALWAYS_INLINE int cpu() const { return cpu_.load(std::memory_order_relaxed); }

  [[nodiscard]] K2K_ALWAYS_INLINE Nanoseconds nap() const { return nap_; }
  void lengthen_nap() { nap_ = nap_ * 2 < nap_max ? nap_ * 2 : nap_max; }

 private:
  static constexpr std::uint64_t polite_after = 4;
  static constexpr Nanoseconds nap_min = std::chrono::milliseconds(1);
  // A wake is never lost; naps are bounded for the one word without a wake: `closed`.
  static constexpr Nanoseconds nap_max = std::chrono::milliseconds(16);

  const UnitPlan& plan_;
  std::uint64_t since_ = 0;  // cycles() when nothing was ready any more; 0 = busy.
  Nanoseconds nap_{};        // The next sleep at most.
  std::atomic<int> cpu_{-1};
};

}  // namespace k2k::backend::cpu
