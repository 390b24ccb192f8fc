#include "labs/interference/governor/cached_reads.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/clock.hpp"
#include "device/k2k.hpp"
#include "labs/interference/governor/random.hpp"

namespace k2k::labs::governor {

namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t outstanding = 64;
constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t file_bytes = 4u << 20;
constexpr std::uint64_t read_bytes_min = 64;
constexpr std::uint64_t read_bytes_max = 512u << 10;
constexpr std::uint64_t buffers_bytes = outstanding * read_bytes_max;
constexpr std::uint64_t huge_page_bytes = 2u << 20;
static_assert(buffers_bytes % huge_page_bytes == 0);
// The study's load is 2 to 50 us; a governor is told that none takes longer than 50, and caches are
// colder under a cap than they are here.
constexpr double service_us_min = 2;
constexpr double service_us_max = 45;
constexpr int calibration_rounds = 3;
constexpr Nanoseconds patience = 1s;

Error no_file(int error) {
  return {error, fmt::format("no temporary file of {} MiB: {}; set TMPDIR to a folder with room",
                             file_bytes >> 20, strerror(error))};
}

// Where a page begins, and so many bytes follow.
std::int64_t draw_offset(Random& random, std::uint64_t bytes) {
  const auto pages = static_cast<double>((file_bytes - bytes) / page_bytes);
  return static_cast<std::int64_t>(random.unit() * pages) * static_cast<std::int64_t>(page_bytes);
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

Result<CachedReads> CachedReads::create() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (error) return no_file(error.value());
  std::string path = (folder / "k2k-lab-XXXXXX").string();
  CachedReads reads(::mkostemp(path.data(), O_CLOEXEC));
  if (reads.file_ < 0) return no_file(errno);
  ::unlink(path.c_str());
  reads.buffers_.reset(static_cast<char*>(std::aligned_alloc(huge_page_bytes, buffers_bytes)));
  if (!reads.buffers_) {
    return Error{ENOMEM, fmt::format("no memory for {} buffers of {} KiB", outstanding,
                                     read_bytes_max >> 10)};
  }
  // Where the kernel makes huge pages of its own accord it does so later, and services would become
  // shorter from row to row.
  static_cast<void>(::madvise(reads.buffers_.get(), buffers_bytes, MADV_HUGEPAGE));
  std::memset(reads.buffers_.get(), 0, buffers_bytes);
  if (Status status = reads.fill(); !status) return status.error();
  if (Status status = reads.calibrate(); !status) return status.error();
  return reads;
}

CachedReads::~CachedReads() {
  if (file_ >= 0) ::close(file_);
}

Status CachedReads::fill() {
  const std::vector<char> page(page_bytes, 'k');
  for (std::uint64_t done = 0; done < file_bytes; done += page_bytes) {
    const ssize_t count = ::write(file_, page.data(), page_bytes);
    if (count != static_cast<ssize_t>(page_bytes)) return no_file(count < 0 ? errno : ENOSPC);
  }
  return {};
}

Status CachedReads::calibrate() {
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

Result<double> CachedReads::time_us(std::uint64_t bytes) {
  Random random(bytes);
  const Nanoseconds before = thread_time();
  for (std::uint32_t buffer = 0; buffer < outstanding; ++buffer) {
    const ssize_t count =
        ::pread(file_, buffers_.get() + buffer * read_bytes_max, bytes, draw_offset(random, bytes));
    if (count == static_cast<ssize_t>(bytes)) continue;
    const int error = count < 0 ? errno : EIO;
    return Error{error, fmt::format("cannot read the temporary file: {}", strerror(error))};
  }
  return static_cast<double>((thread_time() - before).count()) / 1e3 / outstanding;
}

Status CachedReads::run(Runtime& runtime, std::uint64_t seed, const std::atomic<bool>& stop) {
  std::uint64_t short_reads = 0;
  std::uint64_t* const failures = &short_reads;
  const std::atomic<bool>* const flag = &stop;
  char* const buffers = buffers_.get();
  const int file = file_;
  const std::uint64_t low = low_bytes_;
  const auto span = static_cast<double>(high_bytes_ - low_bytes_);
  const auto kernel = [=] {
    const std::uint32_t item = k2k::item_rank();
    char* const buffer = buffers + item * read_bytes_max;
    Random random((seed << 8) + item);
    while (!flag->load(std::memory_order_relaxed)) {
      const std::uint64_t bytes = low + static_cast<std::uint64_t>(random.unit() * span);
      const long count =
          k2k::pread(k2k::work_item, k2k::halting, file, buffer, bytes, draw_offset(random, bytes));
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

Status RunningLoad::start(Runtime& runtime, CachedReads& reads, std::uint64_t seed) {
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
