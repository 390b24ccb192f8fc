#pragma once
// A word on which server threads sleep. A wake without a sleeping thread is not lost.
//
//   waiter                             waker
//   read() ─▶ seen                      change the awaited state
//   is the state as awaited? leave      notify(): the word changes, sleepers wake
//   sleep(seen)
//
// A change after read() ends the sleep, because the word is no longer `seen`.
//
// Threading: everything from anywhere; notify() and wake() are async-signal-safe.

#include <atomic>
#include <cstdint>

#include "backend/futex.hpp"
#include "base/units.hpp"

namespace k2k::backend {

class WakeWord {
 public:
  [[nodiscard]] std::uint32_t read() const noexcept {
    return generation_.load(std::memory_order_seq_cst);
  }
  // Takes a wake() that met no sleeping thread: then do not sleep.
  [[nodiscard]] bool take_kept() noexcept {
    return wake_kept_.exchange(0, std::memory_order_seq_cst) != 0;
  }
  // Returns when the word is not `seen`, when `longest` has passed, or spuriously.
  void sleep(std::uint32_t seen, Nanoseconds longest) noexcept {
    futex_wait(generation_, seen, longest);
    wake_kept_.store(0, std::memory_order_relaxed);
  }

  // Wakes the sleeping threads.
  void notify() noexcept {
    generation_.fetch_add(1, std::memory_order_seq_cst);
    futex_wake_all(generation_);
  }
  // As notify(), and is kept for the next thread that would sleep.
  void wake() noexcept {
    wake_kept_.store(1, std::memory_order_seq_cst);
    notify();
  }

 private:
  std::atomic<std::uint32_t> generation_{0};
  std::atomic<std::uint32_t> wake_kept_{0};
};

}  // namespace k2k::backend
