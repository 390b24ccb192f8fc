#pragma once
// The ways of file data into a GPU's memory, and back, that file_bench.cpp compares.
//
//   k2k               k2k_files_pread() into registered memory; router::Files::pwrite() from it
//   pinned            pread(2) into pinned memory, a copy to the device, wait; a block at a time
//   pageable          the same through ordinary memory, which the driver copies once more
//   pinned, two       two pinned buffers: a block is read while the device copies the one before
//   O_DIRECT, pinned  as pinned, past the page cache
//   gdrcopy           the engine bar: pread(2) into the CPU's cache, and stores to a mapping of the
//                     device's memory by GDRCopy, if it is there
//   cufile            NVIDIA's library, if it is there and asked for: descriptors with O_DIRECT
//
// The device has the whole block when a way's call returns; only "pinned, two" returns earlier.
//
// Threading: one thread.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "bench/gpu/cuda_driver.hpp"

namespace k2k::bench {

// The first `bytes` of a file, front to back, in calls of `block` bytes.
struct Pass {
  int descriptor = -1;
  std::size_t block = 0;
  std::size_t bytes = 0;  // A multiple of the block.
};

struct Way {
  std::string name;
  int flags = 0;                                  // Of the descriptor, beside its access.
  std::string missing{};                          // Not empty: why there is no such way here.
  std::function<Status(const Pass&)> run{};       // EIO, ...: a call failed or was short.
  std::function<void(int descriptor)> closing{};  // May be empty.
};

class FileWays {
 public:
  // `room` bytes of device memory, registered with K2K, and buffers for blocks up to `block_max`.
  // Without `cufile` its library is not started, which may take for ever where there is no
  // nvidia-fs. Errors: the driver's, and those of k2k_memory_register().
  static Result<std::unique_ptr<FileWays>> create(CudaDriver& driver, std::size_t room,
                                                  std::size_t block_max, bool cufile);
  FileWays() = default;
  virtual ~FileWays() = default;
  FileWays(const FileWays&) = delete;
  FileWays& operator=(const FileWays&) = delete;

  [[nodiscard]] virtual const std::vector<Way>& reads() const = 0;
  [[nodiscard]] virtual const std::vector<Way>& writes() const = 0;

  // Sets the first bytes of the device's memory to the content of a seed (file_data.hpp).
  virtual Status fill(std::size_t bytes, std::uint64_t seed) = 0;
  // Words of the device's memory that differ from the content of a seed.
  virtual Result<std::uint64_t> wrong(std::size_t bytes, std::uint64_t seed) = 0;
  // Of K2K's reads so far: bytes by the page cache, and by direct transfers.
  struct Routed {
    std::uint64_t bytes_cache = 0;
    std::uint64_t bytes_direct = 0;
  };
  [[nodiscard]] virtual Routed routed() const = 0;
};

}  // namespace k2k::bench
