#pragma once
// CUDA's driver for a benchmark: a context of this thread, a stream, memory of the device and
// pinned memory of the host.
//
// Threading: one thread, which made it.

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "io/memory/cuda_calls.hpp"

namespace k2k::bench {

class CudaDriver {
 public:
  // Errors: ENODEV, no driver or no device; EIO, from the driver.
  static Result<std::unique_ptr<CudaDriver>> start() {
    const Result<io::cuda::Calls> calls = io::cuda::Calls::load("libcuda.so.1");
    if (!calls) return calls.error();
    auto driver = std::unique_ptr<CudaDriver>(new CudaDriver(calls.value()));
    if (Status status = driver->begin(); !status) return status.error();
    return driver;
  }
  ~CudaDriver() {
    for (void* memory : pinned_) calls_.host_free(memory);
    for (const io::cuda::Address memory : device_) calls_.device_free(memory);
    if (stream_ != nullptr) calls_.stream_destroy(stream_);
    if (context_ != nullptr) calls_.context_release(0);
  }
  CudaDriver(const CudaDriver&) = delete;
  CudaDriver& operator=(const CudaDriver&) = delete;

  // Both live as long as the object. Errors: ENOMEM, others as start().
  Result<std::span<std::byte>> pinned(std::size_t bytes) {
    void* memory = nullptr;
    const int code = calls_.host_alloc(&memory, bytes, io::cuda::host_alloc_portable);
    if (code != io::cuda::success) return failed("pin host memory", code);
    pinned_.push_back(memory);
    return std::span(static_cast<std::byte*>(memory), bytes);
  }
  // Of cuMemAlloc. The address is never dereferenced here.
  Result<std::byte*> device(std::size_t bytes) {
    io::cuda::Address address = 0;
    const int code = calls_.device_alloc(&address, bytes);
    if (code != io::cuda::success) return failed("allocate device memory", code);
    device_.push_back(address);
    return reinterpret_cast<std::byte*>(address);
  }

  // Begin a copy; wait() waits for all. Memory of the host that is not pinned is copied by the
  // driver through its own buffers.
  Status copy_in(std::byte* device, const std::byte* host, std::size_t bytes) {
    return status_of("copy to the device",
                     calls_.copy_in(address_of(device), host, bytes, stream_));
  }
  Status copy_out(std::byte* host, const std::byte* device, std::size_t bytes) {
    return status_of("copy from the device",
                     calls_.copy_out(host, address_of(device), bytes, stream_));
  }
  Status wait() { return status_of("wait", calls_.stream_synchronize(stream_)); }

 private:
  explicit CudaDriver(const io::cuda::Calls& calls) : calls_(calls) {}

  static io::cuda::Address address_of(const std::byte* device) {
    return reinterpret_cast<io::cuda::Address>(device);
  }
  Status begin() {
    int code = calls_.context_retain(&context_, 0);
    if (code != io::cuda::success) return failed("retain the device's context", code);
    code = calls_.context_set(context_);
    if (code != io::cuda::success) return failed("set the device's context", code);
    code = calls_.stream_create(&stream_, io::cuda::stream_non_blocking);
    return status_of("make a stream", code);
  }
  [[nodiscard]] Error failed(const char* what, int code) const {
    return Error{io::cuda::errno_of(code), std::string("CUDA: cannot ") + what + ": " +
                                               calls_.words(code) + "; see nvidia-smi"};
  }
  [[nodiscard]] Status status_of(const char* what, int code) const {
    return code == io::cuda::success ? Status() : Status(failed(what, code));
  }

  io::cuda::Calls calls_;
  io::cuda::Handle context_ = nullptr;
  io::cuda::Handle stream_ = nullptr;
  std::vector<void*> pinned_;
  std::vector<io::cuda::Address> device_;
};

}  // namespace k2k::bench
