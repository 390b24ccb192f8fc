#include "backend/device_regions.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "backend/demand_pages.hpp"
#include "backend/page_filling.hpp"

namespace k2k::backend {

namespace {

// Linux 5.14. <sys/mman.h> of Debian 12 has it; programs may be compiled with an older one.
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

constinit std::mutex retired_mutex;
// Made by the first region that retires, and never destroyed. A launch makes nothing, because there
// may be no memory.
constinit std::atomic<std::vector<std::shared_ptr<void>>*> retired{nullptr};

// Its owner ends without giving it back.
union Kept {
  explicit Kept(std::shared_ptr<void> given) : pages(std::move(given)) {}
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept() {}  // NOLINT(modernize-use-equals-default): this one runs no destructor.

  std::shared_ptr<void> pages;
};

void retire(std::shared_ptr<void>&& pages) noexcept {
  auto* list = retired.load(std::memory_order_relaxed);
  if (list == nullptr) {
    list = new (std::nothrow) std::vector<std::shared_ptr<void>>;
    retired.store(list, std::memory_order_release);  // Pairs with free_retired_pages().
  }
  try {
    if (list != nullptr) return list->push_back(std::move(pages));
  } catch (const std::bad_alloc&) {
    list = nullptr;
  }
  const Kept addresses(std::move(pages));  // For ever: there is no memory to note them.
}

// In a child the parent's thread that held it is not.
void renew_retired_mutex() { new (&retired_mutex) std::mutex; }
[[maybe_unused]] const int renews_retired_mutex =
    ::pthread_atfork(nullptr, nullptr, renew_retired_mutex);

std::string name_of(const RegionPlan& plan) { return "demand region '" + plan.name + "': "; }

// Pages of the process. A retired mapping becomes addresses that no access is permitted to.
struct Unmap {
  std::size_t bytes;
  bool filled_by_linux;  // Zeros, or a file; not a copy that was made with the region.
  void operator()(void* data) const { ::munmap(data, bytes); }
};

Status copy_file(const RegionPlan& plan, std::byte* memory) {
  std::size_t done = 0;
  while (done < plan.bytes) {
    const ssize_t count = ::pread(plan.descriptor, memory + done, plan.bytes - done,
                                  plan.offset + static_cast<std::int64_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int code = errno;
      return Error{code, name_of(plan) + "descriptor " + std::to_string(plan.descriptor) +
                             " cannot be read: " + std::strerror(code)};
    }
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  if (done + plan.page_bytes > plan.bytes) return {};
  return Error{
      ENXIO, name_of(plan) + "the file ends " + std::to_string(done) +
                 " bytes behind the offset; ask for " +
                 std::to_string((done + plan.page_bytes - 1) / plan.page_bytes * plan.page_bytes) +
                 " bytes"};
}

}  // namespace

Status fill_region(const RegionPlan& plan, std::byte* memory) {
  if (plan.source == PageSource::copy) std::memcpy(memory, plan.copy_from, plan.bytes);
  return plan.source == PageSource::file ? copy_file(plan, memory) : Status();
}

Result<RegionHandle> map_region(const RegionPlan& plan) {
  if (Status fits = check(plan); !fits) return fits.error();
  const bool maps_file = plan.source == PageSource::file && plan.offset % demand_page_bytes == 0;
  void* const data = maps_file ? ::mmap(nullptr, plan.bytes, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_NORESERVE, plan.descriptor, plan.offset)
                               : map_pages(plan.bytes, plan.page_bytes);
  if (data == MAP_FAILED) {
    const int code = errno;
    if (code == EBADF || code == EACCES || code == ENODEV) {
      return Error{code, name_of(plan) + "descriptor " + std::to_string(plan.descriptor) +
                             " cannot be mapped: " + std::strerror(code)};
    }
    return Error{code, name_of(plan) + "no address space for " + std::to_string(plan.bytes) +
                           " bytes: " + std::strerror(code) + "; ask for less (see ulimit -v)"};
  }
  std::shared_ptr<void> pages(data,
                              Unmap{plan.bytes, maps_file || plan.source == PageSource::zero});
  if (plan.page_bytes != demand_page_bytes) ::madvise(data, plan.bytes, MADV_HUGEPAGE);
  if (!maps_file) {
    if (Status filled = fill_region(plan, static_cast<std::byte*>(data)); !filled) {
      return filled.error();
    }
  }
  // As a region of the table: in a child of fork() its addresses are not there.
  ::madvise(data, plan.bytes, MADV_DONTFORK);
  return RegionHandle{0, static_cast<std::byte*>(data), std::move(pages)};
}

int touch_pages(std::uintptr_t begin, std::size_t bytes) noexcept {
  if (bytes == 0) return 0;
  const std::uintptr_t first = begin / demand_page_bytes * demand_page_bytes;
  if (::madvise(reinterpret_cast<void*>(first), begin + bytes - first, MADV_POPULATE_WRITE) == 0) {
    return 0;
  }
  // EINVAL: memory of a driver, or an older Linux; both serve the faults of a system call.
  return errno == EINVAL ? 0 : errno == EFAULT ? ENXIO : errno;
}

int discard_pages(const std::shared_ptr<void>& pages, std::uintptr_t begin,
                  std::size_t bytes) noexcept {
  const auto* const mapping = std::get_deleter<Unmap>(pages);
  if (mapping == nullptr || !mapping->filled_by_linux) return ENOTSUP;
  return ::madvise(reinterpret_cast<void*>(begin), bytes, MADV_DONTNEED) == 0 ? 0 : errno;
}

void retire_pages(std::shared_ptr<void> pages) {
  {
    const std::lock_guard lock(retired_mutex);
    if (const auto* const unmap = std::get_deleter<Unmap>(pages); unmap != nullptr) {
      // Its memory is returned now; a kernel's late access is an error, not another owner's memory.
      ::mmap(pages.get(), unmap->bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    }
    retire(std::move(pages));
  }
  if (!kernels_run()) free_retired_pages();
}

void free_retired_pages() {
  if (retired.load(std::memory_order_acquire) == nullptr) return;
  std::vector<std::shared_ptr<void>> gone;
  const std::lock_guard lock(retired_mutex);
  if (!kernels_run()) gone.swap(*retired);
}

}  // namespace k2k::backend
