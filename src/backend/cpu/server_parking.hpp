#pragma once
// Server threads sleep here until a doorbell rings. No doorbell is lost.
//
//   server                                  device
//   read ─▶ seen                             tail += 1           (seq_cst)
//   parked = 1            (seq_cst)          parked?             (seq_cst)
//   any tail moved? then return (or a hole)  then parked = 0, notify
//   sleep while the word is `seen`           (wake_word.hpp)
//
// Of "tail += 1, read parked" and "parked = 1, read tail", at least one sees the other. If the
// device is one thread, its `tail += 1` is a plain store, and the server passes a heavy barrier
// between its two steps instead (base/asymmetric_barrier.hpp). A ringing thread pays one load if no
// thread is parked; otherwise one of the ringing threads pays the system call.
//
// Threading: everything from anywhere; interrupt() and wake() are async-signal-safe.

#include <array>
#include <atomic>
#include <cstdint>

#include "backend/backend.hpp"
#include "backend/launch_gate.hpp"
#include "backend/wake_word.hpp"
#include "base/units.hpp"
#include "protocol/area.hpp"

namespace k2k::backend::cpu {

class ServerParking {
 public:
  // Returns when a ring's tail is not at `positions`, after interrupt() or wake(), when `longest`
  // has passed, or spuriously. A wake() without a waiting thread ends the next wait. A ticket that
  // was taken a millisecond ago and not rung is a hole: then only doorbells behind it count. Each
  // ring belongs to one thread at a time.
  void wait(const protocol::AreaView& area, const std::uint64_t* positions, Nanoseconds longest);

  // As LaunchGate::wait(). interrupt() ends it, too: a silent launch wakes nobody before its first
  // doorbell.
  LaunchWait wait_launch(const protocol::AreaView& area, const std::uint64_t* positions,
                         Nanoseconds longest);
  void launch_begins() noexcept { gate_.open(); }
  void launch_begins_silently() noexcept { gate_.open_silently(); }
  void launch_ended() noexcept { gate_.close(); }

  void interrupt() noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (parked_.load(std::memory_order_seq_cst) == 0) return;  // Pairs with wait().
    if (parked_.exchange(0, std::memory_order_seq_cst) == 0) return;
    word_.notify();
  }

  void wake() noexcept { word_.wake(); }

 private:
  // The first ticket without a doorbell, as wait() last saw it.
  struct Unrung {
    std::atomic<std::uint64_t> position{any_position};
    std::atomic<Instant> since{};
  };

  // Its thread is about to sleep: from now on a doorbell interrupts.
  void park(const protocol::AreaView& area);
  // Is a doorbell ready?
  bool rung(const protocol::AreaView& area, const std::uint64_t* positions);

  std::array<Unrung, protocol::ring_count_max> unrung_;
  alignas(64) std::atomic<std::uint32_t> parked_{0};
  alignas(64) WakeWord word_;
  LaunchGate gate_{word_};
};

}  // namespace k2k::backend::cpu
