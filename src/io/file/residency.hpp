#pragma once
// Finds the pages of a file range that are in the page cache.
//
//   cachestat(2)   Linux 6.5; counts pages of a range: 0.3 us a call and 0.03 us a folio. Reads 0
//                  through overlayfs; EPERM on a file one neither owns nor may write
//   mincore(2)     of a mapping of the file: a byte a page, 70 to 100 us for 8 MiB; works on
//                  overlayfs; says "all resident" of a file one neither owns nor may write
//   sampled        where neither may be trusted: how much of the file's recent buffered reads came
//                  without waiting tells how much to expect; the whole range gets one answer
//
// Block devices have either as files have: their own pages, not those of files on them.
//
// RWF_NOWAIT is never used to find out: a miss starts reading the range into the cache.
//
// A range is probed at a grain: a stretch that is cached partly is told as not cached (reading
// it directly is right whatever is cached), so a grain finer than what decides the schedule is
// wasted.
//
// Threading: one owner.

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "io/file/page_range.hpp"

namespace k2k::io {

// How many of these pages the page cache has, by one call of cachestat(2) and with nothing set up
// for it; at least 1 page. 0 also where that call sees nothing (overlayfs). A negative errno: no
// such call (ENOSYS), or not of this file (EPERM).
std::int64_t cached_pages(int descriptor, PageRange range);

enum class ProbeMethod : std::uint8_t { cachestat, mincore, sampled };

const char* name_of(ProbeMethod method);

class ResidencyProbe {
 public:
  // The best method that may be trusted for this descriptor. `sampled` needs nothing of the kernel
  // and never fails. EBADF: no such descriptor. EINVAL: no regular file or block device.
  static Result<ResidencyProbe> open(int descriptor);
  // That method and no other; errors also ENOSYS, EPERM: it is not to be had or not to be trusted
  // here.
  static Result<ResidencyProbe> open(int descriptor, ProbeMethod method);

  ResidencyProbe(ResidencyProbe&& other) noexcept;
  ResidencyProbe& operator=(ResidencyProbe&& other) noexcept;
  ~ResidencyProbe();

  [[nodiscard]] ProbeMethod method() const { return method_; }

  // Sets bytes[i] to 1 if page first_page + i of the file (4 KiB each) is in the page cache, else
  // 0, probed in stretches of `grain` pages (at least 1), which begin at multiples of it in the
  // file; of one that juts out of the range or the file, what lies inside counts. Pages beyond the
  // end of the file are 0, and all are if `descriptor` is not open()'s file any more. Returns how
  // many are 1. What the kernel refuses now (EPERM after a chown) makes the method `sampled`. No
  // allocation.
  //
  // `cachestat` as chosen by open() leaves to mincore, if that may be trusted, what would take many
  // calls: cached and uncached pages that mix at the grain's scale. Pages that are just being read
  // count as cached with cachestat, and not with mincore.
  std::size_t probe(int descriptor, std::uint64_t first_page, std::span<std::uint8_t> bytes,
                    std::uint32_t grain);
  // The same, for a caller that already has the result of fstat(2).
  std::size_t probe(int descriptor, const struct stat& status, std::uint64_t first_page,
                    std::span<std::uint8_t> bytes, std::uint32_t grain);

  // For `sampled`: reports the duration of a buffered read; fast_page_ns is the longest time of a
  // cached page. Ignored without pages.
  //
  // The hit rate moves an eighth of the way to each read's 0 or 1. From a half on, probes answer
  // "cached"; below it "not cached", but for one of 16 at random: without a buffered read now and
  // then nobody would notice that the file was cached meanwhile. The draws depend on the file and
  // the number of the probe alone.
  void note_read(std::size_t pages, std::uint64_t nanoseconds, std::uint64_t fast_page_ns);

 private:
  ResidencyProbe(ProbeMethod method, std::uint64_t device, std::uint64_t inode);

  // Of pages that lie in the file, `file_pages` long; an errno where the kernel refuses.
  int look(int descriptor, std::uint64_t file_pages, std::uint64_t first_page,
           std::span<std::uint8_t> bytes, std::uint32_t grain);
  [[nodiscard]] bool sampled_answer();

  ProbeMethod method_;
  bool refined_ = false;  // `cachestat` may ask mincore.
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  std::uint32_t hit_rate_ = 32768;  // Of `sampled`, in 65536ths; a moving average.
  std::uint64_t sample_ = 0;        // Of its counter-based draws.
};

}  // namespace k2k::io
