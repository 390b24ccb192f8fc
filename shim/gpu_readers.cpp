#include "shim/gpu_readers.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "io/memory/cuda_memory.hpp"
#include "io/memory/hip_memory.hpp"
#include "router/profile/profile.hpp"

namespace k2k::shim {
namespace {

using router::DeviceReader;
using router::DirectPath;
using MadeMemory = Result<std::unique_ptr<io::DeviceMemory>>;

struct Vendor {
  const char* name;
  const char* library;  // For direct transfers, as K2K_IO_DIRECT names it.
  DirectPath by_library;
  MadeMemory (*make_memory)();
  std::atomic<bool> tried{false};
  std::atomic<DeviceReader*> made{nullptr};
};

std::mutex making;
Vendor vendors[] = {
    {"CUDA", "cufile", DirectPath::cufile, [] { return io::make_cuda_memory(); }},
    {"HIP", "hipfile", DirectPath::hipfile, [] { return io::make_hip_memory(); }},
};

Vendor* vendor_of(int kind) {
  if (kind == k2k_io_cuda) return &vendors[0];
  return kind == k2k_io_hip ? &vendors[1] : nullptr;
}

Result<DirectPath> direct_path(const Vendor& vendor) {
  const char* const wanted = ::secure_getenv("K2K_IO_DIRECT");
  const std::string path = wanted == nullptr ? "" : wanted;
  if (path.empty()) return DirectPath::automatic;
  if (path == "staging") return DirectPath::staging;
  if (path == vendor.library) return vendor.by_library;
  return Error{EINVAL,
               "K2K_IO_DIRECT is '" + path + "': permitted are staging and " + vendor.library};
}

Result<std::unique_ptr<DeviceReader>> make(const Vendor& vendor) {
  const Result<DirectPath> path = direct_path(vendor);
  if (!path) return path.error();
  MadeMemory memory = vendor.make_memory();
  if (!memory) return memory.error();
  return DeviceReader::create(std::move(memory).value(), {.model_of = router::calibrated_model_by,
                                                          .paths = {.direct = path.value()}});
}

}  // namespace

DeviceReader* gpu_reader(int kind) {
  Vendor* const vendor = vendor_of(kind);
  if (vendor == nullptr) return nullptr;
  if (vendor->tried.load(std::memory_order_acquire)) {
    return vendor->made.load(std::memory_order_acquire);
  }
  const std::lock_guard lock(making);
  if (vendor->tried.load(std::memory_order_relaxed)) {
    return vendor->made.load(std::memory_order_relaxed);
  }
  Result<std::unique_ptr<DeviceReader>> reader = make(*vendor);
  if (reader) {
    vendor->made.store(std::move(reader).value().release(), std::memory_order_release);
  } else {
    ::dprintf(STDERR_FILENO, "k2k_io: %s; calls with memory of %s go to libc\n",
              reader.error().message.c_str(), vendor->name);
  }
  vendor->tried.store(true, std::memory_order_release);
  return vendor->made.load(std::memory_order_relaxed);
}

std::array<DeviceReader*, 2> gpu_readers_made() {
  return {vendors[0].made.load(std::memory_order_acquire),
          vendors[1].made.load(std::memory_order_acquire)};
}

void gpu_readers_after_fork_child() {
  new (&making) std::mutex;  // Another thread of the parent may have held it.
  for (DeviceReader* const reader : gpu_readers_made()) {
    if (reader != nullptr) reader->after_fork_child();
  }
}

}  // namespace k2k::shim
