#pragma once
// Engines (engine.hpp) for device memory that the CPU cannot address.
//
//   make_staging   any engine reads into a ring of pinned buffers, the device copies them away
//   make_bar       this thread reads, and stores into the device's mapped memory (PCI BAR)
//   make_gpu_file  cuFile, hipFile: gpu_file.hpp
//
//   staging, reads    file ──files engine──▶ buffer ──copy_in──▶ device
//   staging, writes   file ◀──files engine── buffer ◀──copy_out── device
//
// A transfer is divided into parts of one buffer each, at multiples of a buffer in the file. Parts
// are read concurrently and copied in the file's order while others are read; they are written one
// after the other. The result counts the bytes up to the first short part; it is an error if no
// byte came before that error. Nothing behind the short part is changed, neither in the file nor in
// the device's memory (except by copies in flight when an earlier one failed). A write that fits a
// single part is one call of Linux, a longer write is several.
//
// make_staging has no thread: submit() and poll() begin copies. Its destructor waits for transfers
// in flight; parts that have not begun are abandoned.
//
// Threading: as every engine. The device memory must outlive the engine.

#include <memory>
#include <string>
#include <vector>

#include "io/engine/engine.hpp"
#include "io/memory/device_memory.hpp"

namespace k2k::io {

struct StagingConfig {
  std::uint32_t outstanding = 64;          // Transfers. 1 to 4096.
  std::uint32_t buffers = 8;               // Pinned; the limit of parts read or copied at a time. 1
                                           // to 256.
  std::size_t buffer_bytes = 1024 * 1024;  // A multiple of 4096, up to 64 MiB.
};

// `files` moves data between files and the buffers, and must accept at least as many transfers as
// there are buffers: make_direct() for descriptors with O_DIRECT, make_buffered() or make_pool()
// for the page cache.
// Errors: EINVAL, a number out of its range. Others as DeviceMemory::make_queue().
Result<std::unique_ptr<Engine>> make_staging(DeviceMemory& memory, std::unique_ptr<Engine> files,
                                             const StagingConfig& config = {});

// The transfer is complete when submit() returns. Reading is fast (non-temporal stores); writing is
// correct but slow, because the CPU loads from the device.
// Errors: EINVAL, as make_buffered(). EOPNOTSUPP: the device's memory cannot be mapped. ENOMEM.
Result<std::unique_ptr<Engine>> make_bar(DeviceMemory& memory, std::uint32_t outstanding);

// One engine, for one memory.
struct EngineChoice {
  std::string name;
  bool there = false;
  std::string says;  // The reason why it is unavailable, and the remedy; or its function.
};

// The names that are given to the loader.
struct VendorLibraries {
  std::string cuda = "libcuda.so.1";
  std::string cufile = "libcufile.so.0";
  std::string hipfile = "libhipfile.so.0";
};

// Every engine, and whether it can transfer file data to this memory here. Opens and closes each
// engine, which takes as long as the vendors' libraries take.
std::vector<EngineChoice> engines_for(DeviceMemory& memory, const VendorLibraries& libraries = {},
                                      const std::string& proc = "/proc");

}  // namespace k2k::io
