#pragma once
// The engines that move file data to a device's memory that the CPU cannot address.
//
//   cached   bar where the memory is mapped for the CPU, else staging over buffered
//   direct   cuFile or hipFile where they are there, else staging over io::make_direct()
//
// Staging accepts any address and length: only the offset in the file must be aligned.
//
// CUDA's memory was verified on an H200 (docs/results/gpu.md), cuFile there in compatibility mode
// alone. hipFile and cuFile with nvidia-fs: UNVERIFIED ON HARDWARE.
//
// Threading: any thread, once created. The device memory outlives it and its engines.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "io/gpu/device_engines.hpp"
#include "io/gpu/gpu_file.hpp"
#include "io/memory/host_copies.hpp"

namespace k2k::router {

enum class DirectPath : std::uint8_t {
  automatic,  // The vendor's library if it is there and copies nothing through the host; staging.
  staging,
  cufile,
  hipfile,
};

struct DevicePathsConfig {
  DirectPath direct = DirectPath::automatic;
  std::uint32_t buffers = 8;                        // Of the direct engine, pinned. 1 to 256.
  std::size_t buffer_bytes = std::size_t{1} << 20;  // A multiple of 4096, up to 64 MiB.
  io::VendorLibraries libraries{};
  std::string proc = "/proc";  // Where nvidia-fs shows itself.
};

class DevicePaths {
 public:
  // Pinned buffers of make_long_copies().
  static constexpr std::uint32_t long_copy_buffers = 16;

  // ENODEV, ENOENT, ...: the library that `direct` asks for is not there, as
  // io::GpuFileDriver::open() says; `automatic` takes staging instead.
  static Result<DevicePaths> create(io::DeviceMemory& memory, const DevicePathsConfig& config);

  // The engine that models and profiles belong to: "cuda-staging-uring", "cuda-cufile".
  [[nodiscard]] const std::string& name() const { return name_; }

  // EINVAL: the configuration's numbers. ENOMEM, EIO, ENODEV: as io::DeviceMemory::make_queue().
  // EAGAIN: no thread can be started.
  [[nodiscard]] Result<std::unique_ptr<io::Engine>> make_cached() const;
  [[nodiscard]] Result<std::unique_ptr<io::Engine>> make_direct() const;
  [[nodiscard]] Result<io::HostCopies> make_copies() const;
  // Copies with more pinned buffers: room for a long write.
  [[nodiscard]] Result<io::HostCopies> make_long_copies() const;

  // A twin that direct transfers were made by is about to be closed.
  void closing(int descriptor) const;

 private:
  DevicePaths(io::DeviceMemory& memory, const DevicePathsConfig& config)
      : memory_(&memory), config_(config) {}
  Status open_driver();
  Status open_driver(io::GpuFileKind kind);
  [[nodiscard]] Result<std::unique_ptr<io::Engine>> staged(
      Result<std::unique_ptr<io::Engine>> files, std::uint32_t buffers) const;

  io::DeviceMemory* memory_;
  DevicePathsConfig config_;
  std::string name_;
  std::shared_ptr<io::GpuFileDriver> driver_;  // Null: staging.
  std::function<void()> enter_thread_;
};

}  // namespace k2k::router
