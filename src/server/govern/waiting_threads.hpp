#pragma once
// Service threads that sleep until they may spend CPU time again.
//
//   ticket() ─▶ ask ─▶ no ─▶ sleep(ticket, until)    returns at once if wake_all() came in between
//
// While suspended no thread sleeps: roles can change hands, and accepted requests are served at the
// end.
//
// Threading: all members from anywhere.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "base/units.hpp"

namespace k2k::server {

class WaitingThreads {
 public:
  // Counts the calling thread as waiting for budget, for a scope; see count().
  class ForBudget {
   public:
    explicit ForBudget(WaitingThreads& waiting) : waiting_(waiting) { ++waiting_.for_budget_; }
    ~ForBudget() { --waiting_.for_budget_; }
    ForBudget(const ForBudget&) = delete;
    ForBudget& operator=(const ForBudget&) = delete;

   private:
    WaitingThreads& waiting_;
  };

  // Take the ticket before asking for a grant whose refusal makes the thread sleep. Pairs with
  // wake_all() and suspend(): a thread with a ticket of theirs sees the change that they announce.
  [[nodiscard]] std::uint64_t ticket() const { return generation_.load(std::memory_order_acquire); }

  // Returns false if it did not sleep, because threads were woken since the ticket was taken.
  bool sleep(std::uint64_t ticket, Instant until) {
    std::unique_lock lock(mutex_);
    const auto over = [&] { return generation_.load(std::memory_order_relaxed) != ticket; };
    if (over()) return false;
    changed_.wait_until(lock, until, over);
    return true;
  }

  // All threads ask again. Returns `ticket` renewed if this was the only wake since it was taken.
  std::uint64_t wake_all(std::uint64_t ticket = 0) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t before = generation_.fetch_add(1, std::memory_order_release);
    changed_.notify_all();
    return before == ticket ? before + 1 : ticket;
  }

  void suspend() {
    suspended_.store(true, std::memory_order_relaxed);  // Released by wake_all().
    wake_all();
  }
  void resume() { suspended_.store(false, std::memory_order_relaxed); }
  [[nodiscard]] bool suspended() const { return suspended_.load(std::memory_order_relaxed); }

  // Sequentially consistent, as is ForBudget: see KeeperThread::wake_by().
  [[nodiscard]] std::uint32_t count() const { return for_budget_.load(); }

 private:
  std::atomic<std::uint32_t> for_budget_{0};
  std::atomic<bool> suspended_{false};
  std::atomic<std::uint64_t> generation_{1};  // Counts wakes; written under mutex_.
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace k2k::server
