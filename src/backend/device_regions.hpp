#pragma once
// Demand regions of a device that brings pages in by itself, without a request:
//
//   by Linux     the device reaches pages of the process (DeviceInfo::reaches_host_pages): the
//                region is a mapping of Linux, which reads a file's page at the first access
//   by a driver  the device faults on managed memory: the region is filled when it is made, and
//                the driver moves a page to the device at the first access
//
// userfaultfd(2) serves neither: Linux resolves a device's fault in a way that may not wait, and
// answers SIGBUS for a page that a process would have to fill.
//
// Threading: everything from anywhere.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "backend/region.hpp"
#include "base/result.hpp"

namespace k2k::backend {

// A region by Linux. A copy is made at once, and so is that of a file from an offset that is no
// multiple of a page. Errors: as create_region() (demand_pages.hpp); ENXIO (such a file ends).
Result<RegionHandle> map_region(const RegionPlan& plan);

// Fills a managed region's memory, which is zero, from the plan's source. Errors: ENXIO (the file
// ends before the last page), as pread(2).
Status fill_region(const RegionPlan& plan, std::byte* memory);

// Resolves the faults of [begin, begin + bytes). 0 or a positive errno: ENXIO (the file ends
// before), ENOMEM.
int touch_pages(std::uintptr_t begin, std::size_t bytes) noexcept;

// Gives pages back, whose next access brings their content in anew. 0 or a positive errno: ENOTSUP
// (the pages were filled when the region was made), as madvise(2).
int discard_pages(const std::shared_ptr<void>& pages, std::uintptr_t begin,
                  std::size_t bytes) noexcept;

// Gives the memory back as soon as no kernel runs. Does not wait.
void retire_pages(std::shared_ptr<void> pages);
// By KernelRuns, when the last kernel has ended.
void free_retired_pages();

}  // namespace k2k::backend
