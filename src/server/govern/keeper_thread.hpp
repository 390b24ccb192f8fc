#pragma once
// A thread for work that must not delay requests: it sleeps until its work is due and wanted.
//
//                       wake(), wake_if_due()
//   asleep, no timer ───────────────────────▶ working ──▶ Next{due, by_timer}
//   asleep, timer    ─── the timer, or wake() ─▶ │           │
//        ▲ └──────────────────────────────────── by_timer ──┤
//        └────────────────────────────────────── not ───────┘
//
// It has a timer only while the work says so. A thread that serves compares two numbers; the first
// to find the work due wakes this thread. While no thread serves or waits, none wakes it.
//
// Threading: start(), plan() and stop() by one thread at a time, the other members from anywhere;
// `work` is called by the keeper's thread. stop() once; start() at most once.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace k2k::server {

class KeeperThread {
 public:
  struct Next {
    Instant due{};
    bool by_timer = false;  // The thread wakes by itself when due.
  };
  using Work = std::function<Next()>;

  // `name` names the thread; `purpose` completes the message "no thread for …".
  KeeperThread(const char* name, const char* purpose) : name_(name), purpose_(purpose) {}
  ~KeeperThread() { stop(); }
  KeeperThread(const KeeperThread&) = delete;
  KeeperThread& operator=(const KeeperThread&) = delete;

  // Errors: EAGAIN, no thread.
  Status start(Work work);
  void stop();
  [[nodiscard]] bool started() const { return thread_.joinable(); }

  // Sets the next due time after another thread made a refresh.
  void plan(Instant due);

  void wake();
  void wake_if_due() {
    std::uint64_t due = due_cycles_.load(std::memory_order_relaxed);
    if (cycles() < due) return;
    // Only one caller wakes the thread.
    if (due_cycles_.compare_exchange_strong(due, never, std::memory_order_relaxed)) wake();
  }
  // Returns the latest time until which a thread that waits for budget may sleep. It then calls
  // wake_if_due(). Expects WaitingThreads to count it already: either it sees no timer here, or
  // `work` sees it there. Both sides are sequentially consistent.
  [[nodiscard]] Instant wake_by(Instant now) const;

  [[nodiscard]] std::uint64_t wakes() const { return wakes_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  void run();

  const char* const name_;
  const char* const purpose_;
  Work work_;
  std::atomic<std::uint64_t> due_cycles_{
      never};  // cycles(); `never` while it works or is about to.
  std::atomic<Instant> due_{Instant{}};
  std::atomic<bool> by_timer_{false};
  std::atomic<std::uint64_t> wakes_{0};
  std::mutex mutex_;  // Guards the members below.
  std::condition_variable awaited_;
  bool woken_ = false;
  bool ending_ = false;
  std::thread thread_;  // Used only by the thread that starts and stops it.
};

}  // namespace k2k::server
