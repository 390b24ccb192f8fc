#pragma once
// Up to 127 calls of FUTEX_WAIT on one thread, by futex_waitv(2): Linux waits for all their words
// at once, and for a bell, by which any other thread wakes this one.
//
//   add ──▶ [calls, first come first] ── wait(): bell, word, word, … ──▶ woken ──▶ answered
//
// Linux reports only the last word in the list that was woken. Those behind it were not woken. If
// the words are one and the same, the calls up to it were, because Linux wakes them in the order of
// the list (but for those that left the list just before, at the bell). Of other words before it
// nobody can tell. So all calls up to it are answered with 0, as futex(2) permits of every wait:
// its caller looks at the word again. No wake-up is lost.
//
// Between two waits no call stands in Linux' queues: FUTEX_WAKE then counts none of them. A word
// that was changed meanwhile answers its call with 0. A call that FUTEX_REQUEUE has moved to
// another word returns to its own, with the same look at its value.
//
// Cost: a wait takes time linear in the number of its calls.
//
// Threading: confined to one thread. Any thread may ring the bell.

#include <linux/futex.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "server/poll/bottom_half.hpp"

namespace k2k::server {

// Wakes a thread in FutexWaits::wait().
class FutexBell {
 public:
  [[nodiscard]] std::uint32_t value() const { return count_.load(std::memory_order_acquire); }
  void ring();

 private:
  friend class FutexWaits;
  std::atomic<std::uint32_t> count_{0};  // A release by ring() pairs with the acquire of value().
};

class FutexWaits {
 public:
  static constexpr std::size_t calls_max = 127;

  struct Answered {
    Pending call;
    std::int64_t value = 0;
  };
  struct Round {
    // Reserves all memory. Throws std::bad_alloc.
    Round() {
      answered.reserve(calls_max);
      for_pool.reserve(calls_max);
    }
    std::vector<Answered> answered;
    // For threads of the pool, which may block: the system has no futex_waitv.
    std::vector<Pending> for_pool;
  };

  // Reserves all memory. Throws std::bad_alloc.
  FutexWaits();

  // Adds a call that waits for its word (Readiness::futex). Returns false if another call of its
  // slot waits here. Expects fewer than calls_max calls.
  bool add(const Pending& call);
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

  // Blocks until a word was woken or changed, a timeout has passed, or `bell` does not have the
  // value `seen` any more. Appends results to `round`, at most one for each call.
  void wait(FutexBell& bell, std::uint32_t seen, Round& round);

  // Ends the waits of all calls, or of all that are not detached, with ECANCELED.
  enum class Whose { everybody, not_detached };
  void end(Whose whose, Round& round);

 private:
  struct Entry {
    Pending call;
    Instant deadline;
    bool queued = false;  // Linux has accepted it once: a changed word means that it was woken.
  };

  void expire(Instant moment, Round& round);
  // The first `count` calls were woken, as far as anybody can tell.
  void wake(std::size_t count, Round& round);
  // Asks Linux for each call alone, and answers those that it would not let wait.
  void examine(Round& round);
  [[nodiscard]] Instant next_deadline() const;

  std::vector<Entry> entries_;
  std::vector<futex_waitv> words_;  // The bell and the words of all calls; scratch.
};

}  // namespace k2k::server
