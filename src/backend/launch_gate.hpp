#pragma once
// Server threads sleep here while no kernel runs, because only kernels ring doorbells
// (docs/decisions/0009-a-poller-rests-between-launches.md).
//
//   server                                  launch()
//   waiting += 1        (seq_cst)           open = 1            (seq_cst)
//   open? then return   (seq_cst)           threads waiting?    (seq_cst) then notify
//   a doorbell left? then return            … the kernel runs, its leavings are swept …
//   sleep                                   open = 0            (seq_cst)
//
// Of "waiting += 1, read open" and "open = 1, read waiting", at least one sees the other. A launch
// without waiting threads pays one load.
//
// Threading: wait() from any number of threads; open() and close() by the launching threads, one at
// a time.

#include <atomic>
#include <cstdint>

#include "backend/backend.hpp"
#include "backend/wake_word.hpp"
#include "base/units.hpp"

namespace k2k::backend {

class LaunchGate {
 public:
  // Sleeps on `word`, which must outlive the gate: so wake() also ends this wait.
  explicit LaunchGate(WakeWord& word) : word_(word) {}

  // Call it before the kernel may ring.
  void open() noexcept {
    open_silently();
    if (waiting_.load(std::memory_order_seq_cst) != 0) word_.notify();  // Pairs with wait().
  }
  // The same, and sleeping threads sleep on. For devices that wake the word when they ring.
  void open_silently() noexcept { open_.store(1, std::memory_order_seq_cst); }
  // Call it after the last kernel can have rung, and after its doorbells are visible to this
  // thread: a thread that sees the gate closed also sees those doorbells.
  void close() noexcept { open_.store(0, std::memory_order_seq_cst); }

  // Does not sleep while a launch is in progress, or if rung() reports a doorbell. Otherwise
  // returns when a launch begins, after word.wake(), when `longest` has passed, or spuriously.
  template <class Rung>
  LaunchWait wait(const Rung& rung, Nanoseconds longest) {
    const auto runs = [this] { return open_.load(std::memory_order_seq_cst) != 0; };
    const std::uint32_t seen = word_.read();
    waiting_.fetch_add(1, std::memory_order_seq_cst);  // Pairs with open().
    LaunchWait launch = LaunchWait::in_progress;
    if (!runs()) {
      if (!rung() && !word_.take_kept()) word_.sleep(seen, longest);
      launch = runs() ? LaunchWait::began : LaunchWait::none;
    }
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    return launch;
  }

 private:
  WakeWord& word_;
  std::atomic<std::uint32_t> open_{0};
  std::atomic<std::uint32_t> waiting_{0};  // Threads in wait().
};

}  // namespace k2k::backend
