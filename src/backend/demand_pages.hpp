#pragma once
// Memory with pages that are filled on first access: the regions of this process, and how one of
// their pages is made (HISS, section II-C; thesis, section 4.5).
//
//   create ──▶ live ──────── retire ──────▶ retired ───── no kernel runs ─────▶ free
//              a touch of a missing page     a touch is an error that names     unmapped
//              is a fault; populate()        the region; populate() answers
//              resolves it                   ESTALE
//
// A range is registered with userfaultfd(2) in SIGBUS mode: a thread that accesses a missing page
// gets the signal (cpu/fault_signal.hpp), and Linux itself never fills one: a system call on it
// returns EFAULT. A retired range stays mapped, and empty, while a kernel may still hold its
// address.
//
// A GPU cannot halt at such a fault: there Linux or the driver resolves faults
// (device_regions.hpp), and none of this is used but RegionPlan and KernelRuns.
//
// A table of regions_max places, read without a lock: a reader pins the place, then checks it. The
// signal handler is installed with the first region and removed with the last.
//
// Threading: everything from anywhere. find_region() and populate() are async-signal-safe.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "backend/region.hpp"
#include "base/result.hpp"

namespace k2k::backend {

inline constexpr std::uint32_t regions_max = 64;
inline constexpr std::size_t demand_page_bytes = 4096;  // Also Linux' page.
inline constexpr std::size_t large_page_bytes = std::size_t{2} << 20;

enum class PageSource : std::uint8_t { zero, copy, file };
enum class PageAccess : std::uint8_t { read, write };

struct RegionPlan {
  std::string name;       // For messages; cut after 31 bytes.
  std::size_t bytes = 0;  // A multiple of page_bytes, not 0.
  // Filled and discarded as a unit: demand_page_bytes or large_page_bytes.
  std::size_t page_bytes = demand_page_bytes;
  PageSource source = PageSource::zero;
  const std::byte* copy_from = nullptr;  // `bytes` long; must outlive the region.
  int descriptor = -1;                   // Duplicated; pages are private copies of the file's.
  std::int64_t offset = 0;               // In the file, at least 0.
  FaultHandling handling = FaultHandling::request;
};

// Errors:
//   EINVAL  another size of pages, no bytes or no whole pages, no source, a negative offset
//   EBADF   the descriptor
//   ENOMEM  no address space
//   ENOSPC  regions_max regions exist
//   EPERM, ENOSYS  userfaultfd is not available; the message names the setting
Result<RegionHandle> create_region(const RegionPlan& plan);

// EINVAL (another size of pages, no bytes or no whole pages, no source, a negative offset), naming
// the region.
Status check(const RegionPlan& plan);

// Returns its pages at once, and its addresses when no kernel runs. A fault that is being resolved
// is answered ESTALE. Does not wait.
void retire_region(RegionHandle region);

[[nodiscard]] RegionCounters region_counters(const RegionHandle& region);

// The handler's information on an address.
struct FoundRegion {
  bool found = false;
  bool live = false;
  FaultHandling handling = FaultHandling::request;
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::size_t page_bytes = demand_page_bytes;
  char name[32] = {};
};
[[nodiscard]] FoundRegion find_region(std::uintptr_t address) noexcept;

// Before a call of Linux that removes pages of [begin, begin + bytes): no page of a region in it
// whose content was read before is placed any more, so a touch after the call sees the region's
// source anew. Fills go on. Waits for placements in progress. While it lives, the regions'
// addresses stay theirs. Not async-signal-safe.
class Removal {
 public:
  // `called`: the moment from which the region's counters count (base/clock.hpp).
  Removal(std::uintptr_t begin, std::size_t bytes, std::uint64_t called) noexcept;
  ~Removal();
  Removal(const Removal&) = delete;
  Removal& operator=(const Removal&) = delete;

 private:
  std::uint64_t met_ = 0;  // A bit for each place of the table.
  std::uint64_t moments_[discard_parts];
};

// Gives pages of a region of the table back: the next touch of each is a fault. Whole pages. 0 or a
// positive errno, as madvise(2).
int discard(std::uintptr_t begin, std::size_t bytes, std::uint64_t called) noexcept;

// Fits a range that Linux is about to remove to large pages, as Linux does for its huge pages:
// EINVAL if it begins within one; if it ends within one, the page stays, and `bytes` becomes less.
// 0 otherwise.
int fit_to_pages(std::uintptr_t begin, std::size_t& bytes) noexcept;

// Counts a fault that its own thread resolved.
void count_in_place(std::uintptr_t address) noexcept;

// Does any region exist? One load: the only cost of this module while it is unused.
namespace demand_pages_detail {
inline constinit std::atomic<std::uint32_t> regions{0};  // Not free.
}
[[nodiscard]] inline bool any_region() noexcept {
  return demand_pages_detail::regions.load(std::memory_order_relaxed) != 0;
}

enum class Reading : std::uint8_t {
  cached_only,  // Only data in memory: for a file, in the page cache.
  blocking,     // May wait for a disk.
};

struct Populated {
  std::size_t bytes = 0;         // Present now, from `begin` on; whole pages.
  int error = 0;                 // The reason why the rest is missing: a positive errno, or 0.
  std::size_t placed_bytes = 0;  // The part that was missing before.
};

// Fills the pages of [begin, begin + bytes), which may extend from one region into the next.
// Present pages stay unchanged. `staging` is a buffer of at least a page; a larger one makes files
// faster. Errors:
//   EFAULT  no region there         ESTALE  the region was retired
//   EAGAIN  cached_only, and the page's source is not in memory
//   ENXIO   the file ends before the page
//   ENOMEM  no page available; others as pread(2)
Populated populate(std::uintptr_t begin, std::size_t bytes, PageAccess access, Reading reading,
                   std::span<std::byte> staging) noexcept;

// As populate(), for the missing parts of a range that lie in a region; other parts of the range
// are ignored. Returns 0 or a positive errno.
int populate_missing(std::uintptr_t begin, std::size_t bytes, PageAccess access,
                     Reading reading) noexcept;

// Does any kernel run?
[[nodiscard]] bool kernels_run() noexcept;

// Encloses a launch: retired ranges are kept during launches.
class KernelRuns {
 public:
  KernelRuns() noexcept;
  ~KernelRuns();
  KernelRuns(const KernelRuns&) = delete;
  KernelRuns& operator=(const KernelRuns&) = delete;
};

}  // namespace k2k::backend
