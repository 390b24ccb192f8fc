// Goal: an open of a served file by its path renews it first, no other open does, and an ended file
// is never called again.

#include "services/opens/served_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cerrno>
#include <string>
#include <thread>
#include <vector>

namespace k2k::services {
namespace {

void open_by(int number, const char* path) {
  std::uint64_t word[protocol::argument_count] = {};
  const auto address = reinterpret_cast<std::uint64_t>(path);
  word[0] = number == SYS_open ? address : static_cast<std::uint64_t>(AT_FDCWD);
  word[1] = number == SYS_open ? 0 : address;
  refresh_served(static_cast<std::uint16_t>(number), word);
}

TEST(ServedFile, is_renewed_by_each_call_that_opens_its_path) {
  int renewed = 0;
  const auto file = ServedFile::create("/served/5.device", [&] { ++renewed; });
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file.value()->path(), "/served/5.device");
  for (const int number : {SYS_open, SYS_openat, SYS_openat2}) {
    open_by(number, "/served/5.device");
  }
  EXPECT_EQ(renewed, 3);
}

TEST(ServedFile, no_other_path_or_call_renews_it) {
  int renewed = 0;
  const auto file = ServedFile::create("/served/5.device", [&] { ++renewed; });
  ASSERT_TRUE(file);
  for (const char* const path :
       {"/served/5.devic", "/served/5.devices", "/served/5.device/", "5.device", "", "/"}) {
    open_by(SYS_openat, path);
  }
  open_by(SYS_read, "/served/5.device");
  std::uint64_t word[protocol::argument_count] = {0, 8, 0, 0, 0, 0};  // No memory there.
  refresh_served(SYS_openat, word);
  EXPECT_EQ(renewed, 0);
}

TEST(ServedFile, has_a_path_of_at_most_255_bytes) {
  const std::string longest = "/" + std::string(254, 'p');
  int renewed = 0;
  const auto file = ServedFile::create(longest, [&] { ++renewed; });
  ASSERT_TRUE(file) << file.error().message;
  open_by(SYS_openat, longest.c_str());
  EXPECT_EQ(renewed, 1);
  open_by(SYS_openat, (longest + "p").c_str());
  EXPECT_EQ(renewed, 1);
  const auto longer = ServedFile::create(longest + "p", [] {});
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code, EINVAL);
}

TEST(ServedFile, is_not_called_after_its_end) {
  int renewed = 0;
  {
    const auto file = ServedFile::create("/served/5.device", [&] { ++renewed; });
  }
  open_by(SYS_openat, "/served/5.device");
  EXPECT_EQ(renewed, 0);
}

TEST(ServedFile, ends_while_other_threads_open_it) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int at = 0; at < 2; ++at) {
    threads.emplace_back([&] {
      while (!stop.load()) open_by(SYS_openat, "/served/6.device");
    });
  }
  for (int round = 0; round < 200; ++round) {
    std::atomic<bool> ended{false};
    std::atomic<int> late{0};
    {
      const auto file = ServedFile::create("/served/6.device", [&] { late += ended ? 1 : 0; });
      ASSERT_TRUE(file);
      std::this_thread::yield();
    }
    ended = true;
    EXPECT_EQ(late.load(), 0);
  }
  stop = true;
  for (std::thread& one : threads) one.join();
}

TEST(ServedFile, refuses_a_relative_path_and_one_file_too_many) {
  const auto relative = ServedFile::create("5.device", [] {});
  ASSERT_FALSE(relative);
  EXPECT_EQ(relative.error().code, EINVAL);
  EXPECT_EQ(relative.error().message,
            "'5.device' is no absolute path of at most 255 bytes; set K2K_CONTROL_DIR to another "
            "folder");
  std::vector<std::unique_ptr<ServedFile>> files;
  for (std::size_t at = 0; at < served_files_max; ++at) {
    auto one = ServedFile::create("/served/" + std::to_string(at), [] {});
    ASSERT_TRUE(one);
    files.push_back(std::move(one).value());
  }
  const auto more = ServedFile::create("/served/more", [] {});
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ENOSPC);
  EXPECT_EQ(more.error().message,
            "16 runtimes of this process serve a device file; end one, or set control.device_file "
            "= false");
}

}  // namespace
}  // namespace k2k::services
