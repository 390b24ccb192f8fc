#include "labs/interference/harm/kernel_reads.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "device/atomic.hpp"

namespace k2k::labs::harm {

namespace {

constexpr std::size_t words_bytes = 4096;  // `over`, the counts, the errors.
constexpr std::size_t counts_at = 64;
constexpr std::size_t errors_at = counts_at + kernel_items * sizeof(std::uint64_t);
static_assert(errors_at + kernel_items * sizeof(std::uint64_t) <= words_bytes);

Result<int> memory_file() {
  const int file = ::memfd_create("k2k-lab-reads", MFD_CLOEXEC);
  const std::vector<char> part(std::size_t{kernel_read_bytes} * 64, 'r');
  bool written = file >= 0;
  for (std::uint32_t at = 0; written && at < kernel_file_reads; at += 64) {
    written = ::write(file, part.data(), part.size()) == static_cast<ssize_t>(part.size());
  }
  if (written) return file;
  const int error = errno;
  if (file >= 0) ::close(file);
  return Error{error, std::string("no file in memory for a source: ") + std::strerror(error) +
                          "; free some memory"};
}

}  // namespace

Result<std::unique_ptr<KernelReads>> KernelReads::make(Runtime& runtime) {
  const Result<void*> memory =
      runtime.allocate_shared(words_bytes + std::size_t{kernel_items} * kernel_read_bytes);
  if (!memory) return memory.error();
  std::memset(memory.value(), 0, words_bytes);
  const Result<int> file = memory_file();
  if (!file) {
    runtime.free_shared(memory.value());
    return file.error();
  }
  return std::unique_ptr<KernelReads>(new KernelReads(runtime, memory.value(), file.value()));
}

KernelReads::KernelReads(Runtime& runtime, void* memory, int file)
    : runtime_(runtime), memory_(memory), file_(file) {
  char* const bytes = static_cast<char*>(memory);
  job_ = {.over = reinterpret_cast<std::uint32_t*>(bytes),
          .counts = reinterpret_cast<std::uint64_t*>(bytes + counts_at),
          .errors = reinterpret_cast<std::uint64_t*>(bytes + errors_at),
          .buffers = bytes + words_bytes,
          .descriptor = file_};
}

KernelReads::~KernelReads() {
  runtime_.free_shared(memory_);
  ::close(file_);
}

void KernelReads::end() {
  AtomicRef(*job_.over).store(1, memory_order_relaxed, memory_scope_system);
}

std::uint64_t KernelReads::sum(const std::uint64_t* values) {
  std::uint64_t sum = 0;
  for (std::uint32_t item = 0; item < kernel_items; ++item) sum += values[item];
  return sum;
}

}  // namespace k2k::labs::harm
