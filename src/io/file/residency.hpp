#pragma once
// Finds the pages of a file range that are in the page cache.
//
//   cachestat(2)   Linux 6.5; counts pages of a range: 0.3 us a call and 0.03 us a folio. Reads 0
//                  through overlayfs; EPERM on a file that the user neither owns nor may write
//   mincore(2)     of a mapping of the file: a byte a page, 70 to 100 us for 8 MiB; works on
//                  overlayfs; reports "all resident" for a file that the user neither owns nor may
//                  write
//   sampled        if neither can be trusted: the fraction of the file's recent buffered reads that
//                  did not wait predicts the residency; the whole range gets one answer
//
// Block devices behave as files: the probes see their own pages, not the pages of files on them.
//
// RWF_NOWAIT is never used as a probe: a miss starts reading the range into the cache.
//
// A range is probed at a grain: a partly cached stretch is reported as not cached (a direct read is
// right in any case), so a grain finer than the schedule's decisions is wasted.
//
// Threading: one owner.

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "io/file/page_range.hpp"

namespace k2k::io {

// The number of these pages (at least 1) in the page cache, by one call of cachestat(2), without
// any set-up. 0 also if that call does not see the pages (overlayfs). A negative errno: no such
// call (ENOSYS), or not for this file (EPERM).
std::int64_t cached_pages(int descriptor, PageRange range);

enum class ProbeMethod : std::uint8_t { cachestat, mincore, sampled };

const char* name_of(ProbeMethod method);

class ResidencyProbe {
 public:
  // Selects the best method that can be trusted for this descriptor. `sampled` needs nothing from
  // Linux and never fails. EBADF: no such descriptor. EINVAL: not a regular file or block device.
  static Result<ResidencyProbe> open(int descriptor);
  // Uses only that method. Further errors: ENOSYS, EPERM, the method is missing or cannot be
  // trusted here.
  static Result<ResidencyProbe> open(int descriptor, ProbeMethod method);

  ResidencyProbe(ResidencyProbe&& other) noexcept;
  ResidencyProbe& operator=(ResidencyProbe&& other) noexcept;
  ~ResidencyProbe();

  [[nodiscard]] ProbeMethod method() const { return method_; }

  // Sets bytes[i] to 1 if page first_page + i of the file (4 KiB each) is in the page cache, else
  // to 0. Pages are probed in stretches of `grain` pages (at least 1) that begin at multiples of
  // the grain in the file; of a stretch that exceeds the range or the file, the inner part counts.
  // Pages beyond the end of the file are 0. All pages are 0 if `descriptor` is no longer open()'s
  // file. Returns the number of 1s. If Linux now refuses (EPERM after a chown), the method becomes
  // `sampled`. Allocates nothing.
  //
  // After open() chose `cachestat`, requests that would need many calls go to mincore, if it can be
  // trusted: requests with cached and uncached pages mixed at the grain's scale. Pages that are
  // being read now count as cached with cachestat, and not with mincore.
  std::size_t probe(int descriptor, std::uint64_t first_page, std::span<std::uint8_t> bytes,
                    std::uint32_t grain);
  // The same, for a caller that already has the result of fstat(2).
  std::size_t probe(int descriptor, const struct stat& status, std::uint64_t first_page,
                    std::span<std::uint8_t> bytes, std::uint32_t grain);

  // For `sampled`: reports the duration of a buffered read; fast_page_ns is the longest time of a
  // cached page. Ignored without pages.
  //
  // The hit rate moves an eighth of the way to each read's 0 or 1. From a half on, probes answer
  // "cached". Below it they answer "not cached", except one of 16 at random: without an occasional
  // buffered read, the probe would never notice that the file has been cached. The draws depend
  // only on the file and the number of the probe.
  void note_read(std::size_t pages, std::uint64_t nanoseconds, std::uint64_t fast_page_ns);

 private:
  ResidencyProbe(ProbeMethod method, std::uint64_t device, std::uint64_t inode);

  // For pages within the file, which has `file_pages`; returns an errno if Linux refuses.
  int look(int descriptor, std::uint64_t file_pages, std::uint64_t first_page,
           std::span<std::uint8_t> bytes, std::uint32_t grain);
  [[nodiscard]] bool sampled_answer();

  ProbeMethod method_;
  bool refined_ = false;  // `cachestat` may use mincore.
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  std::uint32_t hit_rate_ = 32768;  // Of `sampled`, in 65536ths; a moving average.
  std::uint64_t sample_ = 0;        // Of its counter-based draws.
};

}  // namespace k2k::io
