// Goal: device code reads and writes files with memory that neither CPU nor kernel can address,
// like a GPU's own, by the same calls as with any other memory. Method: memory of the test that
// faults when it is touched; kernels of the cpu backend, which do not follow their pointers into
// it.

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>

#include "router/file/file_fixture.hpp"
#include "router/read/registered_fixture.hpp"
#include "router/read/registered_memory.hpp"
#include "tests/conformance/device_under_test.hpp"

namespace k2k::conformance::device_memory_test {
namespace {

using router::DataFile;
using router::RegisteredMemory;

constexpr std::size_t file_bytes = 4 << 20;
constexpr std::uint32_t items = 8;
constexpr std::size_t part = file_bytes / items;

class DeviceMemory : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(RegisteredMemory::of_process().add(memory, file_bytes, device.reader).ok());
  }
  void TearDown() override { ASSERT_TRUE(RegisteredMemory::of_process().remove(memory).ok()); }
  // With device.strict the host may not touch the device's memory; this memory belongs to neither.
  static Runtime start() {
    RuntimeConfig config;
    config.device.compute_units = 2;
    config.device.strict = GetParam();
    auto runtime = Runtime::create(config);
    EXPECT_TRUE(runtime.ok()) << runtime.error().message;
    return std::move(runtime).value();
  }
  router::SeparateDevice device{file_bytes};
  std::byte* const memory = device.address();
  DataFile file{file_bytes};
};

TEST_P(DeviceMemory, is_read_into_by_many_work_items_at_once) {
  file.cache([](std::size_t at) { return at / 16 % 2 == 0; });
  Runtime runtime = start();
  const int descriptor = file.descriptor();
  std::byte* const into = memory;
  auto* const answers = static_cast<long*>(runtime.allocate_shared(items * sizeof(long)).value());
  const auto report = runtime.launch({.groups = 1, .group_items = items}, [=] {
    const std::uint32_t item = k2k::item_rank();
    const std::size_t at = (items - 1 - item) * part;
    answers[item] =
        k2k::pread(k2k::work_item, descriptor, into + at, part, static_cast<std::int64_t>(at));
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  for (std::uint32_t item = 0; item < items; ++item) EXPECT_EQ(answers[item], long{part});
  EXPECT_EQ(std::memcmp(device.inside(), file.bytes().data(), file_bytes), 0);
  EXPECT_EQ(runtime.stats().files.reads, items);
  EXPECT_EQ(runtime.stats().files.bytes_cache + runtime.stats().files.bytes_direct, file_bytes);
  runtime.free_shared(answers);
}

TEST_P(DeviceMemory, is_read_into_and_written_from_at_the_position) {
  Runtime runtime = start();
  const int descriptor = file.descriptor();
  ASSERT_EQ(::lseek(descriptor, 0, SEEK_SET), 0);
  std::byte* const here = memory;
  auto* const answers = static_cast<long*>(runtime.allocate_shared(8 * sizeof(long)).value());
  const auto report = runtime.launch({.groups = 1, .group_items = 1}, [=] {
    answers[0] = k2k::read(k2k::work_item, descriptor, here, 300'000);
    answers[1] = k2k::read(k2k::work_item, descriptor, here + 300'000, 100);
    answers[2] = k2k::write(k2k::work_item, descriptor, here, 5'000);
    answers[3] = k2k::pwrite(k2k::work_item, descriptor, here + 1, 100'000, 2'000'000);
    answers[4] = k2k::pread(k2k::work_item, descriptor, here + file_bytes - 1, 2, 0);
    const auto place = reinterpret_cast<std::uintptr_t>(here + 400'000);
    answers[5] =
        k2k::syscall(k2k::work_item, k2k::halting, SYS_pread64, descriptor, place, 100'000, 7);
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  const std::vector<std::byte>& was = file.bytes();
  EXPECT_EQ(answers[0], 300'000);
  EXPECT_EQ(answers[1], 100);
  EXPECT_EQ(std::memcmp(device.inside(), was.data(), 300'100), 0);
  EXPECT_EQ(answers[2], 5'000);
  EXPECT_EQ(answers[3], 100'000);
  EXPECT_EQ(answers[4], -EFAULT) << "half in, half out";
  EXPECT_EQ(answers[5], 100'000);
  EXPECT_EQ(std::memcmp(device.inside() + 400'000, was.data() + 7, 100'000), 0);
  std::vector<std::byte> now(file_bytes);
  ASSERT_EQ(::pread(descriptor, now.data(), file_bytes, 0), ssize_t{file_bytes});
  EXPECT_EQ(std::memcmp(now.data() + 300'100, was.data(), 5'000), 0);
  EXPECT_EQ(std::memcmp(now.data() + 2'000'000, was.data() + 1, 100'000), 0);
  runtime.free_shared(answers);
}

TEST_P(DeviceMemory, may_be_unregistered_while_kernels_read_into_it) {
  Runtime runtime = start();
  const int descriptor = file.descriptor();
  std::byte* const into = memory;
  auto* const wrong = static_cast<std::atomic<int>*>(runtime.allocate_shared(64).value());
  std::atomic<bool> is_over = false;
  std::thread changing([&] {
    while (!is_over) {
      ASSERT_TRUE(RegisteredMemory::of_process().remove(into).ok());
      ASSERT_TRUE(RegisteredMemory::of_process().add(into, file_bytes, device.reader).ok());
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  });
  const auto report = runtime.launch({.groups = 1, .group_items = items}, [=] {
    for (int round = 0; round < 50; ++round) {
      const long count = k2k::pread(k2k::work_item, descriptor, into + k2k::item_rank() * 65536,
                                    65536, k2k::item_rank() * 65536);
      if (count != 65536 && count != -EFAULT) wrong->fetch_add(1);
    }
  });
  is_over = true;
  changing.join();
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(wrong->load(), 0);
  runtime.free_shared(wrong);
}

INSTANTIATE_TEST_SUITE_P(Cpu, DeviceMemory, testing::Bool(),
                         [](const auto& each) { return each.param ? "strict" : "plain"; });

}  // namespace
}  // namespace k2k::conformance::device_memory_test
