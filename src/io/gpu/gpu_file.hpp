#pragma once
// cuFile (NVIDIA GPUDirect Storage) and hipFile (AMD), loaded by name: files to and from a GPU's
// memory by the vendor's own library and driver.
//
//   GpuFileDriver   the opened library, with the files and memory that are registered with it
//   make_gpu_file   an engine of threads, because its calls wait
//
// Both have the same interface except for the names (hipFile mirrors cuFile, codes from 5000 on),
// so this code serves both. The declarations: gpu_file_calls.hpp.
//
// libcufile 1.20 spins for ever in cuFileDriverOpen() where there is no /proc/modules (gVisor,
// Linux without modules): there it is not opened. Neither is it without a device: CUDA's driver is
// started first.
//
// Run against a library of the tests; NVIDIA's cuFile 1.20 also on an H200, in compatibility mode
// (docs/results/gpu.md). UNVERIFIED ON HARDWARE: with nvidia-fs. hipFile's library was never
// loaded.
//
// Threading: any thread. A child of fork() may only destroy the engines that its parent made.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "io/engine/engine.hpp"

namespace k2k::io {

enum class GpuFileKind : std::uint8_t { cufile, hipfile };

const char* engine_name_of(GpuFileKind kind);  // "cufile", "hipfile"

struct GpuFileConfig {
  GpuFileKind kind = GpuFileKind::cufile;
  std::string library{};                      // Empty: libcufile.so.0, libhipfile.so.0.
  std::string cuda_library = "libcuda.so.1";  // Must start before cuFile's. Unused for hipFile.
  std::string proc = "/proc";  // nvidia-fs has its files there, and cuFile reads its modules.
};

// The remark of GpuFileDriver::note(), without the library, whose start may take long or for ever.
std::string note_of(const GpuFileConfig& config);

class GpuFileDriver {
 public:
  // Errors: ENOENT, the library is missing. ENOSYS: it lacks a function. ENODEV: no GPU, or no
  // working driver. EOPNOTSUPP, EACCES, EIO, ...: from the library's driver.
  static Result<std::shared_ptr<GpuFileDriver>> open(const GpuFileConfig& config);
  GpuFileDriver() = default;
  virtual ~GpuFileDriver() = default;
  GpuFileDriver(const GpuFileDriver&) = delete;
  GpuFileDriver& operator=(const GpuFileDriver&) = delete;

  // Transfers within this memory then need none of the library's buffers. Errors: EEXIST, it is
  // registered. ENOMEM: it cannot be pinned (the BAR is too small). EFAULT: not the GPU's memory.
  // ENOSPC: 256 ranges are registered.
  virtual Status register_memory(std::byte* base, std::size_t bytes) = 0;
  virtual Status unregister_memory(std::byte* base) = 0;  // ENOENT: it is not registered.

  // Waits until the transfer is complete; returns the bytes, or a negative errno. EOPNOTSUPP: this
  // file is not supported. The first transfer of a descriptor registers it.
  virtual std::int64_t transfer(const Transfer& transfer) = 0;
  // Call it before the descriptor is closed. Expects no transfer of it in flight.
  virtual void closing(int descriptor) = 0;

  [[nodiscard]] virtual const char* name() const = 0;  // "cufile", "hipfile"
  // A remark on the mode of operation, one line; or empty.
  [[nodiscard]] virtual std::string note() const = 0;
  // Why the library did not register the last file that it refused, one line; or empty.
  [[nodiscard]] virtual std::string refusal() const = 0;
};

// Each thread calls `enter_thread` first: cuFile requires that the GPU's context is current
// (cuda_context_setter()). Errors: as make_pool().
Result<std::unique_ptr<Engine>> make_gpu_file(std::shared_ptr<GpuFileDriver> driver,
                                              std::uint32_t outstanding, std::uint32_t threads,
                                              std::function<void()> enter_thread = {});

}  // namespace k2k::io
