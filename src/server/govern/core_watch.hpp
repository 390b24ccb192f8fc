#pragma once
// Whether all cores are busy, as one word that requests read and a thread writes (`displaced`).
//
//   all_busy() ── sets `asked` once a look; wakes the thread if it sleeps without a timer
//   look()     ── reads /proc (host/idle_cores.hpp), publishes until when a core counts as idle
//
//   asleep ── asked ─▶ looking, each millisecond; each busy period while all cores are busy
//      ▲──────────────────┘ two looks that no thread asked for
//
// A word that is not renewed ends: cores count as busy where the thread was late, sleeps or has
// ended. So a program that begins to run waits for free service for two idle periods at most, and
// the cap never depends on the thread.
//
// Threading: look() by the thread alone, start() and stop() by one thread at a time, the other
// members from anywhere.

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/result.hpp"
#include "base/units.hpp"
#include "host/idle_cores.hpp"
#include "server/govern/keeper_thread.hpp"

namespace k2k::server {

class CoreWatch {
 public:
  // A look costs a wake-up of the thread, some microseconds: one part in a hundred of a core.
  static constexpr Nanoseconds idle_period = std::chrono::milliseconds(1);
  static constexpr Nanoseconds valid = 2 * idle_period;

  struct Look {
    KeeperThread::Next next;
    bool all_busy = true;
    bool idle_again = false;  // The look before saw no idle core, or the thread slept.
  };

  // `busy_period`: between looks while all cores are busy.
  CoreWatch(host::IdleCores cores, Nanoseconds busy_period)
      : cores_(std::move(cores)), busy_period_(busy_period) {}

  // Starts the thread, asleep. Errors: as KeeperThread::start().
  Status start(KeeperThread::Work work) { return thread_.start(std::move(work)); }
  void stop() { thread_.stop(); }
  void set_busy_period(Nanoseconds period) { busy_period_.store(period); }

  // For requests: one load, and once a look one store.
  [[nodiscard]] bool all_busy(Instant now) {
    const std::uint64_t word = word_.load(std::memory_order_relaxed);
    if ((word & asked) == 0) ask();
    return nanoseconds_of(now) >= (word & ~flags);
  }

  // `serving` threads are within grants; `waiting`: a thread waits for budget.
  Look look(Instant now, std::uint32_t serving, bool waiting);
  // Of the thread, since it began.
  [[nodiscard]] std::uint64_t wakes() const { return thread_.wakes(); }

 private:
  static constexpr std::uint64_t asked = 1;   // Since the last look.
  static constexpr std::uint64_t asleep = 2;  // The thread has no timer.
  static constexpr std::uint64_t flags = asked | asleep;
  static constexpr int unasked_max = 2;

  static std::uint64_t nanoseconds_of(Instant moment) {
    return static_cast<std::uint64_t>(moment.time_since_epoch().count());
  }
  void ask();

  const host::IdleCores cores_;
  std::atomic<Nanoseconds> busy_period_;
  // Until when a core counts as idle, in nanoseconds without the lowest two bits, which are flags.
  // Relaxed: the word stands for itself.
  std::atomic<std::uint64_t> word_{asleep};
  int unasked_ = 0;    // Looks in a row; of the thread.
  bool idle_ = false;  // At the last look; of the thread.
  KeeperThread thread_{"k2k/cores", "server.governor = \"displaced\""};
};

}  // namespace k2k::server
