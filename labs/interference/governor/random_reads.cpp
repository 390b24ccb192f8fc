#include "labs/interference/governor/random_reads.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/clock.hpp"
#include "device/k2k.hpp"
#include "labs/interference/governor/random.hpp"

namespace k2k::labs::governor {

namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t outstanding = 64;
constexpr std::uint64_t read_bytes_min = 64;
constexpr std::uint64_t read_bytes_max = 128u << 10;
constexpr std::uint64_t buffers_bytes = outstanding * read_bytes_max;
// The study's load is 2 to 50 us; a governor is told that none takes longer than 50, and caches are
// colder under a cap than they are here.
constexpr double service_us_min = 2;
constexpr double service_us_max = 45;
constexpr int calibration_rounds = 3;
constexpr Nanoseconds patience = 1s;

Error cannot(const char* what, int error) {
  return {error, fmt::format("cannot {} /dev/urandom: {}", what, strerror(error))};
}

}  // namespace

std::uint64_t size_taking(double time_us, const std::vector<ReadCost>& costs) {
  K2K_EXPECT(!costs.empty());
  if (time_us <= costs.front().time_us) return costs.front().bytes;
  for (std::size_t index = 1; index < costs.size(); ++index) {
    const ReadCost& low = costs[index - 1];
    const ReadCost& high = costs[index];
    if (high.time_us < time_us) continue;
    const double part = (time_us - low.time_us) / (high.time_us - low.time_us);
    return low.bytes +
           static_cast<std::uint64_t>(part * static_cast<double>(high.bytes - low.bytes));
  }
  return costs.back().bytes;
}

Result<RandomReads> RandomReads::create() {
  RandomReads reads(::open("/dev/urandom", O_RDONLY | O_CLOEXEC));
  if (reads.file_ < 0) return cannot("open", errno);
  reads.buffers_.resize(buffers_bytes);
  if (Status status = reads.calibrate(); !status) return status.error();
  return reads;
}

RandomReads::~RandomReads() {
  if (file_ >= 0) ::close(file_);
}

Status RandomReads::calibrate() {
  std::vector<ReadCost> costs;
  for (std::uint64_t bytes = read_bytes_min; bytes <= read_bytes_max; bytes *= 2) {
    double least_us = 1e9;  // Whatever disturbs makes it longer.
    for (int round = 0; round < calibration_rounds; ++round) {
      const Result<double> time = time_us(bytes);
      if (!time) return time.error();
      least_us = std::min(least_us, time.value());
    }
    // Longer reads take longer: where they do not, it is noise.
    if (!costs.empty()) least_us = std::max(least_us, costs.back().time_us);
    costs.push_back({bytes, least_us});
    if (least_us > service_us_max) break;
  }
  low_bytes_ = size_taking(service_us_min, costs);
  high_bytes_ = std::max(size_taking(service_us_max, costs), low_bytes_);
  return {};
}

Result<double> RandomReads::time_us(std::uint64_t bytes) {
  const Nanoseconds before = thread_time();
  for (std::uint32_t buffer = 0; buffer < outstanding; ++buffer) {
    const ssize_t count = ::pread(file_, buffers_.data() + buffer * read_bytes_max, bytes, 0);
    if (count == static_cast<ssize_t>(bytes)) continue;
    return cannot("read", count < 0 ? errno : EIO);
  }
  return static_cast<double>((thread_time() - before).count()) / 1e3 / outstanding;
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
  if (short_reads != 0) return Error{EIO, "a read from the device came back short"};
  return {};
}

Status RunningLoad::start(Runtime& runtime, RandomReads& reads, std::uint64_t seed) {
  runtime_ = &runtime;
  try {
    thread_ = std::thread([this, &reads, seed] {
      result_ = reads.run(*runtime_, seed, stop_);
      ended_.store(true, std::memory_order_release);  // Pairs with ended().
    });
  } catch (const std::system_error& failure) {
    return Error{EAGAIN, fmt::format("no thread for the launch ({}); raise the limit on processes: "
                                     "ulimit -u",
                                     failure.what())};
  }
  return {};
}

Status RunningLoad::stop() {
  stop_.store(true, std::memory_order_relaxed);
  bool given_up = false;
  for (const Instant until = now() + patience; !ended() && !given_up; given_up = now() > until) {
    std::this_thread::sleep_for(1ms);
  }
  if (given_up) runtime_->cancel();
  if (thread_.joinable()) thread_.join();
  if (given_up && !result_ && result_.error().code == ECANCELED) return {};
  return result_;
}

RunningLoad::~RunningLoad() {
  if (thread_.joinable()) static_cast<void>(stop());
}

}  // namespace k2k::labs::governor
