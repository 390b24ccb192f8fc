// Goal: memory of sufficient size is in huge pages if Linux has them, and is usable otherwise.
// Method: smaps after the memory was touched.

#include "base/huge_pages.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

namespace k2k {
namespace {

// Sanitizers have allocators of their own, which end the process where there is no memory.
#if defined(K2K_ASAN) || defined(K2K_TSAN)
constexpr bool is_sanitized = true;
#else
constexpr bool is_sanitized = false;
#endif

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<std::byte, Free>;

Memory touched(std::size_t alignment, std::size_t bytes) {
  Memory memory(static_cast<std::byte*>(allocate_in_huge_pages(alignment, bytes)));
  if (memory) std::memset(memory.get(), 1, bytes);
  return memory;
}

std::uintptr_t number_of(const Memory& memory) {
  return reinterpret_cast<std::uintptr_t>(memory.get());
}

bool kernel_has_huge_pages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string setting;
  return std::getline(file, setting) && setting.find("[never]") == std::string::npos;
}

// KiB of huge pages in the mapping that holds an address.
long huge_kib_at(std::uintptr_t address) {
  std::ifstream file("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::istringstream words(line);
    if (words >> std::hex >> begin >> dash >> end && dash == '-') {
      inside = begin <= address && address < end;
    } else if (inside && line.starts_with("AnonHugePages:")) {
      return std::stol(line.substr(line.find(':') + 1));
    }
  }
  return 0;
}

TEST(HugePages, make_up_large_memory) {
  const Memory memory = touched(64, 4 * huge_page_bytes);
  ASSERT_TRUE(memory);
  EXPECT_EQ(number_of(memory) % huge_page_bytes, 0u);
  if (is_sanitized || !kernel_has_huge_pages()) GTEST_SKIP() << "there are no huge pages here";
  EXPECT_GT(huge_kib_at(number_of(memory)), 0) << "or no 2 MiB of memory are contiguous";
}

TEST(HugePages, are_not_used_for_memory_below_their_size) {
  for (const std::size_t bytes : {std::size_t{64}, huge_page_bytes - 64}) {
    const Memory memory = touched(64, bytes);
    ASSERT_TRUE(memory);
    EXPECT_EQ(number_of(memory) % 64, 0u);
  }
  const Memory odd = touched(4096, huge_page_bytes + 4096);
  ASSERT_TRUE(odd);
  EXPECT_EQ(number_of(odd) % huge_page_bytes, 0u);
}

TEST(HugePages, are_refused_like_other_memory) {
  if (is_sanitized) GTEST_SKIP() << "a sanitizer's allocator ends the process";
  EXPECT_EQ(allocate_in_huge_pages(64, std::size_t{1} << 60), nullptr);
}

}  // namespace
}  // namespace k2k
