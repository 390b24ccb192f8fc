// Goal: device code reads a file's true content by every path; the router is used where it is
// faster, and learns of descriptors that are closed.

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "io/file/direct_file.hpp"
#include "router/file/file_fixture.hpp"
#include "tests/conformance/device_under_test.hpp"

namespace k2k::conformance::files_test {
namespace {

using router::DataFile;

constexpr std::size_t file_bytes = 4 << 20;
constexpr std::uint32_t items = 8;
constexpr std::size_t part = file_bytes / items;

RuntimeConfig config_of(bool with_router) {
  RuntimeConfig config;
  config.device.compute_units = 2;
  config.files.router = with_router;
  return config;
}

// Every other 64 KiB is cached.
void half_cached(const DataFile& file) {
  file.cache([](std::size_t at) { return at / 16 % 2 == 0; });
}

// Each item reads its part by one call, back to front, so that read-ahead has no effect.
void read_whole(Runtime& runtime, DataFile& file, std::byte* memory) {
  const int descriptor = file.descriptor();
  long counts[items] = {};
  long* const answers = counts;
  const auto report = runtime.launch({.groups = 1, .group_items = items}, [=] {
    const std::uint32_t item = k2k::item_rank();
    const std::size_t at = (items - 1 - item) * part;
    answers[item] =
        k2k::pread(k2k::work_item, descriptor, memory + at, part, static_cast<std::int64_t>(at));
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  for (const long count : counts) EXPECT_EQ(count, static_cast<long>(part));
  EXPECT_TRUE(std::equal(memory, memory + file_bytes, file.bytes().begin()));
}

TEST(Files, are_read_by_page_cache_and_direct_transfers_together) {
  DataFile file(file_bytes);
  const bool direct = has_direct(file);
  auto runtime = Runtime::create(config_of(true));
  ASSERT_TRUE(runtime.ok()) << runtime.error().message;
  const router::Memory memory = router::memory_of(file_bytes);
  half_cached(file);
  read_whole(runtime.value(), file, memory.get());
  const router::ReaderStats stats = runtime->stats().files;
  EXPECT_EQ(stats.reads, items);
  EXPECT_EQ(stats.fall_backs, 0u);
  if (!direct) GTEST_SKIP() << "no direct transfers in this folder";
  EXPECT_GT(stats.mixed, 0u);
  EXPECT_GT(stats.bytes_direct, 0u);
  EXPECT_EQ(stats.bytes_direct + stats.bytes_cache, file_bytes);
}

TEST(Files, that_are_read_front_to_back_are_read_ahead) {
  DataFile file(file_bytes);
  const bool direct = has_direct(file);
  RuntimeConfig config = config_of(true);
  config.files.read_ahead_pages = 128;
  config.files.read_ahead = runtime::FilesConfig::ReadAhead::bounded;
  auto runtime = Runtime::create(config);
  ASSERT_TRUE(runtime.ok()) << runtime.error().message;
  const router::Memory memory = router::memory_of(file_bytes);
  std::byte* const buffer = memory.get();
  const int descriptor = file.descriptor();
  file.evict();
  long count = 0;
  long* const answer = &count;
  const auto report = runtime->launch({.groups = 1, .group_items = 1}, [=] {
    constexpr std::size_t bytes = 32 * 1024;
    for (std::size_t at = 0; at < file_bytes; at += bytes) {
      *answer +=
          k2k::pread(k2k::work_item, descriptor, buffer + at, bytes, static_cast<std::int64_t>(at));
    }
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(count, static_cast<long>(file_bytes));
  EXPECT_TRUE(std::equal(buffer, buffer + file_bytes, file.bytes().begin()));
  const router::ReaderStats stats = runtime->stats().files;
  EXPECT_LE(stats.pages_held, 128u);
  if (!direct) GTEST_SKIP() << "no direct transfers in this folder: the kernel reads ahead";
  EXPECT_GT(stats.pages_ahead, file_bytes / 4096 / 2);
}

TEST(Files, come_by_plain_calls_if_the_configuration_says_so) {
  DataFile file(file_bytes);
  auto runtime = Runtime::create(config_of(false));
  ASSERT_TRUE(runtime.ok()) << runtime.error().message;
  const router::Memory memory = router::memory_of(file_bytes);
  half_cached(file);
  read_whole(runtime.value(), file, memory.get());
  EXPECT_EQ(runtime->stats().files.reads, 0u);
}

TEST(Files, that_device_code_closes_leave_nothing_open) {
  DataFile file(file_bytes);
  const bool direct = has_direct(file);
  auto runtime = Runtime::create(config_of(true));
  ASSERT_TRUE(runtime.ok()) << runtime.error().message;
  const router::Memory memory = router::memory_of(file_bytes);
  file.evict();
  read_whole(runtime.value(), file, memory.get());
  const auto is_open = [](int descriptor) { return ::fcntl(descriptor, F_GETFD) >= 0; };
  EXPECT_EQ(is_open(io::twin_number_min), direct) << "the twin's number";
  const int copy = ::dup(file.descriptor());
  const int unread = ::dup(file.descriptor());
  long answer = -1;
  long* const place = &answer;
  std::byte* const to = memory.get();
  const auto close_of = [&](int descriptor, bool read_before) {
    const auto report = runtime->launch({.groups = 1, .group_items = 1}, [=] {
      if (read_before) k2k::pread(k2k::work_item, descriptor, to, file_bytes, 0);
      *place = k2k::close(k2k::work_item, descriptor);
    });
    ASSERT_TRUE(report.ok()) << report.error().message;
  };
  close_of(unread, false);
  EXPECT_FALSE(is_open(unread));
  EXPECT_EQ(is_open(io::twin_number_min), direct)
      << "other descriptors that read the file keep the twin";
  file.evict();
  close_of(copy, true);
  EXPECT_EQ(answer, 0);
  EXPECT_FALSE(is_open(copy));
  EXPECT_FALSE(is_open(io::twin_number_min));
  file.evict();
  read_whole(runtime.value(), file, memory.get());
}

TEST(Files, answer_errors_as_the_kernel_does) {
  auto runtime = Runtime::create(config_of(true));
  ASSERT_TRUE(runtime.ok()) << runtime.error().message;
  DataFile file(file_bytes);
  const router::Memory memory = router::memory_of(file_bytes);
  std::byte* const buffer = memory.get();
  const int descriptor = file.descriptor();
  long answers[4] = {};
  long* const place = answers;
  const auto report = runtime->launch({.groups = 1, .group_items = 1}, [=] {
    place[0] = k2k::pread(k2k::work_item, -1, buffer, part, 0);
    place[1] = k2k::pread(k2k::work_item, descriptor, buffer, part, -1);
    place[2] = k2k::pread(k2k::work_item, descriptor, buffer, part, file_bytes);
    place[3] = k2k::pwrite(k2k::work_item, descriptor, buffer, part, 0);
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(answers[0], -EBADF);
  EXPECT_EQ(answers[1], -EINVAL);
  EXPECT_EQ(answers[2], 0);
  EXPECT_EQ(answers[3], static_cast<long>(part));
}

}  // namespace
}  // namespace k2k::conformance::files_test
