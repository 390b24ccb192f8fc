#pragma once
// One word that tells requests whether all cores are busy; a thread writes it (`displaced`).
//
//   all_busy() ── sets `wanted` once per check; wakes the thread if it sleeps without a timer
//   check()    ── reads /proc (host/idle_cores.hpp), publishes until when a core counts as idle
//
//   asleep ── wanted ─▶ checking, each millisecond; each busy period while all cores are busy
//      ▲────────────────────┘ two checks that no thread wanted
//
// The word expires: cores count as busy if the thread was late, sleeps or has ended. So free
// service delays a program that begins to run by two idle periods at most, and the cap never
// depends on the thread.
//
// Threading: check() by the thread alone, start() and stop() by one thread at a time, the other
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
  // A check wakes the thread and costs some microseconds: 1 % of a core.
  static constexpr Nanoseconds idle_period = std::chrono::milliseconds(1);
  static constexpr Nanoseconds valid = 2 * idle_period;

  struct Check {
    KeeperThread::Next next;
    bool all_busy = true;
    bool idle_again = false;  // The previous check saw no idle core, or the thread slept.
  };

  // `busy_period`: the time between checks while all cores are busy.
  CoreWatch(host::IdleCores cores, Nanoseconds busy_period)
      : cores_(std::move(cores)), busy_period_(busy_period) {}

  // Starts the thread, asleep. Errors: as KeeperThread::start().
  Status start(KeeperThread::Work work) { return thread_.start(std::move(work)); }
  void stop() { thread_.stop(); }
  void set_busy_period(Nanoseconds period) { busy_period_.store(period); }

  // For requests: one load, and one store per check.
  [[nodiscard]] bool all_busy(Instant now) {
    const std::uint64_t word = word_.load(std::memory_order_relaxed);
    if ((word & wanted) == 0) want();
    return nanoseconds_of(now) >= (word & ~flags);
  }

  // `serving` threads are within grants; `waiting`: a thread waits for budget.
  Check check(Instant now, std::uint32_t serving, bool waiting);
  // Wake-ups of the thread since it started.
  [[nodiscard]] std::uint64_t wakes() const { return thread_.wakes(); }

 private:
  static constexpr std::uint64_t wanted = 1;  // A request needs the next check.
  static constexpr std::uint64_t asleep = 2;  // The thread has no timer.
  static constexpr std::uint64_t flags = wanted | asleep;
  static constexpr int unwanted_max = 2;

  static std::uint64_t nanoseconds_of(Instant moment) {
    return static_cast<std::uint64_t>(moment.time_since_epoch().count());
  }
  void want();

  const host::IdleCores cores_;
  std::atomic<Nanoseconds> busy_period_;
  // The time until which a core counts as idle, in nanoseconds; the lowest two bits are flags.
  // Relaxed: the word guards no other data.
  std::atomic<std::uint64_t> word_{asleep};
  int unwanted_ = 0;   // Consecutive checks that no request wanted; the thread's.
  bool idle_ = false;  // At the last check; of the thread.
  KeeperThread thread_{"k2k/cores", "server.governor = \"displaced\""};
};

}  // namespace k2k::server
