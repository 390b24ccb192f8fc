#pragma once
// Plays replays on the accelerator, one after another: it advances whenever a service thread calls.
//
//   play()            begins a replay, wakes sleeping threads, waits for its end
//   advance()         a poller found nothing: due requests are published
//   wait_doorbell()   sleeps until a request is due: this timer is the device's interrupt
//   resume()          answers are taken; requests due by now are published
//
// When cancelled, or closed by the server, the accelerator stops publishing and waits for the
// requests with the host.
//
// Threading: play() from one thread at a time, on_abandon() while it does not run; the rest from
// anywhere. One lock around the accelerator, held for some tens of nanoseconds per request. A
// poller with nothing due pays one load. Changes for sleeping threads are notified after the lock.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

#include "backend/backend.hpp"
#include "backend/launch_gate.hpp"
#include "backend/trace/accelerator.hpp"
#include "backend/trace/report.hpp"
#include "backend/trace/requests.hpp"
#include "backend/trace/trace.hpp"
#include "backend/wake_word.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "protocol/area.hpp"

namespace k2k::backend::trace {

class Player {
 public:
  explicit Player(const protocol::AreaView& area)
      : area_(area), accelerator_(area, 1 / nanoseconds_per_cycle()) {}

  // Writes the replay's report; `elapsed` is the time until its end. Errors: ESHUTDOWN, ECANCELED.
  Status play(const Replay& replay, const Requests& requests, Nanoseconds& elapsed);

  // As the functions of Backend.
  void cancel() noexcept;
  [[nodiscard]] bool abandoned() const noexcept {
    return stop_.load(std::memory_order_acquire) != 0;
  }
  void on_abandon(std::function<void()> listener) { on_abandon_ = std::move(listener); }
  void wait_doorbell(const std::uint64_t* positions, Nanoseconds longest);
  LaunchWait wait_launch(const std::uint64_t* positions, Nanoseconds longest);
  void wake_server() noexcept { word_.wake(); }
  bool advance() noexcept {
    const std::uint64_t moment = cycles();
    return moment >= next_due_.load(std::memory_order_relaxed) && publish_due(moment);
  }
  void resume(const std::uint32_t* waves, std::size_t count) noexcept;

 private:
  [[nodiscard]] bool closed() const;
  void tell_launch() noexcept;
  bool publish_due(std::uint64_t moment) noexcept;
  bool move_on(std::uint64_t moment);
  Status run(const Replay& replay, const Requests& requests);
  Status wait_for_end();
  void abandon();
  void fill_in(Report& report, Nanoseconds elapsed);

  const protocol::AreaView& area_;

  std::mutex mutex_;  // Guards the members below.
  Accelerator accelerator_;
  std::uint32_t sleepers_ = 0;  // Threads in wait_doorbell().
  Tick timer_ = never;          // The earliest time at which a sleeping thread wakes by itself;
                                // never: none.
  std::uint64_t device_ = 0;    // Cycles spent under the lock, and waiting for it.

  std::atomic<bool> active_{false};  // A replay is in progress.
  alignas(64) std::atomic<Tick> next_due_{never};
  std::atomic<int> stop_{0};                // 0, or the reason to publish nothing more: a positive
                                            // errno.
  std::atomic<std::uint32_t> progress_{0};  // The thread in play() sleeps on it.
  WakeWord word_;
  LaunchGate gate_{word_};
  std::function<void()> on_abandon_;
};

}  // namespace k2k::backend::trace
