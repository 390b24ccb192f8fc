// The kernel of kernel_reads.hpp, compiled for every device of the build. Apart from
// kernel_reads.cpp, because device code has functions with the names of system calls.

#include "device/k2k.hpp"
#include "labs/interference/harm/kernel_reads.hpp"

namespace k2k::labs::harm::K2K_ON {

Result<LaunchReport> launch_reads(Runtime& runtime, const ReadsJob& job) {
  constexpr std::uint32_t group_items = 32;
  static_assert(kernel_items % group_items == 0);
  const ReadsJob copied = job;  // A device reads it from its closure.
  const auto reads = [=] K2K_DEVICE {
    const auto me = static_cast<std::uint32_t>(k2k::global_rank());
    char* const buffer = copied.buffers + std::size_t{me} * kernel_read_bytes;
    std::uint64_t count = 0;
    std::uint64_t errors = 0;
    const k2k::AtomicRef over(*copied.over);
    while (over.load(k2k::memory_order_relaxed, k2k::memory_scope_system) == 0) {
      const std::uint64_t place = (count * kernel_items + me) % kernel_file_reads;
      errors += k2k::pread(k2k::work_item, copied.descriptor, buffer, kernel_read_bytes,
                           static_cast<std::int64_t>(place * kernel_read_bytes)) !=
                static_cast<long>(kernel_read_bytes);
      ++count;
    }
    copied.counts[me] = count;
    copied.errors[me] = errors;
  };
  return runtime.launch({kernel_items / group_items, group_items}, reads, "reads");
}

}  // namespace k2k::labs::harm::K2K_ON
