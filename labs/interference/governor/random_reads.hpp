#pragma once
// The real load: work-items that read /dev/urandom without pause, each one call at a time, so that
// 64 requests are outstanding whatever the server does. How much is read is drawn uniformly between
// sizes that take 2 and 45 us of CPU time here, measured with direct calls first
// (random_bytes_taking).
//
// Threading: Reading work-items run on a thread of this file; a load is used by one thread.

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "runtime/runtime.hpp"

namespace k2k::labs::governor {

// The device, the buffers and the sizes.
class RandomReads {
 public:
  // Errors: of opening and reading /dev/urandom.
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

  int file_;
  std::vector<char> buffers_;
  std::uint64_t low_bytes_ = 0;
  std::uint64_t high_bytes_ = 0;
};

}  // namespace k2k::labs::governor
