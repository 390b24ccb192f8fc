#pragma once
// Where server threads sleep until a doorbell rings, without a ring ever being lost.
//
//   server                                  device
//   generation ─▶ g                          tail += 1           (seq_cst)
//   parked = 1            (seq_cst)          parked?             (seq_cst)
//   any tail moved? then return              then parked = 0, generation += 1, futex wake
//   futex wait while generation == g
//
// Of "tail += 1, look at parked" and "parked = 1, look at tail" at least one sees the other. Where
// the device is one thread, its `tail += 1` is a plain store and the server passes a heavy barrier
// between its two steps instead (base/asymmetric_barrier.hpp).
// Ringers that find nobody parked pay one load; of many that find somebody, one pays the call.
//
// Threading: everything from anywhere; interrupt() and wake() are async-signal-safe.

#include <atomic>
#include <cstdint>

#include "backend/backend.hpp"
#include "backend/futex.hpp"
#include "base/units.hpp"
#include "protocol/area.hpp"

namespace k2k::backend::cpu {

class ServerParking {
 public:
  // Returns when a ring's tail is not at `positions`, after interrupt() or wake(), when `longest`
  // has passed, or for no reason. A wake() that met nobody ends the next wait.
  void wait(const protocol::AreaView& area, const std::uint64_t* positions, Nanoseconds longest);

  // Returns when a launch is in progress, when a ring's tail is not at `positions`, after wake(),
  // when `longest` has passed, or for no reason.
  LaunchWait wait_launch(const protocol::AreaView& area, const std::uint64_t* positions,
                         Nanoseconds longest);
  void launch_begins() noexcept {
    launch_runs_.store(1, std::memory_order_seq_cst);
    if (await_launch_.load(std::memory_order_seq_cst) != 0) notify();  // Pairs with wait_launch().
  }
  void launch_ended() noexcept { launch_runs_.store(0, std::memory_order_seq_cst); }

  void interrupt() noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (parked_.load(std::memory_order_seq_cst) == 0) return;  // Pairs with wait().
    if (parked_.exchange(0, std::memory_order_seq_cst) == 0) return;
    notify();
  }

  void wake() noexcept {
    wake_kept_.store(1, std::memory_order_seq_cst);
    notify();
  }

 private:
  void notify() noexcept {
    generation_.fetch_add(1, std::memory_order_seq_cst);
    futex_wake_all(generation_);
  }

  alignas(64) std::atomic<std::uint32_t> parked_{0};
  alignas(64) std::atomic<std::uint32_t> generation_{0};
  std::atomic<std::uint32_t> wake_kept_{0};
  std::atomic<std::uint32_t> launch_runs_{0};
  std::atomic<std::uint32_t> await_launch_{0};  // Threads in wait_launch().
};

}  // namespace k2k::backend::cpu
