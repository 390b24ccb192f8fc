#pragma once
// A source of requests that is a kernel: 64 work-items, each of which reads 4 KiB of a file again
// and again until it is told to end. On a GPU the requests come from a device that takes no core;
// on the cpu backend the kernel's own units take cores, too.
//
// Threading: launch_reads() waits in one thread; end() and the counts from any other.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "k2k/runtime.hpp"

namespace k2k::labs::harm {

inline constexpr std::uint32_t kernel_items = 64;
inline constexpr std::uint32_t kernel_read_bytes = 4096;
inline constexpr std::uint32_t kernel_file_reads = 2048;  // Reads that the file holds.

// All of it is shared with the device.
struct ReadsJob {
  std::uint32_t* over = nullptr;    // Not 0: end. By AtomicRef.
  std::uint64_t* counts = nullptr;  // Reads of each work-item,
  std::uint64_t* errors = nullptr;  // and those of them that came short.
  char* buffers = nullptr;
  int descriptor = -1;
};

// One source for every device (backend/compiled_for.hpp).
namespace on_cpu {
Result<LaunchReport> launch_reads(Runtime& runtime, const ReadsJob& job);
}
namespace on_gpu {  // Weak: nullptr in a program without code for GPUs.
[[gnu::weak]] Result<LaunchReport> launch_reads(Runtime& runtime, const ReadsJob& job);
}
using LaunchReads = Result<LaunchReport> (*)(Runtime& runtime, const ReadsJob& job);

// The file, and the memory that such a kernel works on. The runtime outlives it.
class KernelReads {
 public:
  // Errors: ENOMEM; those of memfd_create(2) and write(2).
  static Result<std::unique_ptr<KernelReads>> make(Runtime& runtime);
  ~KernelReads();
  KernelReads(const KernelReads&) = delete;
  KernelReads& operator=(const KernelReads&) = delete;

  [[nodiscard]] const ReadsJob& job() const { return job_; }
  void end();
  // Once the launch has ended.
  [[nodiscard]] std::uint64_t count() const { return sum(job_.counts); }
  [[nodiscard]] std::uint64_t errors() const { return sum(job_.errors); }

 private:
  KernelReads(Runtime& runtime, void* memory, int file);
  static std::uint64_t sum(const std::uint64_t* values);

  Runtime& runtime_;
  void* memory_;
  int file_;  // No Descriptor: kernels cannot reach those of K2K itself.
  ReadsJob job_;
};

}  // namespace k2k::labs::harm
