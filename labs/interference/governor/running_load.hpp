#pragma once
// A load in progress: a launch on a thread of its own that continues until stop().
//
// Threading: used by one thread.

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "base/result.hpp"
#include "base/units.hpp"
#include "k2k/runtime.hpp"

namespace k2k::labs::governor {

// The destructor ends the load.
class RunningLoad {
 public:
  // Launches and waits; returns soon after `stop` is set, or after Runtime::cancel().
  using Work = std::function<Status(const std::atomic<bool>& stop)>;

  // The runtime, and everything that the work refers to, must outlive this object. Work that has
  // not returned `patience` after the request to stop is cancelled. Errors: EAGAIN, no thread.
  Status start(Runtime& runtime, Work work, Nanoseconds patience = std::chrono::seconds(1));
  RunningLoad() = default;
  ~RunningLoad();
  RunningLoad(const RunningLoad&) = delete;
  RunningLoad& operator=(const RunningLoad&) = delete;

  // True if the work returned without stop(): something failed, and stop() returns the reason.
  [[nodiscard]] bool ended() const { return ended_.load(std::memory_order_acquire); }
  // Ends the work and waits. Errors: the work's errors; a cancellation by this function is no
  // error.
  Status stop();

 private:
  Runtime* runtime_ = nullptr;
  Nanoseconds patience_{};
  std::thread thread_;
  Status result_;  // Written before ended_ is released, read after it is acquired.
  std::atomic<bool> stop_{false};
  std::atomic<bool> ended_{false};
};

}  // namespace k2k::labs::governor
