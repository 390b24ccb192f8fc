#include "router/profile/calibrate.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <span>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/huge_pages.hpp"
#include "io/engine/blocking.hpp"
#include "io/engine/drained.hpp"
#include "io/engine/engine.hpp"
#include "io/engine/one_transfer.hpp"
#include "io/file/direct_file.hpp"
#include "io/file/residency.hpp"
#include "router/read/execution.hpp"

namespace k2k::router {

namespace {

constexpr std::size_t largest_bytes = std::size_t{8} << 20;
constexpr std::size_t synced_bytes = std::size_t{32} << 20;  // So that writing heeds the time.
// The target of reads is larger than any cache of the CPU, because device memory is not cached
// there, either.
constexpr std::size_t buffer_bytes = calibrate_target_bytes;
constexpr std::uint32_t together_transfers = 64;
constexpr std::size_t together_bytes = std::size_t{32} << 10;
constexpr std::uint64_t seed = 1;
constexpr std::uint64_t free_share = 4;    // At most this part of the free space is used.
constexpr double writing_share_max = 0.4;  // Of the time; the rest is for reading.
constexpr const char* elsewhere =
    "name a folder on a disk whose file system has O_DIRECT (ext4, xfs)";

// Powers of two and the middles between them.
std::vector<std::size_t> sizes_of(std::size_t alignment) {
  std::vector<std::size_t> sizes;
  const auto add = [&](std::size_t bytes) {
    if (bytes % alignment == 0 && bytes <= largest_bytes) sizes.push_back(bytes);
  };
  for (std::size_t bytes = page_bytes; bytes <= largest_bytes; bytes *= 2) {
    add(bytes);
    if (bytes > page_bytes) add(bytes + bytes / 2);
  }
  return sizes;
}

double seconds(Nanoseconds time) { return std::chrono::duration<double>(time).count(); }

class Calibration {
 public:
  Calibration(std::string folder, Nanoseconds longest, const Progress& progress,
              const CalibrateTarget& target)
      : folder_(std::move(folder)),
        longest_(longest),
        begin_(now()),
        progress_(progress),
        target_(target) {}

  // Called in this order; each expects that the earlier ones succeeded.
  Status make_engines();
  Status open();
  Status write();
  Status open_direct();
  Status prepare();
  Status read();

  [[nodiscard]] Measurement result() const;

 private:
  struct Times {
    std::vector<double> direct;
    std::vector<double> cache;
  };

  [[nodiscard]] Error failed(const char* what, int code, const char* fix = elsewhere) const {
    return {code, fmt::format("{}: cannot {}: {}; {}", folder_, what, std::strerror(code), fix)};
  }
  [[nodiscard]] Error no_direct(const std::string& why) const {
    return {EOPNOTSUPP, fmt::format("{}: {}, and what the page cache alone does is no profile; {}",
                                    folder_, why, elsewhere)};
  }
  [[nodiscard]] Error too_slow(const std::string& what) const {
    const double more = seconds(calibrate_time_max);
    const bool most = longest_ >= calibrate_time_max;
    return {ETIMEDOUT, fmt::format("{}: {} in {:.1f} s; {}", folder_, what, seconds(now() - begin_),
                                   most ? "the device is busy, or too slow to be planned for"
                                        : fmt::format("give it more: --seconds {:g}", more))};
  }
  Status go_on(double done, const char* what) const {
    if (!progress_ || progress_(std::min(done, 1.0), what)) return {};
    return Error{ECANCELED, "stopped; nothing was stored, and nothing is left behind"};
  }
  Status fill_cache();
  Result<bool> round_counts();
  // Did it count? Not if the time was over, or cached pages were evicted meanwhile.
  Result<bool> round(std::vector<std::size_t>& order);
  Result<double> timed(int descriptor, std::size_t bytes, std::uint64_t first);
  Result<double> timed_together();
  Status read_together();
  Status read_once(int descriptor, std::size_t bytes, std::uint64_t offset);
  [[nodiscard]] std::byte* target() const {
    return target_.memory == nullptr ? buffer_.get() : target_.address;
  }
  [[nodiscard]] bool time_is_over() const { return now() - begin_ > longest_; }

  std::string folder_;
  Nanoseconds longest_;
  Instant begin_;
  const Progress& progress_;
  const CalibrateTarget& target_;
  std::string engine_;
  std::unique_ptr<io::Engine> direct_engine_;
  std::unique_ptr<io::Engine> cached_engine_;
  std::mt19937_64 random_{seed};
  Descriptor file_;
  Identity identity_;
  std::optional<io::DirectFile> direct_;
  std::size_t file_bytes_ = 0;
  std::size_t half_ = 0;  // Below: direct. From here: cached.
  std::size_t alignment_ = page_bytes;
  std::unique_ptr<std::byte, void (*)(void*)> buffer_{nullptr, &std::free};
  std::vector<std::size_t> sizes_;
  std::vector<Times> times_;
  std::vector<double> together_;
  int rounds_ = 0;
};

Status Calibration::make_engines() {
  if (target_.memory == nullptr) {
    Result<std::unique_ptr<io::Engine>> direct = io::make_direct(together_transfers);
    if (!direct) return direct.error();
    direct_engine_ = std::move(direct).value();
    cached_engine_ = io::make_buffered(1).value();
    engine_ = direct_engine_->capabilities().name;
    return {};
  }
  const Result<DevicePaths> paths = DevicePaths::create(*target_.memory, target_.paths);
  if (!paths) return paths.error();
  Result<std::unique_ptr<io::Engine>> direct = paths.value().make_direct();
  if (!direct) return direct.error();
  Result<std::unique_ptr<io::Engine>> cached = paths.value().make_cached();
  if (!cached) return cached.error();
  direct_engine_ = std::move(direct).value();
  cached_engine_ = std::move(cached).value();
  engine_ = paths.value().name();
  return {};
}

Status Calibration::open() {
  file_ = Descriptor(::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  const bool nameless = file_.number() >= 0 || (errno != EOPNOTSUPP && errno != EISDIR);
  if (!nameless) {
    std::string pattern = folder_ + "/.k2k_calibrate_XXXXXX";
    file_ = Descriptor(::mkostemp(pattern.data(), O_CLOEXEC));
    if (file_.number() >= 0) ::unlink(pattern.c_str());
  }
  if (file_.number() < 0) {
    return failed("make a file", errno, "name a folder that you may write in");
  }
  const Result<Identity> identity = identify(file_.number(), engine_);
  if (!identity) return identity.error();
  identity_ = identity.value();
  const std::string& system = identity_.file_system;
  if (system == "tmpfs" || system == "ramfs") {
    return no_direct(fmt::format("{} has no device to transfer from", system));
  }
  struct statvfs space{};
  if (::fstatvfs(file_.number(), &space) != 0) return failed("ask for free space", errno);
  const std::uint64_t free = std::uint64_t{space.f_bavail} * space.f_frsize;
  file_bytes_ = std::min<std::uint64_t>(calibrate_bytes_max, free / free_share);
  file_bytes_ -= file_bytes_ % (2 * largest_bytes);
  if (file_bytes_ >= calibrate_bytes_min) return {};
  return Error{ENOSPC, fmt::format("{}: {} MiB are free and {} wanted, of which a quarter is taken "
                                   "for a moment; make room, or name a folder with more",
                                   folder_, free >> 20, free_share * calibrate_bytes_min >> 20)};
}

Status Calibration::write() {
  buffer_.reset(static_cast<std::byte*>(allocate_in_huge_pages(page_bytes, buffer_bytes)));
  if (!buffer_) return failed("take 64 MiB of memory", ENOMEM, "free some");
  // No two pages alike, for file systems that compress or share.
  for (std::size_t at = 0; at < buffer_bytes; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random_();
    std::memcpy(buffer_.get() + at, &word, sizeof word);
  }
  std::size_t written = 0;
  while (written < file_bytes_) {
    if (Status status = go_on(0, "writing"); !status) return status;
    if (seconds(now() - begin_) > writing_share_max * seconds(longest_)) {
      if (written >= calibrate_bytes_min) break;
      return too_slow(fmt::format("no more than {} MiB could be written", written >> 20));
    }
    for (std::size_t at = 0; at < largest_bytes; at += page_bytes) {
      std::memcpy(buffer_.get() + at, &written, sizeof written);
    }
    const ssize_t count =
        ::pwrite(file_.number(), buffer_.get(), largest_bytes, static_cast<off_t>(written));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed("write", errno, "make room, or name another folder");
    if (static_cast<std::size_t>(count) != largest_bytes) {
      return failed("write", ENOSPC, "make room, or name another folder");
    }
    written += largest_bytes;
    if (written % synced_bytes == 0 && ::fdatasync(file_.number()) != 0) {
      return failed("write", errno, "make room, or name another folder");
    }
  }
  file_bytes_ = written - written % (2 * largest_bytes);
  half_ = file_bytes_ / 2;
  if (::fsync(file_.number()) != 0) return failed("write", errno, "see Linux' log (dmesg)");
  return {};
}

Status Calibration::open_direct() {
  Result<io::DirectFile> twin = io::DirectFile::open(file_.number(), io::DirectFile::Access::read);
  if (!twin && twin.error().code == EINVAL) return no_direct("its file system refuses O_DIRECT");
  if (!twin) {
    return failed("open its file again by /proc/self/fd", twin.error().code, "mount /proc");
  }
  direct_.emplace(std::move(twin).value());
  alignment_ = std::max<std::size_t>(page_bytes, direct_->alignment().offset);
  return {};
}

Status Calibration::prepare() {
  // By pread(2): io_uring retries for ever after EOPNOTSUPP.
  const std::int64_t first =
      io::transfer_now(
          {.file = direct_->descriptor(), .memory = buffer_.get(), .bytes = alignment_})
          .result;
  if (is_refusal(first)) return no_direct("its file system refuses direct reads");
  sizes_ = sizes_of(alignment_);
  times_.resize(sizes_.size());
  ::posix_fadvise(file_.number(), 0, static_cast<off_t>(half_), POSIX_FADV_DONTNEED);
  return fill_cache();
}

Status Calibration::fill_cache() {
  for (std::size_t at = half_; at < file_bytes_; at += largest_bytes) {
    if (Status status = read_once(file_.number(), largest_bytes, at); !status) return status;
  }
  return {};
}

Status Calibration::read_once(int descriptor, std::size_t bytes, std::uint64_t offset) {
  const std::size_t place = random_() % ((buffer_bytes - bytes) / alignment_ + 1) * alignment_;
  io::Engine& engine =
      direct_ && descriptor == direct_->descriptor() ? *direct_engine_ : *cached_engine_;
  const std::int64_t count = io::result_of(
      {.file = descriptor, .offset = offset, .memory = target() + place, .bytes = bytes}, engine);
  if (count == static_cast<std::int64_t>(bytes)) return {};
  if (count == -EFAULT && target_.memory != nullptr) {
    return failed("read into the device's memory", EFAULT, "see nvidia-smi");
  }
  if (count == -EINVAL && descriptor == direct_->descriptor()) {
    return no_direct(fmt::format("its file system refuses direct reads of {} bytes", bytes));
  }
  return failed("read", count < 0 ? static_cast<int>(-count) : EIO, "see Linux' log (dmesg)");
}

// The second of two reads from anywhere in the half that begins at `first`, microseconds.
Result<double> Calibration::timed(int descriptor, std::size_t bytes, std::uint64_t first) {
  const auto anywhere = [&] {
    return first + random_() % ((half_ - bytes) / alignment_ + 1) * alignment_;
  };
  if (Status status = read_once(descriptor, bytes, anywhere()); !status) return status.error();
  const std::uint64_t offset = anywhere();
  const Instant begin = now();
  if (Status status = read_once(descriptor, bytes, offset); !status) return status.error();
  return std::max<double>(1, static_cast<double>((now() - begin).count())) / 1000;
}

// Like a request's direct transfers: apart from each other in the file, adjacent in memory.
Status Calibration::read_together() {
  const std::size_t bytes = std::max(together_bytes, alignment_);
  const std::size_t apart = half_ / together_transfers;
  std::byte* const place =
      target() + random_() % ((buffer_bytes / bytes) - together_transfers + 1) * bytes;
  std::vector<io::Transfer> all;
  for (std::size_t at = 0; at < together_transfers; ++at) {
    const std::uint64_t offset =
        at * apart + random_() % ((apart - bytes) / alignment_ + 1) * alignment_;
    all.push_back({.file = direct_->descriptor(),
                   .offset = offset - offset % alignment_,
                   .memory = place + at * bytes,
                   .bytes = bytes,
                   .tag = at});
  }
  const io::Drained drained(*direct_engine_);
  std::array<io::Completion, together_transfers> completions;
  std::span<const io::Transfer> waiting(all);
  while (!waiting.empty() || direct_engine_->outstanding() > 0) {
    waiting = waiting.subspan(direct_engine_->submit(waiting));
    const std::size_t count =
        direct_engine_->poll(completions, waiting.empty() ? completions.size() : 1);
    for (std::size_t at = 0; at < count; ++at) {
      const std::int64_t result = completions[at].result;
      if (result == static_cast<std::int64_t>(bytes)) continue;
      return failed("read", result < 0 ? static_cast<int>(-result) : EIO, "see Linux' log (dmesg)");
    }
  }
  return {};
}

// The second of two times, microseconds.
Result<double> Calibration::timed_together() {
  if (Status status = read_together(); !status) return status.error();
  const Instant begin = now();
  if (Status status = read_together(); !status) return status.error();
  return std::max<double>(1, static_cast<double>((now() - begin).count())) / 1000;
}

Result<bool> Calibration::round(std::vector<std::size_t>& order) {
  std::shuffle(order.begin(), order.end(), random_);
  std::vector<std::pair<double, double>> times(sizes_.size());
  for (const std::size_t at : order) {
    const double done = std::max(static_cast<double>(rounds_) / rounds_max,
                                 seconds(now() - begin_) / seconds(longest_));
    if (Status status = go_on(done, "reading"); !status) return status.error();
    if (time_is_over()) return false;
    const Result<double> direct = timed(direct_->descriptor(), sizes_[at], 0);
    if (!direct) return direct.error();
    const Result<double> cache = timed(file_.number(), sizes_[at], half_);
    if (!cache) return cache.error();
    times[at] = {direct.value(), cache.value()};
  }
  const Result<double> together = timed_together();
  if (!together) return together.error();
  const Result<bool> counts = round_counts();
  if (!counts || !counts.value()) return counts;
  for (std::size_t at = 0; at < times.size(); ++at) {
    times_[at].direct.push_back(times[at].first);
    times_[at].cache.push_back(times[at].second);
  }
  together_.push_back(together.value());
  ++rounds_;
  return true;
}

// Were the intended pages cached, and no others? If memory was short, they are cached again.
Result<bool> Calibration::round_counts() {
  std::vector<std::uint8_t> pages(file_bytes_ / page_bytes);
  Result<io::ResidencyProbe> probe = io::ResidencyProbe::open(file_.number());
  if (!probe) return probe.error();
  probe->probe(file_.number(), 0, pages, 1);
  const auto middle = pages.begin() + static_cast<std::ptrdiff_t>(half_ / page_bytes);
  if (std::count(pages.begin(), middle, 1) != 0) {
    return no_direct("its file system takes O_DIRECT and reads through the page cache");
  }
  if (std::count(middle, pages.end(), 0) == 0) return true;
  if (Status status = fill_cache(); !status) return status.error();
  return false;
}

Status Calibration::read() {
  std::vector<std::size_t> order(sizes_.size());
  for (std::size_t at = 0; at < order.size(); ++at) order[at] = at;
  bool evicted = false;
  while (rounds_ < rounds_max && !time_is_over()) {
    const Result<bool> complete = round(order);
    if (!complete) return complete.error();
    evicted = evicted || (!complete.value() && !time_is_over());
  }
  if (rounds_ >= rounds_min) return {};
  if (!evicted)
    return too_slow(fmt::format("{} of {} rounds of reads were done", rounds_, rounds_min));
  return Error{EAGAIN,
               fmt::format("{}: {} MiB do not stay in the page cache; free memory, or raise "
                           "the limit of this control group",
                           folder_, half_ >> 20)};
}

double median(std::vector<double> all) {
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

Measurement Calibration::result() const {
  Measurement all;
  all.identity = identity_;
  all.rounds = rounds_;
  all.file_bytes = file_bytes_;
  all.took = now() - begin_;
  all.together = {together_transfers, static_cast<double>(std::max(together_bytes, alignment_)),
                  median(together_)};
  for (std::size_t at = 0; at < sizes_.size(); ++at) {
    const auto bytes = static_cast<double>(sizes_[at]);
    all.direct.push_back({bytes, median(times_[at].direct)});
    all.cache.push_back({bytes, median(times_[at].cache)});
  }
  return all;
}

}  // namespace

Result<Measurement> measure(const std::string& folder, Nanoseconds longest,
                            const Progress& progress, const CalibrateTarget& target) {
  if (longest < calibrate_time_min || longest > calibrate_time_max) {
    return Error{
        EINVAL, fmt::format("a calibration of {:g} s; permitted are {:g} to {:g}", seconds(longest),
                            seconds(calibrate_time_min), seconds(calibrate_time_max))};
  }
  Calibration calibration(folder, longest, progress, target);
  using Step = Status (Calibration::*)();
  for (const Step step : {&Calibration::make_engines, &Calibration::open, &Calibration::open_direct,
                          &Calibration::write, &Calibration::prepare, &Calibration::read}) {
    if (Status status = (calibration.*step)(); !status) return status.error();
  }
  return calibration.result();
}

}  // namespace k2k::router
