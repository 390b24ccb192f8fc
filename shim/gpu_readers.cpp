#include "shim/gpu_readers.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace k2k::shim {
namespace {

using router::FileReader;

static_assert(static_cast<int>(router::Vendor::cuda) == k2k_io_cuda);
static_assert(static_cast<int>(router::Vendor::hip) == k2k_io_hip);

struct Vendor {
  const char* name;
  router::Vendor vendor;
  std::atomic<bool> tried{false};
  std::atomic<FileReader*> made{nullptr};  // `registered` owns it.
};

std::mutex making;
Vendor vendors[] = {{"CUDA", router::Vendor::cuda}, {"HIP", router::Vendor::hip}};
const router::FilesOptions* options = nullptr;
router::RegisteredMemory* registered = nullptr;

Vendor* vendor_of(int kind) {
  for (Vendor& vendor : vendors) {
    if (static_cast<int>(vendor.vendor) == kind) return &vendor;
  }
  return nullptr;
}

}  // namespace

void set_up_gpu_readers(const router::FilesOptions& wanted, router::RegisteredMemory& memory) {
  options = &wanted;
  registered = &memory;
}

FileReader* gpu_reader(int kind) {
  Vendor* const vendor = vendor_of(kind);
  if (vendor == nullptr) return nullptr;
  if (vendor->tried.load(std::memory_order_acquire)) {
    return vendor->made.load(std::memory_order_acquire);
  }
  const std::lock_guard lock(making);
  if (vendor->tried.load(std::memory_order_relaxed)) {
    return vendor->made.load(std::memory_order_relaxed);
  }
  Result<std::unique_ptr<FileReader>> reader =
      router::make_vendor_reader({.vendor = vendor->vendor}, *options);
  if (reader) {
    std::shared_ptr<FileReader> kept = std::move(reader).value();
    vendor->made.store(kept.get(), std::memory_order_release);
    registered->keep(std::move(kept));
  } else {
    ::dprintf(STDERR_FILENO, "k2k_io: %s; calls with memory of %s go to libc\n",
              reader.error().message.c_str(), vendor->name);
  }
  vendor->tried.store(true, std::memory_order_release);
  return vendor->made.load(std::memory_order_relaxed);
}

void gpu_readers_after_fork_child() {
  new (&making) std::mutex;  // Another thread of the parent may have held the lock.
}

}  // namespace k2k::shim
