#include "io/file/residency.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>

#include "io/file/page_range.hpp"

namespace k2k::io {

namespace {

// Linux 6.5; the same number on every architecture but Alpha. Debian 12's headers lack it.
constexpr long cachestat_number = 451;

struct CachestatRange {
  std::uint64_t offset;
  std::uint64_t bytes;  // 0 would mean: to the end.
};
struct Cachestat {
  std::uint64_t cached;  // Pages of folios in the range, including those being read now.
  std::uint64_t dirty;
  std::uint64_t written_back;
  std::uint64_t evicted;
  std::uint64_t recently_evicted;
};

}  // namespace

std::int64_t cached_pages(int descriptor, PageRange range) {
  CachestatRange asked = {range.first * page_bytes, range.pages * page_bytes};
  Cachestat found = {};
  if (::syscall(cachestat_number, descriptor, &asked, &found, 0) != 0) return -errno;
  return static_cast<std::int64_t>(std::min(found.cached, range.pages));
}

namespace {

// The file's properties that each probe needs: its identity and its end.
struct Identity {
  std::uint64_t device;
  std::uint64_t inode;
  std::uint64_t pages;
};

Result<Identity> identify(int descriptor, const struct stat& status) {
  std::uint64_t bytes = static_cast<std::uint64_t>(status.st_size);
  const bool block_device = S_ISBLK(status.st_mode);
  if ((!S_ISREG(status.st_mode) && !block_device) ||
      (block_device && ::ioctl(descriptor, BLKGETSIZE64, &bytes) != 0)) {
    return Error{EINVAL, fmt::format("descriptor {} is neither a regular file nor a block device: "
                                     "only these have pages in the page cache",
                                     descriptor)};
  }
  return Identity{status.st_dev, status.st_ino, pages_of(0, bytes).pages};
}

Result<Identity> identify(int descriptor) {
  struct stat status = {};
  if (::fstat(descriptor, &status) == 0) return identify(descriptor, status);
  const int error = errno;
  return Error{error, fmt::format("cannot look at descriptor {}: {}; give an open file", descriptor,
                                  std::strerror(error))};
}

// Files with pages that belong to another inode: cachestat reads the file's own pages and counts
// none, while a mapping has the other inode's pages. (FUSE with passthrough.)
bool pages_elsewhere(int descriptor) {
  struct statfs status = {};
  if (::fstatfs(descriptor, &status) != 0) return true;
  return status.f_type == OVERLAYFS_SUPER_MAGIC || status.f_type == FUSE_SUPER_MAGIC;
}

// A mapping of a part of a file that is never accessed, so that it may lie behind the file's end.
class Mapping {
 public:
  Mapping(int descriptor, PageRange range)
      : bytes_(range.pages * page_bytes),
        address_(::mmap(nullptr, bytes_, PROT_NONE, MAP_SHARED, descriptor,
                        static_cast<off_t>(range.first * page_bytes))),
        error_(address_ == MAP_FAILED ? errno : 0) {}
  ~Mapping() {
    if (error_ == 0) ::munmap(address_, bytes_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  // Returns 0, or an errno. The lowest bit of each byte is the answer; Linux leaves the others 0.
  [[nodiscard]] int look(std::uint8_t* bytes) const {
    if (error_ != 0) return error_;
    return ::mincore(address_, bytes_, bytes) == 0 ? 0 : errno;
  }

 private:
  std::size_t bytes_;
  void* address_;
  int error_;
};

// 64 MiB: the span of one mapping, so that the address space of a huge request stays bounded.
constexpr std::uint64_t window_pages_max = 16384;
// The folio at the end of a file extends less far beyond the end: no folio is larger than 512 MiB.
constexpr std::uint64_t behind_end_pages = 131072;

// Returns 0 if mincore is truthful for this file, EPERM if it reports "all resident", as it does if
// the user neither owns the file nor may write it; otherwise the reason why it fails. A page far
// behind the end is never resident. The test queries Linux instead of copying its rule, because the
// rule includes user namespaces, mapped mounts and security modules. If the file grows that far
// meanwhile, the error is on the safe side.
int mincore_refusal(int descriptor, std::uint64_t file_pages) {
  std::uint8_t byte = 0;
  const PageRange behind = {file_pages + behind_end_pages, 1};
  if (const int error = Mapping(descriptor, behind).look(&byte); error != 0) return error;
  return (byte & 1) != 0 ? EPERM : 0;
}

// 0 or an errno. Expects the range to lie in the file.
int look_by_mincore(int descriptor, PageRange range, std::uint8_t* bytes) {
  for (std::uint64_t at = 0; at < range.pages; at += window_pages_max) {
    const PageRange window = {range.first + at, std::min(window_pages_max, range.pages - at)};
    if (const int error = Mapping(descriptor, window).look(bytes + at); error != 0) return error;
  }
  return 0;
}

// The stretches of `grain` pages that overlap a range, identified by their number.
struct Stretches {
  PageRange range;
  std::uint64_t grain;

  [[nodiscard]] std::uint64_t first() const { return range.first / grain; }
  [[nodiscard]] std::uint64_t end() const { return (range.end() - 1) / grain + 1; }
  // The pages of these stretches within the range.
  [[nodiscard]] PageRange pages(std::uint64_t begin, std::uint64_t behind) const {
    const std::uint64_t low = std::max(range.first, begin * grain);
    const std::uint64_t high = std::min(range.end(), behind * grain);
    return {low, high - low};
  }
};

// Makes every stretch 0 that is not cached entirely.
void whole_stretches_only(const Stretches& stretches, std::uint8_t* bytes) {
  if (stretches.grain == 1) return;
  for (std::uint64_t at = stretches.first(); at < stretches.end(); ++at) {
    const PageRange pages = stretches.pages(at, at + 1);
    std::uint8_t* const low = bytes + (pages.first - stretches.range.first);
    if (std::memchr(low, 0, pages.pages) != nullptr) std::memset(low, 0, pages.pages);
  }
}

// The part of a request that is probed first: one call suffices for a file that is cached entirely
// or not at all; otherwise little is counted twice.
constexpr std::uint64_t first_part = 8;

// Sets the bytes of stretches from the first one on until the calls are used up, and moves `left`
// behind the settled part. Returns 0 or an errno. The number of stretches per call follows the last
// result: doubled while they are alike, halved while they are not. A call costs 0.3 us and 0.03 us
// a folio, so probing again costs more than probing apart. At most two calls per stretch and a few
// at the beginning. Expects zeroed bytes.
int look_by_cachestat(int descriptor, PageRange& left, std::uint64_t grain, std::uint8_t* bytes,
                      std::uint64_t calls) {
  const Stretches stretches = {left, grain};
  const std::uint64_t end = stretches.end();
  std::uint64_t together = std::bit_ceil((end - stretches.first() + first_part - 1) / first_part);
  for (std::uint64_t at = stretches.first(); at < end && calls != 0; --calls) {
    // Up to a multiple of their number: cached extents mostly begin at round offsets.
    const std::uint64_t behind = std::min(end, (at / together + 1) * together);
    const PageRange pages = stretches.pages(at, behind);
    const std::int64_t cached = cached_pages(descriptor, pages);
    if (cached < 0) return static_cast<int>(-cached);
    const bool all = static_cast<std::uint64_t>(cached) == pages.pages;
    if (!all && cached != 0 && behind - at > 1) {
      together = std::bit_ceil(behind - at) / 2;
      continue;
    }
    if (all) std::memset(bytes + (pages.first - stretches.range.first), 1, pages.pages);
    together = std::bit_floor(behind - at) * (all || cached == 0 ? 2 : 1);
    at = behind;
    left = {pages.end(), stretches.range.end() - pages.end()};
  }
  return 0;
}

// As look_by_mincore(), and EPERM if all is reported as resident, which cannot be trusted.
int look_by_trusted_mincore(int descriptor, std::uint64_t file_pages, PageRange range,
                            std::uint8_t* bytes) {
  if (const int error = look_by_mincore(descriptor, range, bytes); error != 0) return error;
  const bool all = std::memchr(bytes, 0, range.pages) == nullptr;
  return all ? mincore_refusal(descriptor, file_pages) : 0;
}

// mincore takes over where a request took one call of cachestat for so many pages and is not
// settled yet: 0.02 us a page, where mincore takes 0.05. A stretch may be a page, and each of them
// mixed.
constexpr std::uint64_t pages_a_call_min = 16;

// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): the n-th of a seed's draws without the others.
std::uint64_t draw(std::uint64_t seed, std::uint64_t n) {
  std::uint64_t word = seed + (n + 1) * 0x9e3779b97f4a7c15;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
  word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
  return word ^ (word >> 31);
}

constexpr std::uint32_t always_hit = 65536;
constexpr std::uint32_t reads_remembered = 8;
constexpr std::uint64_t explored_one_of = 16;

// Why a method may not be used for a file, nothing if it may.
std::optional<Error> refusal(int descriptor, const Identity& file, ProbeMethod method) {
  const char* const name = name_of(method);
  if (method == ProbeMethod::cachestat) {
    if (pages_elsewhere(descriptor)) {
      return Error{EPERM, fmt::format("{} counts nothing on this file system; use mincore", name)};
    }
    const std::int64_t cached = cached_pages(descriptor, {0, 1});
    if (cached >= 0) return {};
    const int error = static_cast<int>(-cached);
    return Error{error,
                 fmt::format("{} cannot be used: {}; it takes Linux 6.5 and a file that one owns "
                             "or may write",
                             name, std::strerror(error))};
  }
  if (method == ProbeMethod::mincore) {
    const int error = mincore_refusal(descriptor, file.pages);
    if (error == 0) return {};
    return Error{error, fmt::format("{} cannot be trusted: {}; it takes a file open for reading "
                                    "that one owns or may write",
                                    name, std::strerror(error))};
  }
  return {};
}

}  // namespace

const char* name_of(ProbeMethod method) {
  switch (method) {
    case ProbeMethod::cachestat:
      return "cachestat";
    case ProbeMethod::mincore:
      return "mincore";
    case ProbeMethod::sampled:
      return "sampled";
  }
  return "unknown";
}

ResidencyProbe::ResidencyProbe(ProbeMethod method, std::uint64_t device, std::uint64_t inode)
    : method_(method), device_(device), inode_(inode) {}
ResidencyProbe::ResidencyProbe(ResidencyProbe&& other) noexcept = default;
ResidencyProbe& ResidencyProbe::operator=(ResidencyProbe&& other) noexcept = default;
ResidencyProbe::~ResidencyProbe() = default;

Result<ResidencyProbe> ResidencyProbe::open(int descriptor, ProbeMethod method) {
  const Result<Identity> file = identify(descriptor);
  if (!file) return file.error();
  if (auto error = refusal(descriptor, file.value(), method)) return *std::move(error);
  return ResidencyProbe(method, file.value().device, file.value().inode);
}

Result<ResidencyProbe> ResidencyProbe::open(int descriptor) {
  const Result<Identity> file = identify(descriptor);
  if (!file) return file.error();
  const auto may = [&](ProbeMethod method) { return !refusal(descriptor, file.value(), method); };
  const bool mincore = may(ProbeMethod::mincore);
  const ProbeMethod method = may(ProbeMethod::cachestat) ? ProbeMethod::cachestat
                             : mincore                   ? ProbeMethod::mincore
                                                         : ProbeMethod::sampled;
  ResidencyProbe probe(method, file.value().device, file.value().inode);
  probe.refined_ = mincore;
  return probe;
}

std::size_t ResidencyProbe::probe(int descriptor, std::uint64_t first_page,
                                  std::span<std::uint8_t> bytes, std::uint32_t grain) {
  struct stat status = {};
  if (::fstat(descriptor, &status) == 0) return probe(descriptor, status, first_page, bytes, grain);
  std::ranges::fill(bytes, std::uint8_t{0});
  return 0;
}

std::size_t ResidencyProbe::probe(int descriptor, const struct stat& status,
                                  std::uint64_t first_page, std::span<std::uint8_t> bytes,
                                  std::uint32_t grain) {
  K2K_EXPECT(grain >= 1);
  std::ranges::fill(bytes, std::uint8_t{0});
  const Result<Identity> file = identify(descriptor, status);
  if (!file || file.value().device != device_ || file.value().inode != inode_) return 0;
  const std::uint64_t file_pages = file.value().pages;
  if (first_page >= file_pages) return 0;
  bytes = bytes.first(std::min<std::uint64_t>(bytes.size(), file_pages - first_page));
  if (bytes.empty()) return 0;
  if (method_ != ProbeMethod::sampled &&
      look(descriptor, file_pages, first_page, bytes, grain) != 0) {
    method_ = ProbeMethod::sampled;
  }
  if (method_ == ProbeMethod::sampled) std::ranges::fill(bytes, std::uint8_t{sampled_answer()});
  return std::accumulate(bytes.begin(), bytes.end(), std::size_t{0});
}

int ResidencyProbe::look(int descriptor, std::uint64_t file_pages, std::uint64_t first_page,
                         std::span<std::uint8_t> bytes, std::uint32_t grain) {
  PageRange left = {first_page, bytes.size()};
  const auto of_left = [&] { return bytes.data() + (left.first - first_page); };
  const auto by_mincore = [&] {
    const int error = look_by_trusted_mincore(descriptor, file_pages, left, of_left());
    if (error == 0) whole_stretches_only({left, grain}, of_left());
    return error;
  };
  if (method_ == ProbeMethod::mincore) return by_mincore();
  if (refined_) {
    const std::uint64_t calls = 1 + left.pages / pages_a_call_min;
    const int error = look_by_cachestat(descriptor, left, grain, bytes.data(), calls);
    if (error != 0 || left.empty() || by_mincore() == 0) return error;
    refined_ = false;
    std::memset(of_left(), 0, left.pages);
  }
  return look_by_cachestat(descriptor, left, grain, of_left(),
                           std::numeric_limits<std::uint64_t>::max());
}

bool ResidencyProbe::sampled_answer() {
  const std::uint64_t word = draw(device_ ^ std::rotl(inode_, 32), sample_++);
  return hit_rate_ >= always_hit / 2 || word % explored_one_of == 0;
}

void ResidencyProbe::note_read(std::size_t pages, std::uint64_t nanoseconds,
                               std::uint64_t fast_page_ns) {
  if (pages == 0) return;
  const bool hit = nanoseconds == 0 || (nanoseconds - 1) / pages < fast_page_ns;
  hit_rate_ -= hit_rate_ / reads_remembered;
  if (hit) hit_rate_ += always_hit / reads_remembered;
}

}  // namespace k2k::io
