#pragma once
// For tests of policies that name memory: a device that gave whole pages to its kernels, and
// constants.
//
// Threading: constant.

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "backend/given_memory.hpp"
#include "services/fake_backend_fixture.hpp"

namespace k2k::services {

// Zeros.
class WholePages {
 public:
  explicit WholePages(std::size_t pages)
      : bytes_(pages * 4096),
        memory_(
            ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) std::abort();
  }
  ~WholePages() { ::munmap(memory_, bytes_); }
  WholePages(const WholePages&) = delete;
  WholePages& operator=(const WholePages&) = delete;
  [[nodiscard]] char* data() const { return static_cast<char*>(memory_); }
  [[nodiscard]] std::size_t size() const { return bytes_; }

 private:
  std::size_t bytes_;
  void* memory_;
};

class GivingBackend : public FakeBackend, private backend::KernelMemory {
 public:
  GivingBackend() { facts.kernel_memory = this; }
  bool gave_to_kernels(const void* address, std::size_t bytes, bool only_read) const override {
    const auto first = reinterpret_cast<std::uintptr_t>(address);
    const auto lies_in = [&](const auto& memory) {
      const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
      return first >= begin && first - begin <= memory.size() &&
             bytes <= memory.size() - (first - begin);
    };
    return lies_in(given) || (only_read && lies_in(constants));
  }
  const WholePages given{2};
  std::vector<char> constants = std::vector<char>(64);
};

}  // namespace k2k::services
