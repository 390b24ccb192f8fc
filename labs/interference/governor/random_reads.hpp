#pragma once
// The real load: work-items that read /dev/urandom without pause, each one call at a time, so that
// 64 requests are outstanding whatever the server does. How much is read is drawn uniformly between
// sizes that take 2 and 45 us of CPU time here, measured with direct calls first
// (random_bytes_taking).
//
// The same reads by a thread that knows neither device nor server, with the rhythm that a cap
// makes: what the machine permits. A core that slept begins slowly (its clock, its caches), whoever
// wakes.
//
// Threading: one thread a load; run() and bare() not at once.

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "k2k/runtime.hpp"

namespace k2k::labs::governor {

// A batch of so much CPU time begins each `period`.
struct Rhythm {
  Nanoseconds batch;
  Nanoseconds period;
};

struct BareReads {
  std::uint64_t requests = 0;
  Nanoseconds cpu{};  // Of the thread: waking and going to sleep included.
};

// The buffers and the sizes.
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
  // On the calling thread, for so long and at least one batch.
  // Errors: EINVAL, no batch or a longer one than the period; EIO as run().
  Result<BareReads> bare(const Rhythm& rhythm, std::uint64_t seed, Nanoseconds length);

 private:
  explicit RandomReads(int file) : file_(file) {}

  int file_;
  std::vector<char> buffers_;
  std::uint64_t low_bytes_ = 0;
  std::uint64_t high_bytes_ = 0;
};

}  // namespace k2k::labs::governor
