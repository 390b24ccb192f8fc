#pragma once
// cuFile (NVIDIA GPUDirect Storage) and hipFile (AMD), loaded by name: files to and from a GPU's
// memory by the vendor's own library and driver.
//
//   GpuFileDriver   the library, opened; knows files and memory that are registered with it
//   make_gpu_file   an engine of threads, for its calls wait
//
// Both have the same interface but for the names (hipFile mirrors cuFile, codes from 5000 on), so
// what is here serves both. Its declarations: gpu_file_calls.hpp.
//
// libcufile 1.20 spins for ever in cuFileDriverOpen() where there is no libcuda.so.1 (1.14 answers
// 5033), so CUDA's driver is started first, and without a device the library is not opened.
//
// UNVERIFIED ON HARDWARE: run against a library of the tests' own; with NVIDIA's, of cuFile the
// look-up of its symbols and its refusal without a GPU. hipFile's was never loaded.
//
// Threading: any thread. A child of fork() may only destroy what its parent made.

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
  std::string cuda_library = "libcuda.so.1";  // Must start before cuFile's. Of hipFile unused.
  std::string proc = "/proc";                 // Where nvidia-fs shows itself.
};

class GpuFileDriver {
 public:
  // ENOENT: the library is not there. ENOSYS: it lacks a function. ENODEV: no GPU, or no driver
  // that starts. EOPNOTSUPP, EACCES, EIO, ...: as the library's driver says.
  static Result<std::shared_ptr<GpuFileDriver>> open(const GpuFileConfig& config);
  GpuFileDriver() = default;
  virtual ~GpuFileDriver() = default;
  GpuFileDriver(const GpuFileDriver&) = delete;
  GpuFileDriver& operator=(const GpuFileDriver&) = delete;

  // Transfers within this memory then need no buffers of the library's. EEXIST: it is registered.
  // ENOMEM: it cannot be pinned (the BAR is too small). EFAULT: no memory of the GPU's. ENOSPC: 256
  // ranges are registered.
  virtual Status register_memory(std::byte* base, std::size_t bytes) = 0;
  virtual Status unregister_memory(std::byte* base) = 0;  // ENOENT: it is not.

  // Waits until it is done: bytes, or a negative errno. EOPNOTSUPP: not this file. A descriptor is
  // registered by its first transfer.
  virtual std::int64_t transfer(const Transfer& transfer) = 0;
  // The descriptor is about to be closed. No transfer of it is under way.
  virtual void closing(int descriptor) = 0;

  [[nodiscard]] virtual const char* name() const = 0;  // "cufile", "hipfile"
  // A remark on the mode of operation, one line; or empty.
  [[nodiscard]] virtual std::string note() const = 0;
};

// `enter_thread` is called by each thread first: cuFile wants the GPU's context to be current
// (cuda_context_setter()). Errors: as make_pool().
Result<std::unique_ptr<Engine>> make_gpu_file(std::shared_ptr<GpuFileDriver> driver,
                                              std::uint32_t outstanding, std::uint32_t threads,
                                              std::function<void()> enter_thread = {});

}  // namespace k2k::io
