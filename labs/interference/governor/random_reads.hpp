#pragma once
// The real load: work-items read /dev/urandom without pause, each one call at a time, so that 64
// requests are always outstanding. The sizes are drawn uniformly between two sizes that take 2 and
// 45 us of CPU time on this machine, measured beforehand with direct calls (random_bytes_taking).
//
// bare() makes the same reads from a plain thread, without device or server, in the batches that a
// cap produces. Its rate is the most that the machine permits: a core that slept starts slowly (its
// clock, its caches), whichever thread wakes on it.
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

// A batch of `cpu` begins every `period`.
struct Rhythm {
  Nanoseconds batch;
  Nanoseconds period;
};

struct BareReads {
  std::uint64_t requests = 0;
  Nanoseconds cpu{};  // Of the thread, including its waking and going to sleep.
};

// The buffers and the sizes.
class RandomReads {
 public:
  // Errors: from opening and reading /dev/urandom.
  static Result<RandomReads> create();
  ~RandomReads();
  RandomReads(RandomReads&& other) noexcept
      : file_(std::exchange(other.file_, -1)),
        buffers_(std::move(other.buffers_)),
        low_bytes_(other.low_bytes_),
        high_bytes_(other.high_bytes_) {}
  RandomReads& operator=(RandomReads&&) = delete;

  // Runs work-items until *stop, then lets each finish its call.
  // Errors: as Runtime::launch(); EIO for a short read.
  Status run(Runtime& runtime, std::uint64_t seed, const std::atomic<bool>& stop);
  // Runs on the calling thread, for `length` and at least one batch.
  // Errors: EINVAL, no batch or a batch longer than the period; EIO as run().
  Result<BareReads> bare(const Rhythm& rhythm, std::uint64_t seed, Nanoseconds length);

 private:
  explicit RandomReads(int file) : file_(file) {}

  int file_;
  std::vector<char> buffers_;
  std::uint64_t low_bytes_ = 0;
  std::uint64_t high_bytes_ = 0;
};

}  // namespace k2k::labs::governor
