#pragma once
// Split and staged bottom halves: bundles that top halves handed out, and their requests that are
// not tried yet.
//
//   add ─▶ bundles ── take ─▶ accepted by a thread ── accept ─▶ attempts ── take_attempt ─▶ tried
//             └ staged: next_bundle, by the thread of the pre-processing stage (stage.hpp)
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
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "server/poll/bottom_half.hpp"
#include "server/pool/parked.hpp"
#include "server/pool/placement.hpp"
#include "server/pool/request_queue.hpp"
#include "server/pool/stage.hpp"
#include "server/settings/config.hpp"

namespace k2k::server {

class SplitQueue {
 public:
  explicit SplitQueue(RequestPlaces& places) : attempts_(places), parked_(places) {}
  SplitQueue(const SplitQueue&) = delete;
  SplitQueue& operator=(const SplitQueue&) = delete;

  enum class Added : std::uint8_t {
    no_memory,  // The caller must accept the bundle itself, and the bundle counts as taken.
    for_pool,   // The caller must wake a thread of the pool.
    for_stage,  // The thread of the stage knows.
  };
  Added add(const Bundle& bundle) {
    const std::lock_guard lock(mutex_);
    try {
      bundles_.push_back(bundle);
    } catch (const std::bad_alloc&) {
      ++accepting_;
      return Added::no_memory;
    }
    return tell(stage_.move(StageEvent::ring)) == StageWake::pool ? Added::for_pool
                                                                  : Added::for_stage;
  }
  // Returns true if bundles wait. A rescan may find requests that these bundles name.
  [[nodiscard]] bool bundles_wait() const {
    const std::lock_guard lock(mutex_);
    return !bundles_.empty();
  }

  // Returns true if bundles wait for a thread of the pool.
  [[nodiscard]] bool bundles_wait_for_pool() const {
    const std::lock_guard lock(mutex_);
    return !bundles_.empty() && !stage_.has_thread();
  }

  // Returns true if attempts wait for a thread.
  [[nodiscard]] bool attempts_wait() const {
    const std::lock_guard lock(mutex_);
    return !attempts_.empty();
  }

  enum class Next : std::uint8_t { nothing, attempt, bundle, stage };
  // The stage comes first: no request passes without it. Then attempts, if their threads are all in
  // calls: a thread that waits for CPU time will take them, and another would only wait beside it.
  // A bundle is moved into `bundle`; the caller must accept it.
  Next take(Bundle& bundle) {
    const std::lock_guard lock(mutex_);
    if (stage_.phase() == StagePhase::vacant) {
      stage_.move(StageEvent::take);
      return Next::stage;
    }
    if (!attempts_.empty() && occupied_.load(std::memory_order_relaxed) >= workers_) {
      return Next::attempt;
    }
    if (stage_.has_thread() || bundles_.empty()) return Next::nothing;
    move_first_to(bundle);
    return Next::bundle;
  }

  // For the guard, which makes no attempt. Returns false if no bundle waits for the pool.
  bool take_bundle(Bundle& bundle) {
    const std::lock_guard lock(mutex_);
    if (bundles_.empty() || stage_.has_thread()) return false;
    move_first_to(bundle);
    return true;
  }
  // For the guard: appends the attempts that `wanted` names to `taken`.
  template <class Wanted>
  void take_attempts(const Wanted& wanted, std::vector<Pending>& taken) {
    const std::lock_guard lock(mutex_);
    attempts_.take_if(wanted, taken);
  }

  // --- The stage. Its thread calls next_bundle() until none is left, then rest(), and so on.

  // From now on a thread of the pool pre-processes, if the configuration says so. Workers use
  // worker_cores, and the stage the cores of the stage.
  void open(const ServerConfig& config) {
    const std::lock_guard lock(mutex_);
    const bool staged = config.bottom_half == BottomHalfMode::staged;
    const bool steered = staged && config.steering == Steering::steered;
    const bool own = !config.preprocess_cores.empty();
    stage_cores_ = cores_of(!steered ? std::vector<std::uint32_t>()
                            : own    ? config.preprocess_cores
                                     : config.cores);
    worker_cores_ = cores_of(steered ? config.worker_cores : std::vector<std::uint32_t>());
    if (staged) tell(stage_.move(StageEvent::open));
  }
  // The thread of the stage leaves once no bundle waits; then the pool accepts bundles.
  void close() {
    const std::lock_guard lock(mutex_);
    tell(stage_.move(StageEvent::close));
  }
  [[nodiscard]] cpu_set_t stage_cores() const {
    const std::lock_guard lock(mutex_);
    return stage_cores_;
  }
  enum class Found : std::uint8_t {
    bundle,   // Moved into `bundle`; the caller must accept it.
    nothing,  // The caller must rest().
    end,      // The caller has left the stage.
  };
  Found next_bundle(Bundle& bundle) {
    const std::lock_guard lock(mutex_);
    if (stage_.phase() == StagePhase::rung) stage_.move(StageEvent::wake);
    if (!bundles_.empty()) {
      move_first_to(bundle);
      return Found::bundle;
    }
    // In the same step as the look: a bundle that is added from now on rings.
    stage_.move(StageEvent::idle);
    return stage_.phase() == StagePhase::off ? Found::end : Found::nothing;
  }
  // Sleeps until a bundle rings, or the stage closes. Returns true if a bundle rang.
  bool rest() {
    std::unique_lock lock(mutex_);
    rung_.wait(lock, [this] { return stage_.phase() != StagePhase::resting; });
    return stage_.phase() == StagePhase::rung;
  }

  // A thread begins to take attempts; returns the cores for it, empty if any.
  [[nodiscard]] cpu_set_t begin_work() {
    const std::lock_guard lock(mutex_);
    ++workers_;
    return worker_cores_;
  }
  // Returns false, and the thread must go on, if an attempt came meanwhile.
  [[nodiscard]] bool end_work() {
    const std::lock_guard lock(mutex_);
    if (!attempts_.empty()) return false;
    --workers_;
    return true;
  }
  // Returns true if attempts wait and no thread takes them.
  [[nodiscard]] bool needs_worker() const {
    const std::lock_guard lock(mutex_);
    return workers_ == 0 && !attempts_.empty();
  }

  // Adds the requests of one taken bundle as attempts.
  void accept(const std::vector<Pending>& requests) {
    const std::lock_guard lock(mutex_);
    --accepting_;
    for (const Pending& request : requests) attempts_.push_back(request);
  }
  // Returns true if no bundle waits or is being accepted, and no thread has the stage: no thread
  // reads slots for this queue.
  [[nodiscard]] bool quiet() const {
    const std::lock_guard lock(mutex_);
    return bundles_.empty() && accepting_ == 0 && !stage_.has_thread();
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
      if (admits(attempt.request)) {
        ++occupied_;
        return true;
      }
      parked_.push_back(attempt);
    }
    return false;
  }
  // The attempt that this thread took is over.
  void end_attempt() { --occupied_; }
  // Returns the earliest moment that `due_of` gives for a parked attempt: the caller then waits for
  // all parked attempts until give_back_parked(). Returns nothing if none is parked, or if another
  // thread waits.
  template <class DueOf>
  std::optional<std::uint64_t> keep_parked(const DueOf& due_of) {
    const std::lock_guard lock(mutex_);
    if (parked_.empty() || parked_kept_) return {};
    parked_kept_ = true;
    ++occupied_;
    std::uint64_t due = ParkedRequests::never;
    parked_.for_each([&](const Pending& call) { due = std::min(due, due_of(call.request)); });
    return due;
  }
  // Queues the parked attempts again, before all others.
  void give_back_parked() {
    const std::lock_guard lock(mutex_);
    parked_kept_ = false;
    --occupied_;
    attempts_.take_to_front(parked_);
  }

  // Counts arrivals of attempts; read by the watcher (ThreadPool::begins_calls).
  std::atomic<std::uint64_t> attempts_begun{0};

 private:
  // These two expect mutex_ held.
  StageWake tell(StageWake wake) {
    if (wake == StageWake::stage) rung_.notify_one();
    return wake;
  }
  void move_first_to(Bundle& bundle) {
    bundle = std::move(bundles_.front());
    bundles_.pop_front();
    ++accepting_;  // In the same step: quiet() always finds a bundle in one place or the other.
  }

  mutable std::mutex mutex_;  // Guards the members below.
  std::condition_variable rung_;
  Stage stage_;
  cpu_set_t stage_cores_{};
  cpu_set_t worker_cores_{};
  std::uint32_t workers_ = 0;  // Threads in begin_work() to end_work().
  // Of these, those that try an attempt or wait for parked ones. Changes without the mutex, too.
  std::atomic<std::uint32_t> occupied_{0};
  std::deque<Bundle> bundles_;
  std::uint32_t accepting_ = 0;  // Taken bundles that are being accepted.
  RequestQueue attempts_;
  RequestQueue parked_;
  bool parked_kept_ = false;  // A thread waits for them.
};

}  // namespace k2k::server
