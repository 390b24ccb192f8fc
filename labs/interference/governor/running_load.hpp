#pragma once
// A load in progress: a launch that goes on until it is told to end, on a thread of its own.
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

// Ends it on destruction.
class RunningLoad {
 public:
  // Launches and waits; ends soon after `stop` is set, or after Runtime::cancel().
  using Work = std::function<Status(const std::atomic<bool>& stop)>;

  // The runtime, and what the work refers to, outlive this. Work that has not ended `patience`
  // after it was told to is cancelled. Errors: EAGAIN, no thread.
  Status start(Runtime& runtime, Work work, Nanoseconds patience = std::chrono::seconds(1));
  RunningLoad() = default;
  ~RunningLoad();
  RunningLoad(const RunningLoad&) = delete;
  RunningLoad& operator=(const RunningLoad&) = delete;

  // It ended by itself: something is wrong, and stop() says what.
  [[nodiscard]] bool ended() const { return ended_.load(std::memory_order_acquire); }
  // Ends it and waits. Errors: those of the work; that it was cancelled here is none.
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
