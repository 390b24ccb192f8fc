// Goal: one door selects the reader by the memory, and the way of a read. Method: memory that
// faults when it is touched, registered with a table of the test's own, beside ordinary memory.

#include "router/door/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "router/file/file_fixture.hpp"
#include "router/read/registered_fixture.hpp"

namespace k2k::router {
namespace {

constexpr std::size_t device_bytes = 1 << 20;
constexpr std::size_t file_bytes = (1 << 20) + 321;

class FilesDoor : public testing::TestWithParam<bool> {
 protected:
  FilesDoor() {
    EXPECT_TRUE(registered.add(device.address(), device_bytes, device.reader).ok());
    auto made = Files::create({.router = GetParam()}, registered);
    EXPECT_TRUE(made.ok());
    files = std::move(made).value();
  }

  // Writes at the descriptor's position.
  std::optional<ssize_t> write(Files& by, std::byte* from, std::size_t bytes) const {
    const iovec piece{from, bytes};
    return by.call({.descriptor = descriptor, .pieces = {&piece, 1}, .write = true});
  }
  // The number of descriptors that this process has of the file.
  [[nodiscard]] int opened() const {
    struct stat wanted{};
    EXPECT_EQ(::fstat(descriptor, &wanted), 0);
    int count = 0;
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
      struct stat facts{};
      if (::stat(each.path().c_str(), &facts) != 0) continue;
      count += facts.st_ino == wanted.st_ino && facts.st_dev == wanted.st_dev ? 1 : 0;
    }
    return count;
  }

  RegisteredMemory registered;
  SeparateDevice device{device_bytes};
  DataFile file{file_bytes};
  const int descriptor = file.descriptor();
  Memory memory = memory_of(file_bytes);
  std::shared_ptr<Files> files;
};

TEST_P(FilesDoor, reads_into_each_memory_by_its_reader) {
  EXPECT_EQ(files->pread(descriptor, device.address() + 5, 700'000, 99), 700'000);
  EXPECT_EQ(std::memcmp(device.inside() + 5, file.bytes().data() + 99, 700'000), 0);
  EXPECT_EQ(files->stats().reads, 1u);
  EXPECT_EQ(files->pread(descriptor, memory.get(), 700'000, 99), 700'000);
  EXPECT_EQ(std::memcmp(memory.get(), file.bytes().data() + 99, 700'000), 0);
  EXPECT_EQ(files->stats().reads, GetParam() ? 2u : 1u) << "reads by Linux alone are not counted";
}

TEST_P(FilesDoor, of_another_table_does_not_take_that_memory) {
  RegisteredMemory none;
  Files other({}, none);
  EXPECT_FALSE(other.takes(device.address(), 100));
  EXPECT_EQ(other.pread(descriptor, device.address(), 100, 0), -EFAULT);
  EXPECT_EQ(write(other, device.address(), 100), std::nullopt);
  EXPECT_TRUE(files->takes(device.address(), 100));
  EXPECT_FALSE(files->takes(device.address() + device_bytes - 10, 100));
}

TEST_P(FilesDoor, refuses_a_buffer_that_leaves_its_range) {
  std::byte* const beyond = device.address() + device_bytes - 100;
  EXPECT_EQ(files->pread(descriptor, beyond, 101, 0), -EFAULT);
  EXPECT_EQ(files->try_pread(descriptor, beyond, 101, 0), -EFAULT);
  EXPECT_EQ(files->pwrite(descriptor, beyond, 101, 0), -EFAULT);
  EXPECT_EQ(write(*files, beyond, 101), -EFAULT);
  EXPECT_EQ(files->read(descriptor, beyond, positioned_bytes_min, Patience::endless), std::nullopt);
}

TEST_P(FilesDoor, reads_at_the_position_and_leaves_it_behind_the_bytes) {
  ASSERT_EQ(::lseek(descriptor, 7, SEEK_SET), 7);
  EXPECT_EQ(files->read(descriptor, device.address(), 300'000, Patience::endless), 300'000);
  EXPECT_EQ(std::memcmp(device.inside(), file.bytes().data() + 7, 300'000), 0);
  EXPECT_EQ(::lseek(descriptor, 0, SEEK_CUR), 300'007);
  const auto count = files->read(descriptor, memory.get(), 300'000, Patience::endless);
  EXPECT_EQ(count.has_value(), GetParam()) << "without a reader the kernel serves the read";
}

TEST_P(FilesDoor, tells_all_readers_of_a_close) {
  ASSERT_EQ(files->advise(descriptor, 0, 0, POSIX_FADV_DONTNEED), 0);
  EXPECT_EQ(files->advise(-1, 0, 0, POSIX_FADV_DONTNEED), EBADF);
  EXPECT_EQ(files->pread(descriptor, device.address(), 700'000, 0), 700'000);
  EXPECT_EQ(opened(), has_direct(file) ? 2 : 1) << "the file and its twin";
  files->closing(descriptor);
  EXPECT_EQ(opened(), 1);
  EXPECT_EQ(files->pread(descriptor, device.address(), 700'000, 0), 700'000);
}

TEST_P(FilesDoor, tries_registered_memory_without_waiting) {
  constexpr std::size_t bytes = 3000;  // Short: read without a probe.
  file.cache([](std::size_t) { return true; });
  if (files->try_pread(descriptor, device.address(), bytes, 99) == -EAGAIN) {
    GTEST_SKIP() << "no RWF_NOWAIT on this file system";
  }
  EXPECT_EQ(std::memcmp(device.inside(), file.bytes().data() + 99, bytes), 0);
  file.evict();
  EXPECT_EQ(files->try_pread(descriptor, device.address(), bytes, 99), -EAGAIN);
  EXPECT_EQ(files->pread(descriptor, device.address(), bytes, 99), ssize_t{bytes});
}

TEST_P(FilesDoor, calls_no_read_into_registered_memory_plain) {
  file.evict();
  EXPECT_TRUE(files->is_plain(descriptor, memory.get(), 100, 0));
  EXPECT_FALSE(files->is_plain(descriptor, device.address(), 100, 0));
  if (!GetParam()) {
    EXPECT_TRUE(files->is_plain(descriptor, memory.get(), 1 << 20, 0)) << "there is no reader";
  }
  files->note_plain(descriptor, 100, 0, 100, 0);
  EXPECT_EQ(files->stats().reads, GetParam() ? 1u : 0u) << "reads by Linux alone are not counted";
}

TEST_P(FilesDoor, tells_all_readers_of_the_hosts_use) {
  if (!has_direct(file)) GTEST_SKIP() << "no direct transfers in this folder";
  SeparateDevice bounded(device_bytes, {.partition_pages = 1024});
  ASSERT_TRUE(registered.add(bounded.address(), device_bytes, bounded.reader).ok());
  file.evict();
  constexpr std::size_t part = 16 << 10;
  for (std::size_t at = 0; at < 16 * part; at += part) {
    ASSERT_EQ(files->pread(descriptor, bounded.address(), part, static_cast<std::int64_t>(at)),
              ssize_t{part});
  }
  EXPECT_GT(files->pages_held(), 0u);
  files->used_by_host(descriptor, 0, file_bytes);
  EXPECT_EQ(files->pages_held(), 0u);
  EXPECT_GT(files->stats().pages_kept, 0u);
}

INSTANTIATE_TEST_SUITE_P(, FilesDoor, testing::Bool(), [](const auto& each) {
  return each.param ? "with_a_reader" : "without_one";
});

}  // namespace
}  // namespace k2k::router
