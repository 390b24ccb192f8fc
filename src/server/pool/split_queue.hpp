#pragma once
// Split mode: bundles that top halves handed out, and their requests that are not tried yet.
//
//   add ─▶ bundles ── take ─▶ accepted by a thread ── accept ─▶ attempts ── take_attempt ─▶ tried
//                                                                ▲   │ budget used up
//                                                  give_back_parked  ▼
//                                                     └───────── parked: one thread waits for all
//
// The queue hands out attempts one at a time: while a call keeps one thread, the watcher finds the
// other attempts here.
//
// Threading: from anywhere; one lock, below the thread pool's.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "server/poll/bottom_half.hpp"
#include "server/pool/parked.hpp"
#include "server/pool/request_queue.hpp"

namespace k2k::server {

class SplitQueue {
 public:
  explicit SplitQueue(RequestPlaces& places) : attempts_(places), parked_(places) {}
  SplitQueue(const SplitQueue&) = delete;
  SplitQueue& operator=(const SplitQueue&) = delete;

  // Returns false without memory: the caller must accept the bundle itself, and the bundle counts
  // as taken.
  bool add(const Bundle& bundle) {
    const std::lock_guard lock(mutex_);
    try {
      bundles_.push_back(bundle);
      return true;
    } catch (const std::bad_alloc&) {
      ++accepting_;
      return false;
    }
  }
  // Returns true if bundles wait. A rescan may find requests that these bundles name.
  [[nodiscard]] bool bundles_wait() const {
    const std::lock_guard lock(mutex_);
    return !bundles_.empty();
  }

  enum class Next : std::uint8_t { nothing, attempt, bundle };
  // Attempts come first, because their thread is in a call. A bundle is moved into `bundle`; the
  // caller must accept it.
  Next take(Bundle& bundle) {
    const std::lock_guard lock(mutex_);
    if (!attempts_.empty()) return Next::attempt;
    if (bundles_.empty()) return Next::nothing;
    bundle = std::move(bundles_.front());
    bundles_.pop_front();
    ++accepting_;  // In the same step: quiet() always finds a bundle in one place or the other.
    return Next::bundle;
  }
  // Adds the requests of one taken bundle as attempts.
  void accept(const std::vector<Pending>& requests) {
    const std::lock_guard lock(mutex_);
    --accepting_;
    for (const Pending& request : requests) attempts_.push_back(request);
  }
  // Returns true if no bundle waits or is being accepted: no thread reads slots for this queue.
  [[nodiscard]] bool quiet() const {
    const std::lock_guard lock(mutex_);
    return bundles_.empty() && accepting_ == 0;
  }
  // Returns true while taken bundles are being accepted.
  [[nodiscard]] bool accepting() const {
    const std::lock_guard lock(mutex_);
    return accepting_ != 0;
  }

  // Takes the next attempt that `admits` admits and parks the attempts before it. Returns false if
  // none is left.
  template <class Admits>
  bool take_attempt(Pending& attempt, const Admits& admits) {
    const std::lock_guard lock(mutex_);
    while (!attempts_.empty()) {
      attempt = attempts_.pop_front();
      if (admits(attempt.request)) return true;
      parked_.push_back(attempt);
    }
    return false;
  }
  // Returns the earliest moment that `due_of` gives for a parked attempt: the caller then waits for
  // all parked attempts until give_back_parked(). Returns nothing if none is parked, or if another
  // thread waits.
  template <class DueOf>
  std::optional<std::uint64_t> keep_parked(const DueOf& due_of) {
    const std::lock_guard lock(mutex_);
    if (parked_.empty() || parked_kept_) return {};
    parked_kept_ = true;
    std::uint64_t due = ParkedRequests::never;
    parked_.for_each([&](const Pending& call) { due = std::min(due, due_of(call.request)); });
    return due;
  }
  // Queues the parked attempts again, before all others.
  void give_back_parked() {
    const std::lock_guard lock(mutex_);
    parked_kept_ = false;
    attempts_.take_to_front(parked_);
  }

  // Counts arrivals of attempts; read by the watcher (ThreadPool::begins_calls).
  std::atomic<std::uint64_t> attempts_begun{0};

 private:
  mutable std::mutex mutex_;  // Guards what follows.
  std::deque<Bundle> bundles_;
  std::uint32_t accepting_ = 0;  // Taken bundles that are being accepted.
  RequestQueue attempts_;
  RequestQueue parked_;
  bool parked_kept_ = false;  // A thread waits for them.
};

}  // namespace k2k::server
