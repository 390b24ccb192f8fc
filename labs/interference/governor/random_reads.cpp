#include "labs/interference/governor/random_reads.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/clock.hpp"
#include "device/k2k.hpp"
#include "k2k/trace.hpp"
#include "labs/interference/governor/random.hpp"

namespace k2k::labs::governor {

namespace {

constexpr std::uint32_t outstanding = 64;
constexpr std::uint64_t read_bytes_max = 128u << 10;
constexpr std::uint64_t buffers_bytes = outstanding * read_bytes_max;
// The study's load takes 2 to 50 us. The governor is configured for services of at most 50 us, and
// caches are colder under a cap than in this measurement.
constexpr double service_us_min = 2;
constexpr double service_us_max = 45;

Error short_read() { return {EIO, "a read from the device came back short"}; }

}  // namespace

Result<RandomReads> RandomReads::create() {
  RandomReads reads(::open("/dev/urandom", O_RDONLY | O_CLOEXEC));
  if (reads.file_ < 0) {
    return Error{errno, fmt::format("cannot open /dev/urandom: {}", std::strerror(errno))};
  }
  reads.buffers_.resize(buffers_bytes);
  const auto low = random_bytes_taking(service_us_min);
  if (!low) return low.error();
  const auto high = random_bytes_taking(service_us_max);
  if (!high) return high.error();
  reads.low_bytes_ = low.value();
  reads.high_bytes_ = std::max(high.value(), low.value());
  return reads;
}

RandomReads::~RandomReads() {
  if (file_ >= 0) ::close(file_);
}

Status RandomReads::run(Runtime& runtime, std::uint64_t seed, const std::atomic<bool>& stop) {
  std::uint64_t short_reads = 0;
  std::uint64_t* const failures = &short_reads;
  const std::atomic<bool>* const flag = &stop;
  char* const buffers = buffers_.data();
  const int file = file_;
  const std::uint64_t low = low_bytes_;
  const auto span = static_cast<double>(high_bytes_ - low_bytes_);
  const auto kernel = [=] {
    const std::uint32_t item = k2k::item_rank();
    char* const buffer = buffers + item * read_bytes_max;
    Random random((seed << 8) + item);
    while (!flag->load(std::memory_order_relaxed)) {
      const std::uint64_t bytes = low + static_cast<std::uint64_t>(random.unit() * span);
      const long count = k2k::pread(k2k::work_item, k2k::halting, file, buffer, bytes, 0);
      if (count != static_cast<long>(bytes)) {
        __atomic_fetch_add(failures, std::uint64_t{1}, __ATOMIC_RELAXED);
        return;
      }
    }
  };
  auto report = runtime.launch({.groups = 1, .group_items = outstanding}, kernel, "lab governor");
  if (!report) return report.error();
  if (short_reads != 0) return short_read();
  return {};
}

Result<BareReads> RandomReads::bare(const Rhythm& rhythm, std::uint64_t seed, Nanoseconds length) {
  if (rhythm.batch <= Nanoseconds::zero() || rhythm.batch > rhythm.period) {
    return Error{EINVAL,
                 fmt::format("a batch of {} ns each {} ns; a batch is more than nothing and "
                             "no longer than the time between two",
                             rhythm.batch.count(), rhythm.period.count())};
  }
  const auto span = static_cast<double>(high_bytes_ - low_bytes_);
  const std::uint64_t batch = cycles_in(rhythm.batch);
  Random random(seed);
  BareReads done;
  const Nanoseconds before = thread_time();
  const Instant begin = now();
  Instant next = begin;
  do {
    std::this_thread::sleep_until(next);
    const std::uint64_t woken = cycles();
    do {
      char* const buffer = buffers_.data() + done.requests % outstanding * read_bytes_max;
      const std::uint64_t bytes = low_bytes_ + static_cast<std::uint64_t>(random.unit() * span);
      if (::pread(file_, buffer, bytes, 0) != static_cast<ssize_t>(bytes)) return short_read();
      ++done.requests;
    } while (cycles() - woken < batch);
    next += rhythm.period;
  } while (next < begin + length);
  done.cpu = thread_time() - before;
  return done;
}

}  // namespace k2k::labs::governor
