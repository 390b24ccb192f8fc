#pragma once
// Split mode: bundles that top halves handed out, and their requests that were not tried yet.
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

  // False: no memory. The caller is to accept this bundle itself, which counts as taken.
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
  // A rescan may find requests that a bundle here names.
  [[nodiscard]] bool bundles_wait() const {
    const std::lock_guard lock(mutex_);
    return !bundles_.empty();
  }

  enum class Next : std::uint8_t { nothing, attempt, bundle };
  // Attempts come first: their thread is in a call. A bundle is taken into `bundle`; the caller is
  // to accept it.
  Next take(Bundle& bundle) {
    const std::lock_guard lock(mutex_);
    if (!attempts_.empty()) return Next::attempt;
    if (bundles_.empty()) return Next::nothing;
    bundle = std::move(bundles_.front());
    bundles_.pop_front();
    ++accepting_;  // In the same step: quiet() always finds a bundle in one place or the other.
    return Next::bundle;
  }
  // The requests of one bundle that was taken.
  void accept(const std::vector<Pending>& requests) {
    const std::lock_guard lock(mutex_);
    --accepting_;
    for (const Pending& request : requests) attempts_.push_back(request);
  }
  // No bundle waits or is being accepted: no thread reads slots for this queue.
  [[nodiscard]] bool quiet() const {
    const std::lock_guard lock(mutex_);
    return bundles_.empty() && accepting_ == 0;
  }
  // Bundles that were taken are being accepted.
  [[nodiscard]] bool accepting() const {
    const std::lock_guard lock(mutex_);
    return accepting_ != 0;
  }

  // The next attempt that `admits` lets pass; the ones before it are parked. False: none is left.
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
  // The earliest moment that `due_of` gives for a parked attempt; then the caller alone waits for
  // all of them, until give_back_parked(). Nothing: none is parked, or another thread waits.
  template <class DueOf>
  std::optional<std::uint64_t> keep_parked(const DueOf& due_of) {
    const std::lock_guard lock(mutex_);
    if (parked_.empty() || parked_kept_) return {};
    parked_kept_ = true;
    std::uint64_t due = ParkedRequests::never;
    parked_.for_each([&](const Pending& call) { due = std::min(due, due_of(call.request)); });
    return due;
  }
  // Parked attempts are to be tried again, before all others.
  void give_back_parked() {
    const std::lock_guard lock(mutex_);
    parked_kept_ = false;
    attempts_.take_to_front(parked_);
  }

  // Counts how often attempts came; read by the watcher (ThreadPool::begins_calls).
  std::atomic<std::uint64_t> attempts_begun{0};

 private:
  mutable std::mutex mutex_;  // Guards what follows.
  std::deque<Bundle> bundles_;
  std::uint32_t accepting_ = 0;  // Bundles that were taken and are being accepted.
  RequestQueue attempts_;
  RequestQueue parked_;
  bool parked_kept_ = false;  // A thread waits for them.
};

}  // namespace k2k::server
