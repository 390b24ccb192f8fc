#pragma once
// Engines (engine.hpp) whose transfers' memory is a device's that the CPU cannot address.
//
//   make_staging   any engine reads into a ring of pinned buffers, the device copies them away
//   make_bar       this thread reads, and stores into the device's mapped memory (PCI BAR)
//   make_gpu_file  cuFile, hipFile: gpu_file.hpp
//
//   staging, reads    file ──files engine──▶ buffer ──copy_in──▶ device
//   staging, writes   file ◀──files engine── buffer ◀──copy_out── device
//
// A transfer is cut into parts of a buffer each, at multiples of a buffer in the file. Parts are
// read side by side and copied in the file's order while others are read; they are written one
// after the other. The result counts the bytes up to the first part that stayed short; an error is
// the result if no byte came before it, and nothing behind it is touched, neither in the file nor
// in the device's memory (but for copies that were under way when one before them failed). What a
// single part holds is one kernel call, a longer write is several.
//
// make_staging has no thread: copies are begun in submit() and poll(). It is destroyed when what is
// under way has ended; parts that it has not begun are left undone.
//
// Threading: as every engine. The device memory outlives the engine.

#include <memory>
#include <string>
#include <vector>

#include "io/engine/engine.hpp"
#include "io/memory/device_memory.hpp"

namespace k2k::io {

struct StagingConfig {
  std::uint32_t outstanding = 64;          // Transfers. 1 to 4096.
  std::uint32_t buffers = 8;               // Pinned; what is read or copied at a time. 1 to 256.
  std::size_t buffer_bytes = 1024 * 1024;  // A multiple of 4096, up to 64 MiB.
};

// `files` moves data between files and the buffers, and takes at least as many transfers as there
// are buffers: make_direct() for descriptors with O_DIRECT, make_buffered() or make_pool() for the
// page cache.
// EINVAL: a number out of its range. Else as DeviceMemory::make_queue().
Result<std::unique_ptr<Engine>> make_staging(DeviceMemory& memory, std::unique_ptr<Engine> files,
                                             const StagingConfig& config = {});

// Done when submit() returns. Reading is fast (non-temporal stores), writing is right and slow: the
// CPU loads from the device.
// EINVAL: as make_buffered(). EOPNOTSUPP: the device's memory cannot be mapped. ENOMEM.
Result<std::unique_ptr<Engine>> make_bar(DeviceMemory& memory, std::uint32_t outstanding);

// Of one engine for one memory.
struct EngineChoice {
  std::string name;
  bool there = false;
  std::string says;  // Why it is not, and what mends it; or what it does.
};

// By the names under which the loader finds them.
struct VendorLibraries {
  std::string cuda = "libcuda.so.1";
  std::string cufile = "libcufile.so.0";
  std::string hipfile = "libhipfile.so.0";
};

// Every engine, and whether it brings file data to this memory here; opens and closes what it asks,
// which takes as long as the vendors' libraries take.
std::vector<EngineChoice> engines_for(DeviceMemory& memory, const VendorLibraries& libraries = {});

}  // namespace k2k::io
