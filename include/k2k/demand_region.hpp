#pragma once
// Memory of a program with pages that are filled when kernels first access them (thesis,
// section 4.5.2: on-demand faults instead of memory pinned in advance).
//
//   auto region = k2k::DemandRegion::file(runtime, fd, 0, bytes);
//   auto* data = region->as<const Record>();
//   runtime->launch(shape, [=] { use(data[k2k::global_rank()]); });   // Touched pages are read.
//
// A work-item that touches a missing page halts, and its unit runs others. The fault is a request
// to the runtime's server like any other, in its statistics as `fault_in`. Ordinary threads may
// touch the memory, too: they resolve their own faults. Kernels may pass the memory to system calls
// that have a row. System calls of the program itself return EFAULT for missing pages: populate()
// the pages first. Do not hold a lock of the program during an access that may fault: another
// work-item of the same thread may need the lock.
//
// That is the cpu backend. A GPU has no halt at a fault that K2K could serve: there a region is
// memory whose faults Linux or the GPU's driver resolves, without a request, and its counters are
// 0:
//
//   device.reaches_host_pages   a mapping of Linux: a file is read at the first access, a copy is
//                               made at once
//   device.faults_on_managed    managed memory: filled at once, moved page by page on access
//   neither                     refused, ENOTSUP
//
// Threading: members may be called from any thread. Kernels of every runtime in the process may use
// the memory. Destroying a region while a kernel uses it is safe: that launch ends with an error.

#if __cplusplus < 202002L
#error "<k2k/demand_region.hpp> needs C++20: compile with -std=c++20"
#else

#include <cstddef>
#include <cstdint>
#include <k2k/runtime.hpp>
#include <string>

#include "backend/region.hpp"
#include "base/api.hpp"
#include "base/result.hpp"

namespace k2k {

using backend::FaultHandling;

struct DemandRegionOptions {
  std::string name = "region";  // For messages; cut after 31 bytes.
  // `in_place` is the thesis' recommendation, section 4.5.1: no request and no hand-over, but the
  // unit's other work-items wait, and the server's accounts do not contain the fault.
  FaultHandling handling = FaultHandling::request;
  // 4,096 bytes or 2 MiB: what a fault fills and a discard gives back. Larger pages are fewer
  // faults, each for more memory. Linux translates a page of 2 MiB as one where it has such a page
  // to give
  // (/sys/kernel/mm/transparent_hugepage).
  std::size_t page_bytes = 4096;
};

class K2K_API DemandRegion {
 public:
  // `bytes` is a multiple of the options' `page_bytes`. The first region of a process installs a
  // handler for SIGBUS; destroying the last region removes it. Errors of all three functions:
  //   EINVAL   pages of another size; no bytes or no whole pages; no source; a negative offset;
  //            device.stack_bytes too small for a fault (the message names the least)
  //   ENOTSUP  the runtime's device has no page faults
  //   EPERM, ENOSYS  userfaultfd(2) is not available; the message names the setting
  //   ENOMEM   no address space      ENOSPC  64 regions exist      EBADF  the descriptor
  //   ENXIO    managed memory: the file ends before the last page; else as pread(2) and mmap(2)
  static Result<DemandRegion> zero(Runtime& runtime, std::size_t bytes,
                                   const DemandRegionOptions& options = {});
  // A private copy of the `bytes` at `from`, which must outlive the region. A page is copied at its
  // first access.
  static Result<DemandRegion> copy_of(Runtime& runtime, const void* from, std::size_t bytes,
                                      const DemandRegionOptions& options = {});
  // A private copy of the file from `offset` on. Zeros fill the page in which the file ends; an
  // access to a page beyond it ends the launch. `descriptor` is duplicated.
  static Result<DemandRegion> file(Runtime& runtime, int descriptor, std::int64_t offset,
                                   std::size_t bytes, const DemandRegionOptions& options = {});

  // Frees the pages. Waiting faults end their launch with ESTALE, which names the region; so do
  // later accesses of the launch in progress. Never waits for a file.
  ~DemandRegion();
  DemandRegion(DemandRegion&& other) noexcept;
  DemandRegion& operator=(DemandRegion&& other) noexcept;

  [[nodiscard]] std::byte* data() const { return handle_.data; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t page_bytes() const { return page_bytes_; }
  template <class T>
  [[nodiscard]] T* as() const {
    return reinterpret_cast<T*>(handle_.data);
  }

  // Fills the missing pages of [offset, offset + bytes), for a system call of the program itself.
  // May wait for a disk. Errors: EINVAL (not inside), ENXIO (the file ends before), ENOMEM, as
  // pread(2).
  Status populate(std::size_t offset, std::size_t bytes);

  // Gives the pages of [offset, offset + bytes) back, with what was written to them: the next touch
  // of each is a fault again, and brings its content in anew: zeros, or the source's. A touch that
  // begins after discard() has returned sees the source as it was when discard() began, or later.
  // A touch at the same time sees the old page or the new one. Kernels do the same by
  // madvise(MADV_DONTNEED), which rounds as Linux does for huge pages: EINVAL if it begins within a
  // page of 2 MiB, and such a page in which it ends stays. Waits for pages that are being placed,
  // not for a disk. Not for signal handlers. Errors, with nothing discarded:
  //   EINVAL   not inside, or not whole pages
  //   ENOTSUP  the device filled the region when it was made: managed memory. On a GPU that
  //            reaches pages of the host, a copy, and a file from an offset within a page
  //   ESTALE   this is a forked child, which has no region
  Status discard(std::size_t offset, std::size_t bytes);

  // Counters since the region was created.
  [[nodiscard]] backend::RegionCounters counters() const;

 private:
  K2K_INTERNAL DemandRegion(const backend::RegionHandle& handle, const backend::RegionPlan& plan);
  K2K_INTERNAL static Result<DemandRegion> create(Runtime& runtime,
                                                  const backend::RegionPlan& plan);

  backend::RegionHandle handle_;
  std::size_t bytes_ = 0;
  std::size_t page_bytes_ = 0;
  int creator_ = 0;  // The process that created the region.
};

}  // namespace k2k

#endif
