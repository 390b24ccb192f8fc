// Goal: what the page cache has is read at once and what it has not is said so, whatever a
// descriptor's streak; a streak is 64 short reads, and ends with the first that waits. Method: a
// file of which pages are evicted; streaks are made by reading.

#include "router/read/cached_read.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "router/file/file_fixture.hpp"

namespace k2k::router {
namespace {

constexpr std::size_t cached_file_bytes = 64 * page + 777;

class CachedRead : public testing::Test {
 protected:
  CachedRead() {
    file.cache([](std::size_t) { return true; });
  }
  std::int64_t read(std::size_t bytes, std::int64_t offset) {
    return reads.pread(file.descriptor(), memory.get(), bytes, offset);
  }
  void read_short(std::uint32_t times) {
    for (std::uint32_t at = 0; at < times; ++at) {
      ASSERT_EQ(read(100, (at % 64) * static_cast<std::int64_t>(page)), 100);
    }
  }
  [[nodiscard]] bool is_plain() const { return reads.is_plain(file.descriptor(), page); }

  DataFile file{cached_file_bytes};
  Memory memory = memory_of(2 * cached_file_bytes);
  CachedReads reads;
};

TEST_F(CachedRead, is_plain_after_sixty_four_short_reads) {
  read_short(CachedReads::streak_from - 1);
  EXPECT_FALSE(is_plain());
  read_short(1);
  EXPECT_TRUE(is_plain());
  EXPECT_FALSE(reads.is_plain(file.descriptor(), CachedReads::short_bytes + 1));
  read_short(300);
  EXPECT_TRUE(is_plain());
}

TEST_F(CachedRead, of_more_than_short_bytes_makes_no_streak) {
  for (int at = 0; at < 200; ++at) {
    ASSERT_EQ(read(CachedReads::short_bytes + 1, 0),
              static_cast<std::int64_t>(CachedReads::short_bytes + 1));
  }
  EXPECT_FALSE(is_plain());
}

TEST_F(CachedRead, answers_as_the_kernel_does_tried_and_plain) {
  for (const bool plain : {false, true}) {
    if (plain) read_short(CachedReads::streak_from);
    ASSERT_EQ(is_plain(), plain);
    ASSERT_EQ(read(2 * page, 5), static_cast<std::int64_t>(2 * page));
    EXPECT_TRUE(std::equal(memory.get(), memory.get() + 2 * page, file.bytes().begin() + 5));
    EXPECT_EQ(read(page, 64 * page), 777);
    EXPECT_EQ(read(page, cached_file_bytes), 0);
    EXPECT_EQ(read(0, 0), 0);
    EXPECT_EQ(reads.pread(file.descriptor(), nullptr, page, 0), -EFAULT);
    EXPECT_EQ(reads.pread(-1, memory.get(), page, 0), -EBADF);
    const std::int64_t refused = read(page, -1);
    EXPECT_TRUE(refused == -EINVAL || refused == -EOPNOTSUPP) << refused;
  }
}

TEST_F(CachedRead, of_impossible_lengths_is_left_to_a_plain_call) {
  EXPECT_EQ(read(SIZE_MAX, 0), -EOPNOTSUPP);
  EXPECT_EQ(read(SIZE_MAX / 2, 0), -EOPNOTSUPP);
}

TEST_F(CachedRead, that_waited_ends_all_streaks) {
  read_short(CachedReads::streak_from);
  reads.note_waited();
  EXPECT_FALSE(is_plain());
  read_short(CachedReads::streak_from - 1);
  EXPECT_FALSE(is_plain());
  read_short(1);
  EXPECT_TRUE(is_plain());
}

TEST_F(CachedRead, of_a_number_that_was_closed_begins_anew) {
  read_short(CachedReads::streak_from);
  reads.note_closed(file.descriptor() + 1);
  EXPECT_TRUE(is_plain());
  reads.note_closed(file.descriptor());
  EXPECT_FALSE(is_plain());
  reads.note_closed(-1);
  reads.note_closed(CachedReads::descriptors_max);
}

TEST_F(CachedRead, of_a_high_number_is_always_tried) {
  const int high = ::fcntl(file.descriptor(), F_DUPFD_CLOEXEC, CachedReads::descriptors_max);
  if (high < 0) GTEST_SKIP() << "the limit of descriptors is too low";
  for (int at = 0; at < 200; ++at) ASSERT_EQ(reads.pread(high, memory.get(), 100, 0), 100);
  EXPECT_FALSE(reads.is_plain(high, 100));
  ::close(high);
}

TEST_F(CachedRead, of_uncached_pages_says_so_and_ends_the_streak) {
  read_short(CachedReads::streak_from - 1);
  file.evict();
  if (read(page, 32 * page) != -EAGAIN) GTEST_SKIP() << "nothing of a file is evicted here";
  file.cache([](std::size_t) { return true; });
  read_short(CachedReads::streak_from - 1);
  EXPECT_FALSE(is_plain());
  read_short(1);
  file.evict();
  ASSERT_EQ(read(page, 48 * page), static_cast<std::int64_t>(page)) << "plain: it waits";
  EXPECT_TRUE(std::equal(memory.get(), memory.get() + page, file.bytes().begin() + 48 * page));
}

TEST_F(CachedRead, of_a_file_system_that_cannot_tell_is_left_to_a_plain_call) {
  const int status = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(status, 0);
  EXPECT_EQ(reads.pread(status, memory.get(), page, 0), -EOPNOTSUPP);
  ::close(status);
}

}  // namespace
}  // namespace k2k::router
