// Goal: sequential device reads find their pages read ahead. Pages that are in the page cache for
// no other reason never exceed the bound, and are evicted when the file is closed; no other page is
// evicted with them. Method: real files, read through the reader of each port as by a program; the
// test's own mincore queries the page cache, with a margin for a Linux that evicts by itself.

#include "router/ahead/prefetch.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include "router/ahead/comes_true_fixture.hpp"
#include "router/ahead/read_ahead_setting.hpp"
#include "router/read/file_reader_fixture.hpp"

namespace k2k::router {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t bound = 256;  // Pages.
constexpr std::size_t prefetched_file_pages = 4096;

// The file's whole pages [first, end) that are cached.
std::size_t cached_of(int descriptor, std::size_t first, std::size_t end) {
  std::vector<unsigned char> pages(end - first);
  void* const mapped = ::mmap(nullptr, pages.size() * page, PROT_NONE, MAP_SHARED, descriptor,
                              static_cast<off_t>(first * page));
  EXPECT_NE(mapped, MAP_FAILED);
  EXPECT_EQ(::mincore(mapped, pages.size() * page, pages.data()), 0);
  ::munmap(mapped, pages.size() * page);
  return static_cast<std::size_t>(
      std::ranges::count_if(pages, [](unsigned char each) { return (each & 1) != 0; }));
}

std::size_t cached(const DataFile& file, std::size_t first = 0,
                   std::size_t end = prefetched_file_pages) {
  return cached_of(file.descriptor(), first, end);
}

class Prefetching : public WithMemory {
 protected:
  Prefetching() : file(prefetched_file_pages * page) {
    copy_at_once();
    file.evict();
    can_be = io::DirectFile::open(file.descriptor(), io::DirectFile::Access::read).ok();
  }
  void SetUp() override {
    if (!can_be) GTEST_SKIP() << "no direct transfers in this folder: the kernel reads ahead";
  }
  [[nodiscard]] std::unique_ptr<FileReader> reader(std::uint32_t partition_pages = bound) const {
    return make({.model = slow_device(), .partition_pages = partition_pages});
  }
  // Compares the bytes; after each request, the read-ahead cache is within its bound, or soon is:
  // an eviction that takes long delays no reader for ever. Threads read to different places.
  void read_all_of(FileReader& read, std::size_t first, std::size_t end, std::size_t request,
                   std::uint64_t held_most = bound, std::size_t place = 0) {
    for (std::size_t at = first * page; at < end * page; at += request) {
      const std::size_t bytes = std::min(request, end * page - at);
      ASSERT_EQ(read.pread(file.descriptor(), address(place), bytes, static_cast<std::int64_t>(at)),
                static_cast<ssize_t>(bytes));
      ASSERT_EQ(std::memcmp(inside(place), &file.bytes()[at], bytes), 0) << at;
      ASSERT_TRUE(comes_true([&] { return read.stats().pages_held <= held_most; }));
    }
  }

  DataFile file;
  bool can_be = false;
};
K2K_BOTH_PORTS(Prefetching);

// A child of fork() has no device.
class PrefetchingOnHost : public Prefetching {};
INSTANTIATE_TEST_SUITE_P(, PrefetchingOnHost, testing::Values(Into::host), name_of);

TEST_P(Prefetching, reads_ahead_of_a_stream_within_the_bound) {
  for (const std::size_t request : {page, 4 * page, 5 * page + 512, 16 * page}) {
    file.evict();
    const auto read = reader();
    read_all_of(*read, 0, prefetched_file_pages, request);
    const ReaderStats stats = read->stats();
    EXPECT_GE(stats.pages_ahead, prefetched_file_pages / 2) << request;
    EXPECT_LE(stats.pages_ahead, prefetched_file_pages + bound)
        << "each page once, except for early evictions";
    EXPECT_GE(stats.pages_held, bound / 2);
    EXPECT_TRUE(comes_true([&] { return cached(file) <= bound + 64; }))
        << cached(file) << " pages are cached, reading " << request << " bytes each";
    EXPECT_GE(read->stats().pages_evicted, stats.pages_ahead - stats.pages_held - bound);
  }
}

TEST_P(Prefetching, evicts_no_page_that_others_cached) {
  constexpr std::size_t theirs_first = 1024, theirs = 512;
  file.cache([](std::size_t at) { return at >= theirs_first && at < theirs_first + theirs; });
  {
    const auto read = reader();
    const std::size_t before = cached(file);
    read_all_of(*read, 0, prefetched_file_pages, 4 * page);
    EXPECT_LE(read->stats().pages_ahead, prefetched_file_pages - before / 2);
    read->closing(file.descriptor());
    EXPECT_EQ(read->stats().pages_held, 0u);
  }
  const std::size_t left = cached(file, theirs_first, theirs_first + theirs);
  EXPECT_GE(left, theirs / 2) << "of " << theirs;
  // Cached are also the pages between them and the windows' ends. Pages that are still being read
  // leave the page cache a little later.
  EXPECT_TRUE(comes_true([&] { return cached(file) <= left + bound + 64; })) << cached(file) - left;
}

TEST_P(Prefetching, ends_with_the_descriptor) {
  const auto read = reader();
  read_all_of(*read, 0, 200, 4 * page);
  EXPECT_GT(read->stats().pages_held, 0u);
  read->closing(file.descriptor());
  EXPECT_EQ(read->stats().pages_held, 0u);
  EXPECT_TRUE(comes_true([&] { return cached(file) <= 64; })) << cached(file);
}

TEST_P(Prefetching, stops_tracking_pages_that_others_use) {
  const auto read = reader(prefetched_file_pages);
  read_all_of(*read, 0, 128, 4 * page, prefetched_file_pages);
  const std::uint64_t held = read->stats().pages_held;
  ASSERT_GE(held, 128u);
  std::memcpy(inside(), file.bytes().data(), 8 * page);
  ASSERT_EQ(read->pwrite(file.descriptor(), address(), 8 * page, 0), 8 * page);
  EXPECT_EQ(read->stats().pages_held, held - 8) << "the writer's pages are no longer tracked";
  ASSERT_EQ(read->advise(file.descriptor(), 8 * page, 8 * page, POSIX_FADV_WILLNEED), 0);
  EXPECT_EQ(read->stats().pages_held, held - 16);
  ASSERT_EQ(read->advise(file.descriptor(), 0, 0, POSIX_FADV_DONTNEED), 0);
  EXPECT_EQ(read->stats().pages_held, 0u) << "the advice covers the whole file";
}

TEST_P(Prefetching, has_nothing_to_do_with_random_reads) {
  const auto read = reader();
  std::mt19937_64 random(7);
  for (int request = 0; request < 200; ++request) {
    // At most every other stretch of 16 pages, never the first: no request follows another.
    const std::size_t at = (1 + random() % (prefetched_file_pages / 64 - 1)) * 64 * page;
    ASSERT_EQ(read->pread(file.descriptor(), address(), 16 * page, static_cast<off_t>(at)),
              static_cast<ssize_t>(16 * page));
  }
  // To the rule, as to Linux, a repeated request is the neighbour of a window.
  EXPECT_LE(read->stats().pages_ahead, 16u * 64);
}

TEST_P(Prefetching, is_off_for_a_file_declared_random) {
  const auto read = reader();
  ASSERT_EQ(read->advise(file.descriptor(), 0, 0, POSIX_FADV_RANDOM), 0);
  read_all_of(*read, 0, 512, 4 * page);
  EXPECT_EQ(read->stats().pages_ahead, 0u);
  ASSERT_EQ(read->advise(file.descriptor(), 0, 0, POSIX_FADV_NORMAL), 0);
  read_all_of(*read, 512, 1024, 4 * page);
  EXPECT_GT(read->stats().pages_ahead, 0u);
}

TEST_P(Prefetching, has_larger_windows_for_a_file_declared_sequential) {
  const auto ahead_of_first = [&](int advice) {
    // Pages that are still being read or written stay for a while.
    const auto nothing_is_cached = [&] { return file.evict(), cached(file) == 0; };
    EXPECT_TRUE(comes_true(nothing_is_cached)) << cached(file);
    const auto read = reader(read_ahead_pages_max);
    EXPECT_EQ(read->advise(file.descriptor(), 0, 0, advice), 0);
    EXPECT_EQ(read->pread(file.descriptor(), address(), 64 * page, 0), 64 * page);
    EXPECT_EQ(read->pread(file.descriptor(), address(), 64 * page, 64 * page), 64 * page);
    return read->stats().pages_ahead;
  };
  const std::uint64_t normal = ahead_of_first(POSIX_FADV_NORMAL);
  EXPECT_GE(ahead_of_first(POSIX_FADV_SEQUENTIAL), normal);
}

TEST_P(Prefetching, is_left_to_the_kernel_if_switched_off) {
  const auto read = reader(0);
  read_all_of(*read, 0, prefetched_file_pages, 4 * page);
  const ReaderStats stats = read->stats();
  EXPECT_EQ(stats.pages_ahead, 0u);
  EXPECT_EQ(stats.pages_evicted, 0u);
  const auto refused = MemoryOf(GetParam()).create({.partition_pages = read_ahead_pages_max + 1});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, EINVAL);
}

TEST_P(Prefetching, serves_the_parts_of_a_file_to_threads) {
  const auto read = reader();
  constexpr std::size_t parts = 6;
  std::vector<std::thread> threads;
  for (std::size_t part = 0; part < parts; ++part) {
    threads.emplace_back([&, part] {
      const std::size_t size = prefetched_file_pages / parts;
      read_all_of(*read, part * size, (part + 1) * size, 4 * page, bound, part << 20);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const ReaderStats stats = read->stats();
  EXPECT_GT(stats.pages_ahead, prefetched_file_pages / 4);
  EXPECT_TRUE(comes_true([&] { return cached(file) <= bound + 64 * parts; })) << cached(file);
}

TEST_P(PrefetchingOnHost, begins_anew_in_a_forked_child) {
#if defined(K2K_TSAN)
  // ThreadSanitizer ends a child that starts a thread, here the evicting thread.
  constexpr std::size_t pages = bound / 4;
#else
  constexpr std::size_t pages = 4 * bound;
#endif
  const auto read = reader();
  read_all_of(*read, 0, 256, 4 * page);
  const pid_t child = ::fork();
  if (child == 0) {
    read->after_fork_child();
    const bool empty = read->stats().pages_held == 0;
    const Memory memory = memory_of(4 * page);
    bool right = true;
    for (std::size_t at = 1024 * page; at < (1024 + pages) * page; at += 4 * page) {
      right &= read->pread(file.descriptor(), memory.get(), 4 * page, static_cast<off_t>(at)) ==
                   static_cast<ssize_t>(4 * page) &&
               std::memcmp(memory.get(), &file.bytes()[at], 4 * page) == 0;
    }
    ::_exit(!empty ? 1 : !right ? 2 : read->stats().pages_held > bound ? 3 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
  read_all_of(*read, 256, 512, 4 * page);
}

TEST_P(Prefetching, does_not_guess_the_cached_pages) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs a file of another user";
  ASSERT_EQ(::chmod(file.path().c_str(), 0444), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t nobody = 65534;
    const int other = ::open(file.path().c_str(), O_RDONLY | O_CLOEXEC);
    if (::setuid(nobody) != 0 || other < 0) ::_exit(1);
    const auto read = reader();
    for (std::size_t at = 0; at < 512 * page; at += 4 * page) {
      if (read->pread(other, address(), 4 * page, static_cast<off_t>(at)) !=
          static_cast<ssize_t>(4 * page)) {
        ::_exit(2);
      }
    }
    ::_exit(read->stats().pages_ahead == 0 ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}

// Files of zeros without blocks, larger than Linux' read-ahead; the bound has just the room for its
// windows.
class Accompanying : public WithMemory {
 protected:
  void SetUp() override {
    copy_at_once();
    const char* const folder = std::getenv("TMPDIR");
    path = std::string(folder == nullptr ? "." : folder) + "/k2k-router-XXXXXX";
    descriptor = ::mkostemp(path.data(), O_CLOEXEC);
    ASSERT_GE(descriptor, 0);
    const std::uint64_t window = read_ahead_pages(descriptor);
    most = std::max<std::uint64_t>(512, std::bit_ceil(8 * window));
    pages = 4 * most;
    request = std::min<std::uint64_t>(16, std::max<std::uint64_t>(1, window)) * page;
    if (window == 0 || pages > 262'144) GTEST_SKIP() << "windows of " << window << " pages";
    ASSERT_EQ(::ftruncate(descriptor, static_cast<off_t>(pages * page)), 0);
    if (!io::DirectFile::open(descriptor, io::DirectFile::Access::read).ok()) {
      GTEST_SKIP() << "no direct transfers in this folder: the kernel reads ahead";
    }
  }
  void TearDown() override {
    ::close(descriptor);
    ::unlink(path.c_str());
  }

  [[nodiscard]] std::unique_ptr<FileReader> reader_of(std::uint64_t bound_pages) const {
    return make(
        {.partition_pages = static_cast<std::uint32_t>(bound_pages), .partition_where_free = true});
  }
  // `each` after every 64th request. Threads read to different places.
  void read_to(
      FileReader& reader, std::uint64_t first, std::uint64_t end,
      const std::function<void()>& each = [] {}, std::size_t place = 0) const {
    const std::vector<std::byte> zeros(request);
    std::size_t count = 0;
    for (std::uint64_t at = first * page; at < end * page; at += request) {
      ASSERT_EQ(reader.pread(descriptor, address(place), request, static_cast<std::int64_t>(at)),
                static_cast<ssize_t>(request));
      ASSERT_EQ(std::memcmp(inside(place), zeros.data(), request), 0);
      ASSERT_LE(reader.stats().pages_held, most);
      if (++count % 64 == 0) each();
    }
  }
  [[nodiscard]] std::size_t cached(std::uint64_t first, std::uint64_t end) const {
    return cached_of(descriptor, first, end);
  }

  std::string path;
  int descriptor = -1;
  std::uint64_t most = 0;     // Pages that the reader may hold.
  std::uint64_t pages = 0;    // Of the file.
  std::uint64_t request = 0;  // Bytes.
};
K2K_BOTH_PORTS(Accompanying);

TEST_P(Accompanying, a_stream_leaves_it_to_the_kernel_within_the_bound) {
  const auto read = reader_of(most);
  read_to(*read, 0, pages, [&] { EXPECT_LE(cached(0, pages), most); });
  const ReaderStats stats = read->stats();
  EXPECT_GE(stats.pages_ahead, pages / 2);
  EXPECT_LE(stats.pages_ahead, pages);
  EXPECT_GE(stats.pages_evicted + stats.pages_held, stats.pages_ahead);
  EXPECT_EQ(stats.pages_again, 0u);
  read->closing(descriptor);
  EXPECT_EQ(read->stats().pages_held, 0u);
  EXPECT_TRUE(comes_true([&] { return cached(0, pages) == 0; })) << cached(0, pages);
}

TEST_P(Accompanying, is_off_if_the_kernels_windows_do_not_fit) {
  const auto read = reader_of(4);
  read_to(*read, 0, most);
  EXPECT_EQ(read->stats().pages_ahead, 0u);
  EXPECT_EQ(read->stats().pages_evicted, 0u);
  EXPECT_EQ(read->pages_held(), 0u);
  EXPECT_GE(cached(0, most), most / 2) << "the kernel read them ahead and keeps them";
}

TEST_P(Accompanying, a_host_program_keeps_the_pages_that_it_used) {
  const auto read = reader_of(most);
  read_to(*read, 0, most / 4);
  const std::uint64_t held = read->pages_held();
  ASSERT_GE(held, most / 4);
  const int other = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  read->used_by_host(other, 0, most / 16 * page);
  ::close(other);
  EXPECT_EQ(read->pages_held(), held - most / 16) << "any descriptor of the file counts";
  EXPECT_EQ(read->stats().pages_kept, most / 16);
  read->used_by_host(descriptor, -1, page);
  read->used_by_host(descriptor, 0, 0);
  read->used_by_host(-1, 0, page);
  EXPECT_EQ(read->stats().pages_kept, most / 16);
  read_to(*read, most / 4, pages);
  read->closing(descriptor);
  EXPECT_TRUE(comes_true([&] { return cached(most / 8, pages) == 0; }));
  EXPECT_GE(cached(0, most / 16), most / 32) << "the used pages stay";
}

TEST_P(Accompanying, a_repeated_stream_is_counted) {
  const auto read = reader_of(most);
  read_to(*read, 0, pages);
  ASSERT_EQ(read->stats().pages_again, 0u);
  read_to(*read, 0, most);
  EXPECT_GT(read->stats().pages_again, most / 2);
  EXPECT_LE(read->stats().pages_again, 2 * most);
}

TEST_P(Accompanying, tracks_no_page_that_was_cached_before) {
  const Memory memory = memory_of(page);
  for (std::uint64_t at = 0; at < most; ++at) {
    ASSERT_EQ(::pread(descriptor, memory.get(), page, static_cast<off_t>(at * page)),
              static_cast<ssize_t>(page));
  }
  const std::size_t there = cached(0, most);
  {
    const auto read = reader_of(most);
    read_to(*read, 0, pages);
  }
  EXPECT_GE(cached(0, most), there / 2);
  EXPECT_LE(cached(most + most / 2, pages), most) << "at most the kernel's own read-ahead";
}

TEST_P(Accompanying, stops_looking_at_a_file_that_is_all_cached) {
  const int other = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const Memory memory = memory_of(most * page);
  ASSERT_EQ(::pread(other, memory.get(), most * page, 0), static_cast<ssize_t>(most * page));
  ::close(other);
  const auto read = reader_of(most);
  for (int pass = 0; pass < 3; ++pass) {
    read_to(*read, 0, most / 2);
    EXPECT_EQ(read->stats().pages_evicted, 0u);
  }
  // A reader that expects cached pages still finds where they end.
  read_to(*read, most / 2, 3 * most, [&] { EXPECT_LE(read->pages_held(), most); });
  EXPECT_GT(read->stats().pages_ahead, most / 2);
}

TEST_P(Accompanying, shares_the_bound_among_streams) {
  const auto read = reader_of(most);
  std::vector<std::thread> threads;
  constexpr std::uint64_t parts = 4;
  for (std::uint64_t part = 0; part < parts; ++part) {
    threads.emplace_back([&, part] {
      read_to(*read, part * pages / parts, (part + 1) * pages / parts, [] {}, part << 20);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(read->stats().pages_ahead, 0u) << "one stream has room";
}

}  // namespace
}  // namespace k2k::router
