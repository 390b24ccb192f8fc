#pragma once
// The real load: work-items that read /dev/urandom without pause, each one call at a time, so that
// 64 requests are outstanding whatever the server does. How much is read is drawn uniformly between
// sizes that take 2 and 45 us of CPU time here, measured with direct calls first. Random bytes are
// computed, not fetched: such a call takes as long under a cap, with caches gone cold, as without.
//
// Threading: Reading work-items run on a thread of this file; a load is used by one thread.

#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "runtime/runtime.hpp"

namespace k2k::labs::governor {

// CPU time of a direct call that reads so much.
struct ReadCost {
  std::uint64_t bytes;
  double time_us;
};
// The size that takes so long, on straight lines between the costs (by size); the first or the last
// size for a time beyond theirs. Expects at least one cost.
std::uint64_t size_taking(double time_us, const std::vector<ReadCost>& costs);

// The device, the buffers and the sizes.
class RandomReads {
 public:
  // Errors: of opening /dev/urandom.
  static Result<RandomReads> create();
  ~RandomReads();
  RandomReads(RandomReads&& other) noexcept
      : file_(std::exchange(other.file_, -1)),
        buffers_(std::move(other.buffers_)),
        low_bytes_(other.low_bytes_),
        high_bytes_(other.high_bytes_) {}
  RandomReads& operator=(RandomReads&&) = delete;

  // Runs work-items until *stop, then lets each finish its call.
  // Errors: those of Runtime::launch(); EIO for a read that came back short.
  Status run(Runtime& runtime, std::uint64_t seed, const std::atomic<bool>& stop);

 private:
  explicit RandomReads(int file) : file_(file) {}
  Status calibrate();
  // One read into every buffer: the mean CPU time of a call.
  Result<double> time_us(std::uint64_t bytes);

  int file_;
  std::vector<char> buffers_;
  std::uint64_t low_bytes_ = 0;
  std::uint64_t high_bytes_ = 0;
};

// Such a load in progress. Ends it on destruction.
class RunningLoad {
 public:
  // Both outlive this. Errors: EAGAIN, no thread.
  Status start(Runtime& runtime, RandomReads& reads, std::uint64_t seed);
  RunningLoad() = default;
  ~RunningLoad();
  RunningLoad(const RunningLoad&) = delete;
  RunningLoad& operator=(const RunningLoad&) = delete;

  // It ended by itself: something is wrong, and stop() says what.
  [[nodiscard]] bool ended() const { return ended_.load(std::memory_order_acquire); }
  // Ends it and waits; calls that a cap holds up for longer than a second are given up.
  // Errors: those of RandomReads::run().
  Status stop();

 private:
  Runtime* runtime_ = nullptr;
  std::thread thread_;
  Status result_;  // Written before ended_ is released, read after it is acquired.
  std::atomic<bool> stop_{false};
  std::atomic<bool> ended_{false};
};

}  // namespace k2k::labs::governor
