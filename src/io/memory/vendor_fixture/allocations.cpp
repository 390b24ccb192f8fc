// The entries that allocate and free, of CUDA's runtime and driver and of HIP. The runtime's call
// the driver's by name, as a library might that is linked to it.

#include "io/memory/vendor_fixture/allocations.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "io/memory/vendor_fixture/control.hpp"

extern "C" k2k::io::vendor::Control k2k_vendor;

namespace k2k::io::vendor {

namespace {

constexpr std::size_t room = std::size_t{1} << 30;
constexpr std::size_t granule = 65536;
constexpr int invalid_value = 1;
constexpr int out_of_memory = 2;

class Memory {
 public:
  Memory() {
    const int file = ::memfd_create("device", MFD_CLOEXEC);
    if (::ftruncate(file, room) != 0) std::abort();
    addresses_ = mapped(file, PROT_NONE);
    inside_ = mapped(file, PROT_READ | PROT_WRITE);
    ::close(file);
  }

  // The lowest gap, so that addresses are used again. Null: full.
  std::byte* allocate(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    std::size_t at = 0;
    for (const auto& [first, size] : allocations_) {
      if (first - at >= bytes) break;
      at = (first + size + granule - 1) / granule * granule;
    }
    if (bytes > room - at) return nullptr;
    allocations_[at] = bytes;
    return addresses_ + at;
  }
  bool free(const std::byte* address) {
    const std::lock_guard lock(mutex_);
    return is_ours(address) &&
           allocations_.erase(static_cast<std::size_t>(address - addresses_)) == 1;
  }
  std::byte* inside(const std::byte* address, std::size_t bytes) {
    if (!is_ours(address)) return const_cast<std::byte*>(address);
    const std::lock_guard lock(mutex_);
    const auto at = static_cast<std::size_t>(address - addresses_);
    const auto behind = allocations_.upper_bound(at);
    if (behind == allocations_.begin()) return nullptr;
    const auto& [first, size] = *std::prev(behind);
    return at + bytes <= first + size ? inside_ + at : nullptr;
  }

 private:
  [[nodiscard]] bool is_ours(const std::byte* address) const {
    return address >= addresses_ && address < addresses_ + room;
  }
  static std::byte* mapped(int file, int access) {
    void* const place = ::mmap(nullptr, room, access, MAP_SHARED, file, 0);
    if (place == MAP_FAILED) std::abort();
    return static_cast<std::byte*>(place);
  }

  std::byte* addresses_ = nullptr;
  std::byte* inside_ = nullptr;
  std::mutex mutex_;
  std::map<std::size_t, std::size_t> allocations_;  // Bytes, by their place.
};

Memory& memory() {
  static Memory* const all = new Memory;  // Never destroyed: programs free memory until their end.
  return *all;
}

}  // namespace

std::byte* inside(const void* address, std::size_t bytes) {
  return memory().inside(static_cast<const std::byte*>(address), bytes);
}

}  // namespace k2k::io::vendor

using namespace k2k::io::vendor;

extern "C" {

#define K2K_VENDOR(name, ...) __attribute__((visibility("default"))) int name(__VA_ARGS__)

K2K_VENDOR(cuMemAlloc_v2, unsigned long long* address, std::size_t bytes) {
  if (const int code = told("cuMemAlloc_v2"); code != 0) return code;
  if (bytes == 0) return invalid_value;
  std::byte* const made = memory().allocate(bytes);
  if (made == nullptr) return out_of_memory;
  *address = reinterpret_cast<unsigned long long>(made);
  ++k2k_vendor.allocations;
  return 0;
}
K2K_VENDOR(cuMemFree_v2, unsigned long long address) {
  if (const int code = told("cuMemFree_v2"); code != 0) return code;
  if (!memory().free(reinterpret_cast<const std::byte*>(address))) return invalid_value;
  --k2k_vendor.allocations;
  return 0;
}
K2K_VENDOR(cuMemFreeAsync, unsigned long long address, void* stream) {
  k2k_vendor.last_stream = stream;
  return cuMemFree_v2(address);
}

K2K_VENDOR(cudaMalloc, void** address, std::size_t bytes) {
  unsigned long long made = 0;
  if (const int code = cuMemAlloc_v2(&made, bytes); code != 0) return code;
  *address = reinterpret_cast<void*>(made);
  return 0;
}
K2K_VENDOR(cudaFree, void* address) {
  return address == nullptr ? 0 : cuMemFree_v2(reinterpret_cast<unsigned long long>(address));
}
K2K_VENDOR(cudaFreeAsync, void* address, void* stream) {
  k2k_vendor.last_stream = stream;
  return cudaFree(address);
}
K2K_VENDOR(cudaMallocManaged, void** address, std::size_t bytes, unsigned flags) {
  if (flags != 1) return invalid_value;
  *address = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  return *address == nullptr ? out_of_memory : 0;
}
// Like the driver: independent of streams, and complete on return.
K2K_VENDOR(cudaMemcpy, void* to, const void* from, std::size_t bytes, int) {
  std::byte* const target = inside(to, bytes);
  const std::byte* const source = inside(from, bytes);
  if (target == nullptr || source == nullptr) return invalid_value;
  std::memcpy(target, source, bytes);
  return 0;
}
// In the order of a stream; the stream is idle, so at once.
K2K_VENDOR(cuMemAllocAsync, unsigned long long* address, std::size_t bytes, void* stream) {
  k2k_vendor.last_stream = stream;
  return cuMemAlloc_v2(address, bytes);
}
K2K_VENDOR(cuMemAllocFromPoolAsync, unsigned long long* address, std::size_t bytes, void* pool,
           void* stream) {
  k2k_vendor.last_pool = pool;
  return cuMemAllocAsync(address, bytes, stream);
}
K2K_VENDOR(cudaMallocAsync, void** address, std::size_t bytes, void* stream) {
  unsigned long long made = 0;
  if (const int code = cuMemAllocAsync(&made, bytes, stream); code != 0) return code;
  *address = reinterpret_cast<void*>(made);
  return 0;
}
K2K_VENDOR(cudaMallocFromPoolAsync, void** address, std::size_t bytes, void* pool, void* stream) {
  k2k_vendor.last_pool = pool;
  return cudaMallocAsync(address, bytes, stream);
}
K2K_VENDOR(hipMallocAsync, void** address, std::size_t bytes, void* stream) {
  return cudaMallocAsync(address, bytes, stream);
}
K2K_VENDOR(hipMallocFromPoolAsync, void** address, std::size_t bytes, void* pool, void* stream) {
  return cudaMallocFromPoolAsync(address, bytes, pool, stream);
}
K2K_VENDOR(hipFreeAsync, void* address, void* stream) { return cudaFreeAsync(address, stream); }
// Rows are 512 bytes apart, or a multiple.
K2K_VENDOR(cudaMallocPitch, void** address, std::size_t* pitch, std::size_t width,
           std::size_t height) {
  *pitch = (width + 511) / 512 * 512;
  return cudaMalloc(address, *pitch * height);
}
K2K_VENDOR(hipMalloc, void** address, std::size_t bytes) { return cudaMalloc(address, bytes); }
K2K_VENDOR(hipFree, void* address) { return cudaFree(address); }

}  // extern "C"
