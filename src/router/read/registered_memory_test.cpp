// Goal: the reader of registered memory makes the calls with it, Linux makes all others; a range is
// served until no call uses it any more. Method: memory of the tests' own that faults when it is
// touched, real files, a pipe that keeps a call waiting.

#include "router/read/registered_memory.hpp"

#include <sys/stat.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "router/file/file_fixture.hpp"
#include "router/read/registered_fixture.hpp"

namespace k2k::router {
namespace {

constexpr std::size_t registered_bytes = 1 << 20;
constexpr std::size_t registered_file_bytes = 700'000;

class Registered : public testing::Test {
 protected:
  Status add(SeparateDevice& of, std::size_t at, std::size_t bytes) {
    return registered.add(of.address() + at, bytes, of.reader);
  }
  void expect_data(std::size_t at, std::size_t bytes, std::size_t offset) {
    EXPECT_EQ(std::memcmp(device.inside() + at, file.bytes().data() + offset, bytes), 0);
  }
  RegisteredMemory registered;
  SeparateDevice device{registered_bytes};
  DataFile file{registered_file_bytes};
};

TEST_F(Registered, memory_of_the_host_is_always_left_to_the_kernel) {
  std::byte here[100];
  EXPECT_FALSE(registered.pread(file.descriptor(), here, 100, 0));
  ASSERT_TRUE(add(device, 0, 4096).ok());
  ASSERT_TRUE(add(device, 8192, 4096).ok());
  EXPECT_FALSE(registered.pread(file.descriptor(), here, 100, 0));
  EXPECT_FALSE(registered.pwrite(file.descriptor(), here, 100, 0));
  EXPECT_FALSE(registered.pread(file.descriptor(), device.address() + 4096, 100, 0)) << "between";
  EXPECT_FALSE(registered.pread(file.descriptor(), device.address() + 4095 + 1, 9000, 0));
  const iovec pieces[] = {{here, 50}, {device.address() + 5000, 50}, {device.address(), 0}};
  EXPECT_FALSE(registered.call({.descriptor = file.descriptor(), .pieces = pieces}));
  EXPECT_EQ(registered.stats().reads, 0u);
}

TEST_F(Registered, memory_in_a_range_is_read_and_written_by_its_reader) {
  ASSERT_TRUE(add(device, 0, registered_bytes).ok());
  EXPECT_EQ(registered.pread(file.descriptor(), device.address() + 5, 600'000, 1234), 600'000);
  expect_data(5, 600'000, 1234);
  EXPECT_EQ(registered.pread(file.descriptor(), device.address(), 100, registered_file_bytes), 0);
  EXPECT_EQ(registered.pread(-1, device.address(), 100, 0), -EBADF);
  EXPECT_FALSE(registered.try_pread(file.descriptor(), device.address(), 0, 0))
      << "left to the kernel";
  std::memset(device.inside(), 7, 100);
  EXPECT_EQ(registered.pwrite(file.descriptor(), device.address(), 100, 50), 100);
  std::byte back[100];
  ASSERT_EQ(::pread(file.descriptor(), back, 100, 50), 100);
  EXPECT_EQ(std::memcmp(back, device.inside(), 100), 0);
  EXPECT_EQ(registered.stats().reads, 3u);
  EXPECT_EQ(registered.stats().writes, 1u);
}

TEST_F(Registered, a_buffer_that_leaves_its_range_is_refused_and_nothing_moves) {
  ASSERT_TRUE(add(device, 4096, 4096).ok());
  ASSERT_TRUE(add(device, 8192, 4096).ok());  // Beside it: another allocation.
  std::byte* const address = device.address() + 4096;
  EXPECT_EQ(registered.pread(file.descriptor(), address, 4097, 0), -EFAULT);
  EXPECT_EQ(registered.pread(file.descriptor(), address + 4095, 2, 0), -EFAULT);
  EXPECT_EQ(registered.pread(file.descriptor(), address + 1, SIZE_MAX, 0), -EFAULT);
  EXPECT_EQ(registered.pwrite(file.descriptor(), address, 9000, 0), -EFAULT);
  const iovec pieces[] = {{address, 10}, {address + 10, 4096}};
  EXPECT_EQ(registered.call({.descriptor = file.descriptor(), .pieces = pieces}), -EFAULT);
  EXPECT_TRUE(registered.cuts(address, 4097));
  EXPECT_FALSE(registered.cuts(address - 1, 10)) << "begins outside: left to the kernel";
  EXPECT_FALSE(registered.holds(address, 4097));
  EXPECT_TRUE(registered.holds(address, 4096));
  EXPECT_FALSE(registered.pread(file.descriptor(), address - 1, 10, 0));
  for (std::size_t at = 0; at < 3 * 4096; ++at) ASSERT_EQ(device.inside()[at], std::byte{0xee});
}

TEST_F(Registered, a_call_of_no_bytes_is_left_to_the_kernel) {
  ASSERT_TRUE(add(device, 0, 4096).ok());
  EXPECT_FALSE(registered.pread(file.descriptor(), device.address(), 0, 0));
  EXPECT_FALSE(registered.pwrite(file.descriptor(), device.address(), 0, 0));
  EXPECT_FALSE(registered.call({.descriptor = file.descriptor(), .pieces = {}}));
}

TEST_F(Registered, vectors_of_host_and_device_are_one_call) {
  ASSERT_TRUE(add(device, 0, registered_bytes).ok());
  std::byte here[3000];
  const iovec pieces[] = {
      {device.address(), 5000}, {here, sizeof here}, {device.address() + 9000, 100'000}};
  EXPECT_EQ(registered.call({.descriptor = file.descriptor(), .pieces = pieces, .offset = 77}),
            108'000);
  expect_data(0, 5000, 77);
  EXPECT_EQ(std::memcmp(here, file.bytes().data() + 5077, sizeof here), 0);
  expect_data(9000, 100'000, 8077);
  // At the position, which moves.
  ASSERT_EQ(::lseek(file.descriptor(), registered_file_bytes - 6000, SEEK_SET),
            off_t{registered_file_bytes - 6000});
  EXPECT_EQ(registered.call({.descriptor = file.descriptor(), .pieces = pieces}), 6000);
  EXPECT_EQ(::lseek(file.descriptor(), 0, SEEK_CUR), off_t{registered_file_bytes});
  EXPECT_EQ(registered.call(
                {.descriptor = file.descriptor(), .pieces = pieces, .write = true, .offset = 0}),
            108'000);
  EXPECT_EQ(registered.call({.descriptor = file.descriptor(), .pieces = pieces, .offset = -1}),
            -EINVAL);
  const iovec wrong[] = {{device.address(), SIZE_MAX}};
  EXPECT_FALSE(registered.call({.descriptor = file.descriptor(), .pieces = wrong}));
  SeparateDevice other(4096);
  ASSERT_TRUE(add(other, 0, 4096).ok());
  const iovec of_two[] = {{device.address(), 10}, {other.address(), 10}};
  EXPECT_EQ(registered.call({.descriptor = file.descriptor(), .pieces = of_two, .offset = 0}),
            -EFAULT);
}

TEST_F(Registered, impossible_ranges_are_refused_with_the_reason) {
  const auto refusal = [&](void* address, std::size_t bytes) {
    const Status status = registered.add(address, bytes, device.reader);
    EXPECT_FALSE(status.ok());
    return status.ok() ? 0 : status.error().code;
  };
  EXPECT_EQ(refusal(nullptr, 100), EINVAL);
  EXPECT_EQ(refusal(device.address(), 0), EINVAL);
  EXPECT_EQ(refusal(device.address(), SIZE_MAX), EINVAL);
  ASSERT_TRUE(add(device, 8192, 8192).ok());
  for (const auto& [at, bytes] : {std::pair<std::size_t, std::size_t>{8192, 8192},
                                  {8192, 1},
                                  {16383, 100},
                                  {4096, 4097},
                                  {0, registered_bytes}}) {
    EXPECT_EQ(refusal(device.address() + at, bytes), EEXIST) << at;
  }
  const Status overlap = add(device, 8192, 1);
  EXPECT_NE(overlap.error().message.find("it overlaps memory that is registered"),
            std::string::npos)
      << overlap.error().message;
  EXPECT_EQ(registered.remove(device.address()).error().code, ENOENT);
  EXPECT_EQ(registered.remove(device.address() + 8193).error().code, ENOENT) << "its middle";
  EXPECT_TRUE(registered.remove(device.address() + 8192).ok());
  const Status again = registered.remove(device.address() + 8192);
  EXPECT_EQ(again.error().code, ENOENT);
  EXPECT_NE(again.error().message.find("no registered memory begins at"), std::string::npos);
  EXPECT_FALSE(registered.any());

  for (std::size_t at = 0; at < RegisteredMemory::ranges_max; ++at) {
    ASSERT_TRUE(add(device, at * 128, 64).ok());
  }
  EXPECT_EQ(refusal(device.address() + RegisteredMemory::ranges_max * 128, 64), ENOSPC);
  EXPECT_EQ(registered.pread(file.descriptor(), device.address() + 200 * 128, 64, 0), 64);
  for (std::size_t at = 0; at < RegisteredMemory::ranges_max; ++at) {
    ASSERT_TRUE(registered.remove(device.address() + at * 128).ok());
  }
  EXPECT_EQ(registered.stats().reads, 1u) << "the read of a removed reader stays counted";
}

TEST_F(Registered, remove_waits_for_calls_and_leaves_new_calls_to_the_kernel) {
  ASSERT_TRUE(add(device, 0, 4096).ok());
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  std::thread reading([&] {
    const iovec piece{device.address(), 4096};
    EXPECT_EQ(registered.call({.descriptor = ends[0], .pieces = {&piece, 1}}), 5);
  });
  while (registered.stats().reads == 0) std::this_thread::yield();
  std::atomic<bool> is_removed = false;
  std::thread removing([&] {
    EXPECT_TRUE(registered.remove(device.address()).ok());
    is_removed = true;
  });
  while (registered.any()) std::this_thread::yield();
  EXPECT_FALSE(registered.pread(file.descriptor(), device.address(), 10, 0));
  EXPECT_EQ(add(device, 0, 4096).error().code, EEXIST) << "a call still uses the range";
  EXPECT_EQ(registered.remove(device.address()).error().code, ENOENT);
  EXPECT_FALSE(is_removed);
  ASSERT_EQ(::write(ends[1], "bytes", 5), 5);
  reading.join();
  removing.join();
  EXPECT_EQ(std::memcmp(device.inside(), "bytes", 5), 0);
  EXPECT_TRUE(add(device, 0, 4096).ok());
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(Registered, threads_that_read_while_ranges_change_never_write_to_removed_ranges) {
  std::atomic<bool> is_over = false;
  std::atomic<int> right = 0;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> readers;
  for (std::size_t number = 0; number < 2; ++number) {
    readers.emplace_back([&, own = device.address() + 4096 * number] {
      while (!is_over) {
        const auto count = registered.pread(file.descriptor(), own, 4096, 0);
        if (!count) continue;
        (*count == 4096 ? right : wrong) += 1;
      }
    });
  }
  for (int round = 0; round < 40 || right < 40; ++round) {
    ASSERT_TRUE(add(device, 0, 8192).ok());
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    ASSERT_TRUE(registered.remove(device.address()).ok());
    const std::uint32_t copies = device.memory->copies();
    std::this_thread::yield();
    EXPECT_EQ(device.memory->copies(), copies) << "a call outlived its range";
  }
  is_over = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Registered, twins_of_readers_are_closed_with_the_descriptor_and_with_the_last_range) {
  if (!has_direct(file)) GTEST_SKIP() << "no direct transfers in this folder";
  const auto twin_is_open = [&] {
    struct stat ours{};
    EXPECT_EQ(::fstat(file.descriptor(), &ours), 0);
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      struct stat facts{};
      if (::stat(entry.path().c_str(), &facts) != 0) continue;
      count += facts.st_ino == ours.st_ino && facts.st_dev == ours.st_dev ? 1 : 0;
    }
    return count > 1;
  };
  ASSERT_FALSE(twin_is_open());
  ASSERT_TRUE(add(device, 0, 4096).ok());
  ASSERT_TRUE(add(device, 8192, 600'000).ok());
  const auto read = [&] {
    file.evict();
    EXPECT_EQ(registered.pread(file.descriptor(), device.address() + 8192, 600'000, 0), 600'000);
    return twin_is_open();
  };
  ASSERT_TRUE(read());
  registered.each_reader([&](FileReader& reader) { reader.closing(file.descriptor()); });
  EXPECT_FALSE(twin_is_open());
  EXPECT_TRUE(read());
  device.reader.reset();
  ASSERT_TRUE(registered.remove(device.address() + 8192).ok());
  EXPECT_TRUE(twin_is_open());
  ASSERT_TRUE(registered.remove(device.address()).ok());
  EXPECT_FALSE(twin_is_open());
}

TEST(RegisteredOfTheProcess, a_child_of_fork_has_no_range_and_may_register_its_own) {
  RegisteredMemory& registered = RegisteredMemory::of_process();
  SeparateDevice device(8192);
  DataFile file(4096);
  ASSERT_TRUE(registered.add(device.address(), 8192, device.reader).ok());
  ASSERT_EQ(registered.pread(file.descriptor(), device.address(), 4096, 0), 4096);
  const pid_t child = ::fork();
  if (child == 0) {
    bool good = !registered.any();
    good &= !registered.pread(file.descriptor(), device.address(), 100, 0);
    good &= registered.remove(device.address()).error().code == ENOENT;
    SeparateDevice own(4096);
    good &= registered.add(own.address(), 4096, own.reader).ok();
    good &= registered.pread(file.descriptor(), own.address(), 100, 7) == 100;
    good &= std::memcmp(own.inside(), file.bytes().data() + 7, 100) == 0;
    good &= registered.remove(own.address()).ok();
    ::_exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(registered.pread(file.descriptor(), device.address(), 4096, 0), 4096);
  ASSERT_TRUE(registered.remove(device.address()).ok());
}

}  // namespace
}  // namespace k2k::router
