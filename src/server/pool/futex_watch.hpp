#pragma once
// The threads that wait for words (waits/futex_waits.hpp), and the queues of calls for them.
//
//   take() ──▶ [queue of a waiter] ── bell ──▶ k2k/futex: futex_waitv(2) ──▶ answered
//                                                └─ the system has none ──▶ thread pool
//
// Calls for one word share a waiter. Only when more words are waited for
// than waiters_alone do waiters take several, and a wake-up of one word may answer calls of others
// (docs/decisions/0079). A waiter starts with its first call, and stays.
//
// Threading: from anywhere; one lock. Lock order: this lock, then ServiceThreads.

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>

#include "server/pool/request_queue.hpp"
#include "server/pool/set_aside_parts.hpp"
#include "server/waits/futex_waits.hpp"

namespace k2k::server {

class FutexWatch {
 public:
  static constexpr std::size_t waiters_max = 32;   // 4,064 calls; others take a thread each.
  static constexpr std::size_t waiters_alone = 8;  // Before they take several words.

  explicit FutexWatch(const SetAsideParts& parts) : parts_(parts) {}
  FutexWatch(const FutexWatch&) = delete;
  FutexWatch& operator=(const FutexWatch&) = delete;

  // Returns false if the call waits for no word, all waiters are full, stop() was called, or the
  // system gives no thread or no memory for one. Then a thread that may block must make the call.
  bool take(const Pending& call);

  // The launch of waiting calls may have ended early (Backend::abandoned).
  void look_at_launch();
  // Ends all waits with ECANCELED, and the threads.
  void stop();

 private:
  struct Waiter {
    explicit Waiter(RequestPlaces& places) : arrivals(places) {}
    FutexBell bell;
    FutexWaits waits;         // Of its thread, with the memory for all of its calls.
    FutexWaits::Round round;  // Likewise.
    RequestQueue arrivals;    // Under the lock of the watch, as all that follows.
    std::size_t calls = 0;    // Those that wait and those that arrive.
    std::uint64_t word = 0;   // The address for which all of them wait, or `several`.
  };
  static constexpr std::uint64_t several = 1;  // The address of no word.

  Waiter* choose(std::uint64_t word);
  Waiter* start_waiter();
  void run(ServiceThread& self, Waiter& waiter);
  // Returns true once stop() was called.
  bool take_arrivals(Waiter& waiter, FutexWaits& waits);
  void answer(ServiceThread& self, Waiter& waiter, const FutexWaits::Round& round);

  const SetAsideParts parts_;
  std::mutex mutex_;  // Guards what follows.
  std::array<std::unique_ptr<Waiter>, waiters_max> waiters_;
  std::size_t started_ = 0;
  bool missing_ = false;  // The system has no futex_waitv.
  bool stopping_ = false;
};

}  // namespace k2k::server
