// Goal: a file costs the same as plain reads until the router can gain time (expectation.hpp).
// Method: real files on the file system of the test's folder, with the product's settings, into
// memory of each port.

#include <array>
#include <cerrno>

#include "base/clock.hpp"
#include "io/file/residency.hpp"
#include "router/file/file_fixture.hpp"
#include "router/file/open_files.hpp"
#include "router/read/file_reader.hpp"
#include "router/read/file_reader_fixture.hpp"

namespace k2k::router {
namespace {

// The product's settings: nothing is set up for a file until the router can gain time.
class Outside : public WithMemory {
 protected:
  Outside() { copy_at_once(); }

  [[nodiscard]] std::unique_ptr<FileReader> product(std::uint32_t pages = 0,
                                                    bool where_free = false) const {
    return make({.model = slow_device(),
                 .channels_max = 2,
                 .small_file_bytes = small_file_bytes_default,
                 .trial_bytes = trial_bytes_default,
                 .grain_pages = 1,
                 .partition_pages = pages,
                 .partition_where_free = where_free});
  }
  // The number of K2K's own descriptors: twins, and descriptors of engines.
  static int own_descriptors() {
    int own = 0;
    for (int at = 0; at < own_numbers_max; ++at) own += is_own(at) ? 1 : 0;
    return own;
  }
  static void cache(DataFile& file) {
    file.cache([](std::size_t) { return true; });
  }
};
K2K_BOTH_PORTS(Outside);

TEST_P(Outside, small_files_are_plain_reads_for_any_request) {
  DataFile file(small_file_bytes_default);
  for (const std::uint32_t pages : {0u, 2048u}) {
    const auto read = product(pages);
    const int before = own_descriptors();
    for (const std::size_t bytes : {std::size_t{20'000}, file.size(), std::size_t{8} << 20}) {
      file.evict();
      expect_read(*read, file, bytes, 0);
      expect_read(*read, file, bytes, 50'000);
      expect_read(*read, file, bytes, file.size());
    }
    EXPECT_EQ(own_descriptors(), before);
    EXPECT_EQ(read->stats().unprobed, 9u);
    EXPECT_EQ(read->stats().bytes_direct, 0u);
    read->closing(file.descriptor());
  }
}

TEST_P(Outside, a_large_file_that_is_cached_is_plain_reads_too) {
  DataFile file(6 << 20);
  cache(file);
  if (io::cached_pages(file.descriptor(), {0, 1}) != 1) GTEST_SKIP() << "no cachestat(2) here";
  // A reader that loses its core during the read seems to wait for a disk, and enters the file: not
  // each time. A page that Linux takes back would be read directly, and be missing in the next
  // turn.
  bool plain = false;
  for (int turn = 0; turn < 500 && !plain; ++turn) {
    cache(file);
    const auto read = product();
    const int before = own_descriptors();
    expect_read(*read, file, 4 << 20, 4096);
    plain = own_descriptors() == before && read->stats().probed == 0;
  }
  EXPECT_TRUE(plain);
}

TEST_P(Outside, a_long_uncached_read_enters_the_file_until_it_is_closed) {
  DataFile file(6 << 20);
  if (!has_direct(file)) GTEST_SKIP() << "no direct transfers in this folder";
  const auto read = product();
  const int before = own_descriptors();
  for (int round = 0; round < 2; ++round) {
    file.evict();
    expect_read(*read, file, 4 << 20, 0);
    EXPECT_EQ(read->stats().bytes_direct, (round + 1u) * (4 << 20));
    EXPECT_GT(own_descriptors(), before) << "the twin is open";
    const int entered = own_descriptors();
    read->closing(file.descriptor());
    EXPECT_EQ(own_descriptors(), entered - 1) << "the twin is closed";
  }
  // A reader that loses its core seems to wait for a disk, and enters the file.
  bool probes = true;
  for (int round = 0; round < 500 && probes; ++round) {
    cache(file);
    const std::uint64_t probed = read->stats().probed;
    expect_read(*read, file, 4 << 20, 0);
    if (io::cached_pages(file.descriptor(), {0, 1}) != 1) GTEST_SKIP() << "no cachestat(2) here";
    probes = read->stats().probed != probed;
    read->closing(file.descriptor());
  }
  EXPECT_FALSE(probes) << "outside again";
}

TEST_P(Outside, a_short_read_that_is_slower_than_memory_enters_the_file) {
  DataFile file(6 << 20);
  if (!has_direct(file)) GTEST_SKIP() << "no direct transfers in this folder";
  const auto read = product();
  // The disk's speed is unknown, but no disk is always as fast as memory.
  for (int round = 0; round < 200 && read->stats().bytes_direct == 0; ++round) {
    file.evict();
    expect_read(*read, file, 64 << 10, (static_cast<std::size_t>(round) * 37 % 90) << 16);
  }
  EXPECT_GT(read->stats().bytes_direct, 0u);
}

TEST_P(Outside, with_bounded_read_ahead_every_larger_file_is_entered) {
  DataFile file(6 << 20);
  if (!has_direct(file)) GTEST_SKIP() << "no direct transfers in this folder";
  file.evict();
  const auto read = product(2048, false);
  const int before = own_descriptors();
  expect_read(*read, file, 64 << 10, 0);
  EXPECT_GT(own_descriptors(), before);
}

TEST_P(Outside, advice_that_is_kept_enters_a_file) {
  DataFile file(6 << 20);
  if (!has_direct(file)) GTEST_SKIP() << "no direct transfers in this folder";
  file.evict();
  const auto read = product(2048, true);
  ASSERT_EQ(read->advise(file.descriptor(), 0, 0, POSIX_FADV_RANDOM), 0);
  expect_read(*read, file, 64 << 10, 1 << 20);
  EXPECT_EQ(read->stats().bytes_direct, 64u << 10) << "at its first request";
}

TEST_P(Outside, a_read_that_may_not_wait_is_answered_from_memory_or_not_at_all) {
  DataFile file((1 << 20) + 4096 + 100);
  const auto read = product();
  const auto tried = [&](std::size_t bytes, std::size_t offset) {
    return read->try_pread(file.descriptor(), address(), bytes, static_cast<std::int64_t>(offset));
  };
  cache(file);
  const std::size_t whole_pages = file.size() / page * page;
  for (const auto& [bytes, offset, answer] : {std::array<std::size_t, 3>{100, 5, 100},
                                              {65536, 4096, 65536},
                                              {65536, whole_pages, 100},
                                              {65536, file.size(), 0},
                                              {65536, file.size() + 8192, 0},
                                              {0, 0, 0}}) {
    const ssize_t count = tried(bytes, offset);
    if (count == -EAGAIN) GTEST_SKIP() << "no RWF_NOWAIT on this file system";
    ASSERT_EQ(count, static_cast<ssize_t>(answer)) << bytes << " at " << offset;
    ASSERT_TRUE(std::equal(inside(), inside(answer),
                           file.bytes().begin() + static_cast<std::ptrdiff_t>(offset)));
  }
  EXPECT_EQ(tried(1 << 20, 0), -EAGAIN) << "a long read needs a plan";
  EXPECT_EQ(read->try_pread(-1, address(), 100, 0), -EBADF);
  EXPECT_EQ(read->try_pread(file.descriptor(), address(), 100, -1), -EINVAL);
  EXPECT_EQ(read->stats().reads, 8u) << "reads left to other threads do not count";
  if (is_host()) {
    EXPECT_EQ(read->try_pread(file.descriptor(), nullptr, 100, 0), -EFAULT);
  }
  file.evict();
  EXPECT_EQ(tried(65536, 0), -EAGAIN);
}

TEST_P(Outside, long_reads_of_cached_files_need_no_waiting_thread) {
  DataFile file(4 << 20);
  const auto read = product();
  cache(file);
  const auto tried = [&](std::size_t bytes) {
    return read->try_pread(file.descriptor(), address(), bytes, 0);
  };
  EXPECT_EQ(tried(1 << 20), -EAGAIN) << "the file is unknown";
  // An interrupted read teaches the opposite for a while.
  const std::size_t most = is_host() ? 1 << 20 : trial_bytes_default;
  for (int again = 0; again < 200 && tried(most) == -EAGAIN; ++again) {
    expect_read(*read, file, 64 << 10, 1 << 20);
  }
  EXPECT_EQ(tried(most), static_cast<ssize_t>(most));
  if (!is_host()) {
    EXPECT_EQ(tried(most + page), -EAGAIN) << "its copies overlap with reads in pread()";
  }
}

TEST_P(Outside, a_read_of_a_file_system_that_cannot_tell_is_made_at_once) {
  const int status = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(status, 0);
  const auto read = product();
  EXPECT_GT(read->try_pread(status, address(), 100, 0), 0);
  EXPECT_GT(read->try_pread(status, address(), 64 << 10, 0), 0);
  EXPECT_EQ(read->stats().reads, 2u);
  ::close(status);
}

TEST_P(Outside, a_file_that_ends_with_a_page_does_not_look_cached_in_part) {
  DataFile file(16 * page);
  const auto read = product();
  const auto tried = [&] { return read->try_pread(file.descriptor(), address(), 32 * page, 0); };
  cache(file);
  const ssize_t count = tried();
  if (count == -EAGAIN) GTEST_SKIP() << "no RWF_NOWAIT on this file system";
  EXPECT_EQ(count, ssize_t{16 * page});
  file.cache([](std::size_t at) { return at < 8; });
  EXPECT_EQ(tried(), -EAGAIN);
}

TEST_P(Outside, tells_which_reads_are_plain) {
  DataFile file(4 << 20);
  DataFile small(small_file_bytes_default, 2);
  file.evict();
  const auto read = product();
  const int before = own_descriptors();
  const auto is_plain = [&](DataFile& of, std::size_t bytes) {
    return read->is_plain(of.descriptor(), bytes, 0);
  };
  EXPECT_TRUE(is_plain(file, 100));
  EXPECT_TRUE(is_plain(file, trial_bytes_default));
  EXPECT_FALSE(is_plain(file, trial_bytes_default + 1)) << "it would be planned";
  EXPECT_TRUE(is_plain(small, 8 << 20));
  EXPECT_FALSE(read->is_plain(file.descriptor(), 100, -1));
  EXPECT_FALSE(read->is_plain(-1, 100, 0));
  EXPECT_TRUE(is_plain(file, 64 << 10)) << "is_plain() enters no file";
  EXPECT_EQ(own_descriptors(), before);
  EXPECT_EQ(read->stats().reads, 0u);
}

TEST_P(Outside, a_plain_read_of_the_caller_counts_as_a_read) {
  DataFile file(4 << 20);
  const auto read = product();
  const int descriptor = file.descriptor();
  const auto read_within = [&](std::size_t bytes, ssize_t count, std::uint32_t us) {
    read->note_plain(descriptor, bytes, 0, count, cycles() - cycles_of(us));
  };
  constexpr std::uint32_t fast_us = 0;
  constexpr std::uint32_t slow_us = 100'000;
  read_within(100, 100, slow_us);
  read_within(64 << 10, 5000, slow_us);
  read_within(64 << 10, -EIO, slow_us);
  read_within(64 << 10, 64 << 10, fast_us);
  EXPECT_TRUE(read->is_plain(descriptor, 64 << 10, 0)) << "no read was long, whole and slow";
  read_within(64 << 10, 64 << 10, slow_us);
  EXPECT_FALSE(read->is_plain(descriptor, 64 << 10, 0)) << "the file is entered";
  EXPECT_TRUE(read->is_plain(descriptor, 100, 0));
  EXPECT_EQ(read->stats().reads, 5u);
  EXPECT_EQ(read->stats().unprobed, 5u);
  EXPECT_EQ(read->stats().bytes_cache, 100u + 5000 + 2 * (64 << 10));
}

}  // namespace
}  // namespace k2k::router
