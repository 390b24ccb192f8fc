#pragma once
// The reader of each kind of memory, for tests that all of them pass:
//
//   host     memory that the CPU can address
//   staged   memory that faults when it is touched: by copies of the device
//   mapped   the same, with a mapping that the CPU stores through
//
// For tests; never installed.
//
// Threading: the test's.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <utility>

#include "io/memory/separate_memory_fixture.hpp"
#include "router/file/file_fixture.hpp"
#include "router/read/device_channels.hpp"
#include "router/read/file_reader.hpp"

namespace k2k::router {

enum class Into : std::uint8_t { host, staged, mapped };

// Memory of one kind. The test sees through inside() the bytes behind address().
class MemoryOf {
 public:
  static constexpr std::size_t bytes = std::size_t{48} << 20;

  explicit MemoryOf(Into into) {
    if (into == Into::host) {
      host_ = Memory(static_cast<std::byte*>(std::aligned_alloc(4096, bytes)));
      return;
    }
    device_ = std::make_shared<io::SeparateMemory>(bytes);
    if (into == Into::mapped) device_->set_mapped();
  }

  [[nodiscard]] bool is_host() const { return device_ == nullptr; }
  [[nodiscard]] std::byte* address() const { return is_host() ? host_.get() : device_->address(); }
  [[nodiscard]] std::span<std::byte> inside() const {
    return is_host() ? std::span(host_.get(), bytes) : device_->inside();
  }
  // Copies arrive at the first look. For tests that depend on the duration of reads.
  void copy_at_once() const {
    if (device_) device_->set_looks_max(0);
  }
  [[nodiscard]] Result<std::unique_ptr<FileReader>> create(const ReaderConfig& config) const {
    if (is_host()) return FileReader::create(config);
    return FileReader::create(
        device_, config, {.paths = {.buffers = 4, .buffer_bytes = 16 * 4096}, .channels_kept = 2});
  }

 private:
  Memory host_;
  std::shared_ptr<io::SeparateMemory> device_;
};

class WithMemory : public testing::TestWithParam<Into> {
 protected:
  [[nodiscard]] bool is_host() const { return memory_.is_host(); }
  [[nodiscard]] std::byte* address(std::size_t at = 0) const { return memory_.address() + at; }
  [[nodiscard]] std::byte* inside(std::size_t at = 0) const { return memory_.inside().data() + at; }
  void copy_at_once() const { memory_.copy_at_once(); }
  [[nodiscard]] std::unique_ptr<FileReader> make(const ReaderConfig& config) const {
    auto made = memory_.create(config);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return std::move(made).value();
  }
  // pread() into the memory's bytes from `at` on. Expects Linux' answer and the file's bytes, and
  // that no byte behind them is touched.
  void expect_read(FileReader& reader, DataFile& file, std::size_t bytes, std::size_t offset,
                   std::size_t at = 0) const {
    constexpr std::size_t behind = 64;
    std::memset(inside(at), 0xee, bytes + behind);
    const ssize_t count =
        reader.pread(file.descriptor(), address(at), bytes, static_cast<std::int64_t>(offset));
    const std::size_t left = offset < file.size() ? file.size() - offset : 0;
    const std::size_t wanted = std::min(bytes, left);
    ASSERT_EQ(count, static_cast<ssize_t>(wanted)) << bytes << " at " << offset;
    ASSERT_TRUE(wanted == 0 || std::memcmp(inside(at), &file.bytes()[offset], wanted) == 0)
        << bytes << " at " << offset;
    for (std::size_t byte = wanted; byte < bytes + behind; ++byte) {
      ASSERT_EQ(*inside(at + byte), std::byte{0xee}) << byte;
    }
  }

 private:
  const MemoryOf memory_{GetParam()};
};

inline std::ostream& operator<<(std::ostream& out, Into into) {
  return out << (into == Into::host ? "host" : into == Into::staged ? "staged" : "mapped");
}
inline std::string name_of(const testing::TestParamInfo<Into>& each) {
  return testing::PrintToString(each.param);
}

// Every kind of memory, and the two kinds with different ports.
#define K2K_ALL_MEMORY(suite)                                                                \
  INSTANTIATE_TEST_SUITE_P(, suite, testing::Values(Into::host, Into::staged, Into::mapped), \
                           name_of)
#define K2K_BOTH_PORTS(suite) \
  INSTANTIATE_TEST_SUITE_P(, suite, testing::Values(Into::host, Into::staged), name_of)

}  // namespace k2k::router
