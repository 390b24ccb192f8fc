// Goal: in exclusive mode a write leaves the file as pwrite(2) would, for any range and any earlier
// content; without that mode nothing is direct, and a write is one call. Method: real files on the
// file system of the test's folder, compared with a model in memory by the page cache, by O_DIRECT
// and through a mapping.

#include "router/read/writes.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "router/read/writes_fixture.hpp"

namespace k2k::router {
namespace {

#if defined(K2K_TSAN) || defined(K2K_ASAN)
constexpr int rounds = 150;
#else
constexpr int rounds = 600;
#endif

TEST(Writes, leave_the_file_as_pwrite_would_for_any_earlier_content) {
  for (const bool exclusive : {true, false}) {
    const auto writer = writer_of(exclusive);
    Modelled data(1 << 20);
    const bool direct = has_direct(data.file());
    std::mt19937_64 random(exclusive ? 11 : 12);
    for (int round = 0; round < rounds; ++round) {
      std::size_t offset = random() % (2 << 20);
      if (random() % 3 == 0) offset = offset / page * page;
      std::size_t bytes = 1 + random() % (200 << 10);
      if (random() % 3 == 0) bytes = (bytes + page) / page * page;
      switch (random() % 10) {
        case 0:
          data.cut(offset);
          break;
        case 1:
          // Unwritten extents, and holes.
          ASSERT_EQ(::fallocate(data.descriptor(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                                static_cast<off_t>(bytes)),
                    0);
          break;
        case 2:
        case 3:
        case 4:
          // Written pages stay cached until they are on the disk.
          ASSERT_EQ(::fdatasync(data.descriptor()), 0);
          data.file().evict();
          break;
        case 5: {
          const Memory memory = memory_of(bytes + 2 * page);
          const ssize_t count = writer->pread(data.descriptor(), memory.get() + offset % page,
                                              bytes, static_cast<std::int64_t>(offset));
          const std::size_t left = offset < data.bytes().size() ? data.bytes().size() - offset : 0;
          ASSERT_EQ(count, static_cast<ssize_t>(std::min(bytes, left)));
          ASSERT_TRUE(std::equal(memory.get() + offset % page, memory.get() + offset % page + count,
                                 data.bytes().begin() + static_cast<std::ptrdiff_t>(std::min(
                                                            offset, data.bytes().size()))));
          break;
        }
        default:
          data.write(*writer, bytes, offset, random(), random() % 8 == 0 ? random() % page : 0);
      }
      if (testing::Test::HasFatalFailure()) return;
      if (round % 50 == 0) data.expect_content();
    }
    data.expect_content();
    const ReaderStats stats = writer->stats();
    EXPECT_EQ(stats.fall_backs, 0u);
    EXPECT_EQ(stats.files_refused, 0u);
    EXPECT_TRUE(!exclusive || !direct || stats.writes_direct > 0);
    EXPECT_TRUE(exclusive || stats.writes_direct == 0);
  }
}

TEST_F(ExclusiveWrites, put_head_and_tail_into_the_page_cache_and_the_rest_past_it) {
  const auto writer = writer_of();
  Modelled data(1 << 20);
  constexpr std::size_t offset = 5 * page + 123;
  constexpr std::size_t bytes = 100 * page;
  data.write(*writer, bytes, offset, 1);
  const ReaderStats stats = writer->stats();
  EXPECT_EQ(stats.writes, 1u);
  EXPECT_EQ(stats.writes_direct, 1u);
  EXPECT_EQ(stats.bytes_direct, 99 * page);
  EXPECT_EQ(stats.bytes_cache, page);
  EXPECT_EQ(cached_pages(data.file(), 6 * page, 105 * page), 0u);
  data.expect_content();
}

TEST_F(ExclusiveWrites, that_are_short_go_through_the_page_cache) {
  const auto writer = writer_of();
  Modelled data(1 << 20);
  data.write(*writer, least - 1, 0, 1);
  data.write(*writer, least + page - 2, 64 * page + 1, 2);
  EXPECT_EQ(writer->stats().writes_direct, 0u) << "the body of the second write is three pages";
  data.write(*writer, least, 128 * page, 3);
  EXPECT_EQ(writer->stats().writes_direct, 1u);
  EXPECT_EQ(writer->stats().bytes_direct, least);
  data.expect_content();
}

TEST_F(ExclusiveWrites, make_files_longer_with_zeros_before_them) {
  const auto writer = writer_of();
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, 3 * page, 3 * page + 77}) {
    for (const std::size_t gap : {std::size_t{0}, std::size_t{100}, 9 * page - 5}) {
      for (const std::size_t bytes : {8 * page, 8 * page + 1, 20 * page - 3}) {
        Modelled data(size);
        data.write(*writer, bytes, size + gap, bytes + gap);
        data.expect_content();
        // A second write continues at the new end.
        data.write(*writer, bytes, data.bytes().size(), bytes);
        data.expect_content();
        writer->closing(data.descriptor());
      }
    }
  }
  EXPECT_GT(writer->stats().writes_direct, 36u);
}

TEST_F(ExclusiveWrites, never_show_earlier_data_of_the_disk) {
  const auto writer = writer_of();
  Modelled data;
  ASSERT_EQ(::fallocate(data.descriptor(), 0, 0, 256 * page), 0);
  data.bytes().resize(256 * page);
  data.write(*writer, 50 * page, 10 * page + 9, 1);
  data.expect_content();
  ASSERT_EQ(::fallocate(data.descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 20 * page,
                        20 * page),
            0);
  std::fill_n(data.bytes().begin() + 20 * page, 20 * page, std::byte{0});
  data.file().evict();
  data.write(*writer, 10 * page, 25 * page + 1, 2);
  data.expect_content();
  EXPECT_EQ(writer->stats().writes_direct, 2u);
}

TEST_F(ExclusiveWrites, leave_pages_that_are_cached_where_they_are) {
  const auto writer = writer_of();
  Modelled data(1 << 20);
  // One page in the middle is enough.
  data.file().cache([](std::size_t at) { return at == 70; });
  data.write(*writer, 100 * page, 7, 1);
  EXPECT_EQ(writer->stats().writes_direct, 0u);
  EXPECT_EQ(writer->stats().bytes_cache, 100 * page);
  data.expect_content();
  // Cached pages in the head and the tail do not matter.
  ASSERT_EQ(::fsync(data.descriptor()), 0);
  data.file().cache([](std::size_t at) { return at == 128 || at == 160; });
  data.write(*writer, 32 * page, 128 * page + 7, 2);
  EXPECT_EQ(writer->stats().writes_direct, 1u);
  data.expect_content();
}

TEST_F(ExclusiveWrites, are_seen_by_mappings_that_were_there_before) {
  const auto writer = writer_of();
  Modelled data(64 * page);
  void* const map =
      ::mmap(nullptr, 64 * page, PROT_READ | PROT_WRITE, MAP_SHARED, data.descriptor(), 0);
  ASSERT_NE(map, MAP_FAILED);
  auto* const mapped = static_cast<std::byte*>(map);
  // The mapping was not read yet: nothing is cached.
  data.write(*writer, 32 * page, 0, 1);
  EXPECT_EQ(writer->stats().writes_direct, 1u);
  EXPECT_TRUE(std::equal(data.bytes().begin(), data.bytes().end(), mapped));
  // Now all pages are cached, and one is dirty.
  mapped[40 * page] = data.bytes()[40 * page] = std::byte{1};
  data.write(*writer, 32 * page, 20 * page, 2);
  EXPECT_EQ(writer->stats().writes_direct, 1u);
  EXPECT_TRUE(std::equal(data.bytes().begin(), data.bytes().end(), mapped));
  ::munmap(map, 64 * page);
  data.expect_content();
}

// Outside of the mode's conditions: a page becomes cached and dirty between the probe and the
// write. Linux writes the page out and drops it, or writes through the page cache itself. The file
// and the mapping have the same content.
TEST_F(ExclusiveWrites, stay_coherent_with_a_mapping_that_is_written_meanwhile) {
  const auto writer = writer_of();
  constexpr std::size_t bytes = 256 * page;
  Modelled data(bytes);
  void* const map =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, data.descriptor(), 0);
  ASSERT_NE(map, MAP_FAILED);
  auto* const mapped = static_cast<std::byte*>(map);
  std::atomic<bool> over{false};
  std::thread dirtier([&] {
    // The last byte of a page; the direct write stores 1 there.
    for (std::size_t at = 0; !over.load(); at = (at + 37) % 256) {
      std::atomic_ref(mapped[at * page + page - 1]).store(std::byte{2});
      if (at % 16 == 0) std::this_thread::yield();
    }
  });
  const Memory source = memory_of(bytes);
  std::memset(source.get(), 1, bytes);
  for (int round = 0; round < 60; ++round) {
    data.file().evict();
    EXPECT_EQ(writer->pwrite(data.descriptor(), source.get(), bytes, 0), ssize_t{bytes});
  }
  over = true;
  dirtier.join();
  const Memory seen = memory_of(bytes);
  auto direct = io::DirectFile::open(data.descriptor(), io::DirectFile::Access::read);
  ASSERT_TRUE(direct.ok());
  ASSERT_EQ(::pread(direct->descriptor(), seen.get(), bytes, 0), ssize_t{bytes});
  EXPECT_EQ(std::memcmp(seen.get(), mapped, bytes), 0);
  for (std::size_t at = 0; at < bytes; ++at) {
    ASSERT_TRUE(seen[at] == std::byte{1} || (at % page == page - 1 && seen[at] == std::byte{2}));
  }
  ::munmap(map, bytes);
}

// Ranges that meet within pages, which are heads and tails.
TEST_F(ExclusiveWrites, of_threads_to_ranges_of_their_own_are_all_there) {
  constexpr int threads_count = 4;
  constexpr std::size_t part = 61 * page + 333;
  const auto writer = writer_of();
  Modelled data(threads_count * part);
  for (std::uint64_t round = 0; round < 8; ++round) {
    ASSERT_EQ(::fdatasync(data.descriptor()), 0);
    data.file().evict();
    std::vector<Source> sources;
    for (std::size_t at = 0; at < threads_count; ++at) {
      sources.emplace_back(part, at * part, round * threads_count + at);
      std::copy_n(sources.back().begin, part,
                  data.bytes().begin() + static_cast<std::ptrdiff_t>(at * part));
    }
    std::vector<std::thread> threads;
    for (std::size_t at = 0; at < threads_count; ++at) {
      threads.emplace_back([&, at] {
        // In two parts: some pages are cached by then, too.
        const auto offset = static_cast<std::int64_t>(at * part);
        EXPECT_EQ(writer->pwrite(data.descriptor(), sources[at].begin, part, offset),
                  static_cast<ssize_t>(part));
      });
    }
    for (std::thread& thread : threads) thread.join();
    data.expect_content();
  }
  EXPECT_GT(writer->stats().writes_direct, 8u);
}

TEST_F(ExclusiveWrites, leave_the_read_ahead_cache_right) {
  const auto writer = writer_of(true, 512);
  Modelled data(4 << 20);
  const Memory memory = memory_of(16 * page);
  const auto read_on = [&](std::size_t from, std::size_t to) {
    for (std::size_t at = from; at < to; at += 16 * page) {
      ASSERT_EQ(
          writer->pread(data.descriptor(), memory.get(), 16 * page, static_cast<std::int64_t>(at)),
          ssize_t{16 * page});
      ASSERT_EQ(std::memcmp(memory.get(), &data.bytes()[at], 16 * page), 0) << at;
    }
  };
  read_on(0, 1 << 20);
  EXPECT_GT(writer->pages_held(), 0u);
  // Pages that are cached, pages that are being read, and pages that are not read yet.
  data.write(*writer, (3 << 20) + 777, 100 * page + 5, 1);
  read_on(1 << 20, 2 << 20);
  data.write(*writer, 100 * page, 900 * page, 2);
  read_on(2 << 20, 4 << 20);
  data.expect_content();
  EXPECT_LE(writer->pages_held(), 512u);
}

// Two threads write whole records to one place. ext4 and XFS admit no O_DIRECT reader between the
// pages of one write(2), but may admit it between two calls.
bool is_seen_torn(bool exclusive) {
  constexpr std::size_t record = 48 * page;
  const auto writer = writer_of(exclusive);
  Modelled data(record + page);
  const int descriptor = data.descriptor();
  auto direct = io::DirectFile::open(descriptor, io::DirectFile::Access::read);
  EXPECT_TRUE(direct.ok());
  Memory first = memory_of(record + page);
  std::memset(first.get(), 1, record + page);
  EXPECT_EQ(::pwrite(descriptor, first.get(), record + page, 0), ssize_t{record + page});
  EXPECT_EQ(::fsync(descriptor), 0);
  data.file().evict();
  std::atomic<int> left{2};
  std::vector<std::thread> threads;
  for (int value = 1; value <= 2; ++value) {
    threads.emplace_back([&, value] {
      const Memory source = memory_of(record + page);
      std::memset(source.get(), value, record + page);
      for (int i = 0; i < 300; ++i) {
        EXPECT_EQ(writer->pwrite(descriptor, source.get() + 100, record, 100), ssize_t{record});
      }
      --left;
    });
  }
  bool torn = false;
  const Memory seen = memory_of(record + page);
  while (left.load() > 0) {
    EXPECT_EQ(::pread(direct->descriptor(), seen.get(), record + page, 0), ssize_t{record + page});
    torn |= std::memcmp(seen.get() + 100, seen.get() + 101, record - 1) != 0;
  }
  for (std::thread& thread : threads) thread.join();
  return torn;
}

TEST_F(ExclusiveWrites, alone_are_more_than_one_call) {
  EXPECT_FALSE(is_seen_torn(false));
  bool torn = false;
  for (int tries = 0; tries < 20 && !torn; ++tries) torn = is_seen_torn(true);
  EXPECT_TRUE(torn) << "the test can see a torn record";
}

}  // namespace
}  // namespace k2k::router
