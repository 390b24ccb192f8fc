// Goal: C and C++ programs register a GPU's memory, and k2k_files reads into it; every mistake has
// its errno and a message. Method: the tests' own vendor library (io/memory/vendor_fixture), with
// memory that faults when it is touched, and memory with a reader of the test.

#include "runtime/files/memory.hpp"

#include <gtest/gtest.h>
#include <k2k/k2k.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "io/memory/cuda_memory.hpp"
#include "io/memory/hip_memory.hpp"
#include "io/memory/vendor_library_fixture.hpp"
#include "router/file/file_fixture.hpp"
#include "router/read/registered_fixture.hpp"
#include "router/read/registered_memory.hpp"

namespace k2k {
namespace {

constexpr std::size_t device_bytes = 1 << 20;
constexpr std::size_t file_bytes = 900'000;

class MemoryOfGpu : public testing::Test {
 protected:
  MemoryOfGpu() { EXPECT_EQ(k2k_files_create(nullptr, &files_), 0) << k2k_last_error(); }
  ~MemoryOfGpu() override { k2k_files_destroy(files_); }
  std::int64_t read(void* memory, std::size_t bytes, std::int64_t offset) {
    return k2k_files_pread(files_, file_.descriptor(), memory, bytes, offset);
  }
  std::int64_t reads() {
    char text[2048];
    EXPECT_EQ(k2k_files_stats_json(files_, text, sizeof text, nullptr), 0);
    return nlohmann::json::parse(text)["reads"];
  }
  k2k_files* files_ = nullptr;
  router::DataFile file_{file_bytes};
};

TEST_F(MemoryOfGpu, is_read_into_by_the_c_interface_while_it_is_registered) {
  router::SeparateDevice device(device_bytes);
  EXPECT_EQ(read(device.address(), 100'000, 0), -EFAULT);
  const std::int64_t before = reads();
  auto& registered = router::RegisteredMemory::of_process();
  ASSERT_TRUE(registered.add(device.address(), device_bytes, device.reader).ok());
  for (const bool cold : {true, false}) {
    if (cold) file_.evict();
    std::ranges::fill(device.memory->inside(), std::byte{0xee});
    EXPECT_EQ(read(device.address() + 7, 800'000, 4321), 800'000);
    EXPECT_EQ(std::memcmp(device.inside() + 7, file_.bytes().data() + 4321, 800'000), 0);
    EXPECT_EQ(device.inside()[6], std::byte{0xee});
    EXPECT_EQ(device.inside()[800'007], std::byte{0xee});
  }
  EXPECT_EQ(read(device.address(), device_bytes, 100), std::int64_t{file_bytes - 100});
  EXPECT_EQ(read(device.address(), 100, file_bytes), 0);
  EXPECT_EQ(read(device.address(), 0, 0), 0);
  EXPECT_EQ(reads() - before, 5) << "four into the device's memory, one of no bytes";
  EXPECT_EQ(read(device.address() + device_bytes - 10, 11, 0), -EFAULT);
  EXPECT_NE(std::strstr(k2k_last_error(), "reading 11 bytes at offset 0 of descriptor"), nullptr);
  EXPECT_EQ(k2k_files_pread(files_, -1, device.address(), 10, 0), -EBADF);
  EXPECT_EQ(k2k_files_closing(files_, file_.descriptor()), 0);
  EXPECT_EQ(k2k_memory_unregister(device.address()), 0) << k2k_last_error();
  EXPECT_EQ(read(device.address(), 100, 0), -EFAULT);
}

TEST_F(MemoryOfGpu, of_cuda_is_served_by_its_driver) {
  const std::string library = io::vendor_library();
  const Result<std::shared_ptr<std::byte>> memory = io::allocate_cuda(device_bytes, 0, library);
  ASSERT_TRUE(memory.ok()) << memory.error().message;
  std::byte* const address = memory.value().get();
  const Status added = runtime::register_memory(address, device_bytes, MemoryKind::cuda, library);
  ASSERT_TRUE(added.ok()) << added.error().message;
  EXPECT_EQ(read(address, 800'000, 99), 800'000);
  router::DataFile copy(10);
  ASSERT_EQ(router::RegisteredMemory::of_process().pwrite(copy.descriptor(), address, 800'000, 0),
            800'000);
  std::vector<std::byte> back(800'000);
  ASSERT_EQ(::pread(copy.descriptor(), back.data(), back.size(), 0), 800'000);
  EXPECT_EQ(std::memcmp(back.data(), file_.bytes().data() + 99, back.size()), 0);
  // The first range has pinned all buffers.
  io::vendor::Control& vendor = io::vendor_control();
  const int pinned = vendor.pinned;
  ASSERT_GT(pinned, 0);
  std::vector<std::thread> readers;
  for (int number = 0; number < 6; ++number) {
    readers.emplace_back([&, number] {
      for (int round = 0; round < 5; ++round) {
        EXPECT_EQ(router::RegisteredMemory::of_process().pread(
                      file_.descriptor(), address + number * 100'000, 100'000, 0),
                  100'000);
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(vendor.pinned, pinned);
  EXPECT_EQ(vendor.wrong_copies, 0);
  EXPECT_TRUE(unregister_memory(address).ok());
  EXPECT_EQ(vendor.pinned, pinned) << "kept, because a later allocation may fail";
}

TEST_F(MemoryOfGpu, of_hip_is_served_by_its_runtime) {
  const std::string library = io::vendor_library();
  const Result<std::shared_ptr<std::byte>> memory = io::allocate_hip(device_bytes, 0, library);
  ASSERT_TRUE(memory.ok()) << memory.error().message;
  std::byte* const address = memory.value().get();
  const Status added = runtime::register_memory(address, device_bytes, MemoryKind::hip, library);
  ASSERT_TRUE(added.ok()) << added.error().message;
  EXPECT_EQ(read(address, 700'000, 5), 700'000);
  std::vector<std::byte> back(700'000);
  router::DataFile copy(10);
  ASSERT_EQ(router::RegisteredMemory::of_process().pwrite(copy.descriptor(), address, 700'000, 0),
            700'000);
  ASSERT_EQ(::pread(copy.descriptor(), back.data(), back.size(), 0), 700'000);
  EXPECT_EQ(std::memcmp(back.data(), file_.bytes().data() + 5, back.size()), 0);
  EXPECT_TRUE(unregister_memory(address).ok());
}

TEST_F(MemoryOfGpu, follows_the_settings_of_the_operator) {
  const std::string library = "/proc/self/root/proc/self/root" + io::vendor_library();
  const Result<std::shared_ptr<std::byte>> memory = io::allocate_cuda(device_bytes, 0, library);
  ASSERT_TRUE(memory.ok()) << memory.error().message;
  std::byte* const address = memory.value().get();
  ASSERT_EQ(::setenv("K2K_FILES_READ_AHEAD_PAGES", "many", 1), 0);
  const Status refused = runtime::register_memory(address, device_bytes, MemoryKind::cuda, library);
  EXPECT_EQ(refused.error().code, EINVAL);
  EXPECT_NE(refused.error().message.find("K2K_FILES_READ_AHEAD_PAGES"), std::string::npos);
  ASSERT_EQ(::setenv("K2K_FILES_READ_AHEAD_PAGES", "64", 1), 0);
  const Status added = runtime::register_memory(address, device_bytes, MemoryKind::cuda, library);
  ::unsetenv("K2K_FILES_READ_AHEAD_PAGES");
  ASSERT_TRUE(added.ok()) << added.error().message;
  EXPECT_TRUE(unregister_memory(address).ok());
}

TEST_F(MemoryOfGpu, a_failing_driver_is_an_error_and_may_be_tried_again) {
  io::vendor::Control& vendor = io::vendor_control();
  std::byte* const address = reinterpret_cast<std::byte*>(4096);
  // Another name of the library, because each name has its own reader.
  const std::string library = "/proc/self/root" + io::vendor_library();
  const auto code = [&](const char* name, int with) {
    vendor.fail(name, with);
    const Status status = runtime::register_memory(address, 4096, MemoryKind::cuda, library);
    vendor.failing[0] = '\0';
    return status.ok() ? 0 : status.error().code;
  };
  EXPECT_EQ(code("cuInit", 100), ENODEV);
  EXPECT_EQ(code("cuMemHostAlloc", 2), ENOMEM);
  EXPECT_EQ(code("cuStreamCreate", 999), EIO);
  EXPECT_EQ(code("", 0), 0);
  EXPECT_TRUE(unregister_memory(address).ok());
  const Status none = runtime::register_memory(address, 4096, MemoryKind::cuda, "libnone.so");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ENODEV);
}

TEST_F(MemoryOfGpu, mistakes_have_their_errno_and_a_line) {
  EXPECT_EQ(k2k_memory_register(this, 100, 1), -EINVAL);
  EXPECT_NE(
      std::strstr(k2k_last_error(), ": 1 is no kind of memory; permitted are 2, CUDA, and 3, HIP"),
      nullptr)
      << k2k_last_error();
  EXPECT_EQ(k2k_memory_unregister(this), -ENOENT);
  EXPECT_NE(std::strstr(k2k_last_error(), "no registered memory begins at"), nullptr);
  EXPECT_EQ(k2k_memory_unregister(nullptr), -ENOENT);
  const std::string library = io::vendor_library();
  const auto code = [&](void* address, std::size_t bytes) {
    const Status status = runtime::register_memory(address, bytes, MemoryKind::cuda, library);
    return status.ok() ? 0 : status.error().code;
  };
  EXPECT_EQ(code(nullptr, 100), EINVAL);
  EXPECT_EQ(code(this, 0), EINVAL);
  void* const address = reinterpret_cast<void*>(std::uintptr_t{1} << 40);
  ASSERT_EQ(code(address, 8192), 0);
  EXPECT_EQ(code(address, 8192), EEXIST);
  EXPECT_EQ(code(static_cast<char*>(address) + 8191, 1), EEXIST);
  EXPECT_EQ(code(static_cast<char*>(address) + 8192, 1), 0);
  EXPECT_EQ(k2k_memory_unregister(static_cast<char*>(address) + 1), -ENOENT);
  EXPECT_EQ(k2k_memory_unregister(static_cast<char*>(address) + 8192), 0);
  EXPECT_EQ(k2k_memory_unregister(address), 0);
}

TEST_F(MemoryOfGpu, without_a_driver_no_memory_can_be_registered) {
  const auto driver = io::make_cuda_memory();
  if (driver.ok()) GTEST_SKIP() << "there is a driver";
  EXPECT_EQ(k2k_memory_register(this, 100, k2k_memory_cuda), -ENODEV);
  EXPECT_EQ(driver.error().message, k2k_last_error());
}

}  // namespace
}  // namespace k2k
