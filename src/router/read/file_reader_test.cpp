// Goal: for any cached pages and any place of a request in the file, the answer and the bytes are
// those of pread(2); direct transfers are used if they pay; refusals of the file system are
// remembered. Method: real files on the file system of the test's folder, compared with the written
// bytes, into each kind of memory.

#include "router/read/file_reader.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <limits>
#include <thread>

#include "io/file/page_range.hpp"
#include "io/file/residency.hpp"
#include "router/file/file_fixture.hpp"
#include "router/read/file_reader_fixture.hpp"

namespace k2k::router {
namespace {

ReaderConfig config(std::uint32_t channels = 4) {
  return {.model = slow_device(), .channels_max = channels, .grain_pages = 1};
}

class FileReaderInto : public WithMemory {
 protected:
  [[nodiscard]] std::unique_ptr<FileReader> reader(std::uint32_t channels = 4) const {
    return make(config(channels));
  }
};
K2K_ALL_MEMORY(FileReaderInto);

// Tests with threads, forks, and memory that is wrong or aligned differently from the file.
class FileReaderIntoHost : public FileReaderInto {};
INSTANTIATE_TEST_SUITE_P(, FileReaderIntoHost, testing::Values(Into::host), name_of);

TEST_P(FileReaderInto, reads_as_pread_for_any_cached_pages) {
  DataFile file(6'000'123);
  std::mt19937_64 random(2);
  const auto read = reader();
  for (const std::size_t extent : {std::size_t{1}, std::size_t{8}, std::size_t{64}}) {
    for (int round = 0; round < 6; ++round) {
      const std::uint64_t share = random() % 5;
      std::vector<bool> cached(file.size() / page / extent + 2);
      for (std::size_t at = 0; at < cached.size(); ++at) cached[at] = random() % 4 < share;
      file.cache([&](std::size_t at) { return cached[at / extent]; });
      for (int request = 0; request < 6; ++request) {
        const bool aligned = random() % 2 == 0;
        std::size_t offset = random() % file.size();
        if (aligned) offset = offset / page * page;
        const std::size_t bytes = 1 + random() % (3 << 20);
        // Memory with the alignment of the offset, or without it.
        const std::size_t shift = random() % 4 == 0 ? random() % page : offset % page;
        expect_read(*read, file, bytes, offset, shift);
      }
    }
  }
  const ReaderStats stats = read->stats();
  EXPECT_EQ(stats.reads, 108u);
  EXPECT_EQ(stats.fall_backs, 0u);
  if (!has_direct(file)) GTEST_SKIP() << "no direct transfers in this folder";
  EXPECT_GT(stats.mixed, 0u);
  EXPECT_GT(stats.bytes_direct, 0u);
  EXPECT_GT(stats.bytes_cache, 0u);
  if (is_host()) {
    EXPECT_GT(stats.misaligned, 0u);
  } else {
    EXPECT_EQ(stats.misaligned, 0u);
  }
}

TEST_P(FileReaderInto, ends_where_the_file_does) {
  DataFile file(3 * 1024 * 1024 + 777);
  const auto read = reader();
  for (const bool cached : {false, true}) {
    file.cache([&](std::size_t) { return cached; });
    expect_read(*read, file, 1 << 20, file.size() - 5);
    expect_read(*read, file, 1 << 20, file.size());
    expect_read(*read, file, 1 << 20, file.size() + 4096);
    expect_read(*read, file, 8 << 20, 0);
    expect_read(*read, file, 40 << 20, 4096);
  }
}

TEST_P(FileReaderInto, serves_requests_of_many_parts) {
  DataFile file(40 << 20);
  file.cache([](std::size_t at) { return at / 100 % 2 == 0; });
  const auto read = reader(1);
  expect_read(*read, file, file.size() - 100, 50, 50);
  expect_read(*read, file, file.size(), 0);
}

TEST_P(FileReaderInto, sees_written_data_that_are_not_yet_on_the_disk) {
  DataFile file(4 << 20);
  file.evict();
  const auto read = reader();
  std::mt19937_64 random(3);
  for (int round = 0; round < 50; ++round) {
    const std::size_t at = random() % (file.size() - 5000);
    for (std::size_t byte = 0; byte < 5000; ++byte) file.bytes()[at + byte] = std::byte(random());
    ASSERT_EQ(::pwrite(file.descriptor(), &file.bytes()[at], 5000, static_cast<off_t>(at)), 5000);
    expect_read(*read, file, 1 << 20, at / page * page / 2 / page * page);
    expect_read(*read, file, 64 << 10, at / page * page);
  }
}

TEST_P(FileReaderInto, reads_holes_as_zeros) {
  DataFile file(1 << 20);
  ASSERT_EQ(::ftruncate(file.descriptor(), 0), 0);
  ASSERT_EQ(::ftruncate(file.descriptor(), 4 << 20), 0);
  std::byte one{7};
  ASSERT_EQ(::pwrite(file.descriptor(), &one, 1, 2 << 20), 1);
  ASSERT_EQ(::fsync(file.descriptor()), 0);
  file.bytes().assign(4 << 20, std::byte{0});
  file.bytes()[2 << 20] = one;
  file.evict();
  const auto read = reader();
  expect_read(*read, file, 4 << 20, 0);
  expect_read(*read, file, 1 << 20, (2 << 20) - 4096);
}

TEST_P(FileReaderInto, answers_as_the_kernel_if_there_is_nothing_to_read) {
  const auto read = reader();
  DataFile file(1 << 20);
  EXPECT_EQ(read->pread(-1, address(), 1 << 20, 0), -EBADF);
  EXPECT_EQ(read->pread(4095, address(), 1 << 20, 0), -EBADF);
  EXPECT_EQ(read->pread(file.descriptor(), address(), 1 << 20, -1), -EINVAL);
  EXPECT_EQ(read->pread(file.descriptor(), address(), 0, 0), 0);
  constexpr std::int64_t last = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(read->pread(file.descriptor(), address(), 1 << 20, last - 100), -EINVAL);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_EQ(read->pread(ends[0], address(), 1 << 20, 0), -ESPIPE);
  ::close(ends[0]);
  ::close(ends[1]);
  const int folder = ::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  EXPECT_EQ(read->pread(folder, address(), 1 << 20, 0), -EISDIR);
  ::close(folder);
  const int write_only = ::open(file.path().c_str(), O_WRONLY | O_CLOEXEC);
  EXPECT_EQ(read->pread(write_only, address(), 1 << 20, 0), -EBADF);
  expect_read(*read, file, 1 << 19, 0);
  // Its inode is known by now, and it still cannot be read by that descriptor.
  file.evict();
  EXPECT_EQ(read->pread(write_only, address(), 1 << 20, 0), -EBADF);
  ::close(write_only);
  if (!is_host()) return;  // A device checks its own addresses.
  file.evict();
  auto* const nowhere = reinterpret_cast<std::byte*>(page);
  EXPECT_EQ(read->pread(file.descriptor(), nowhere, 1 << 20, 0), -EFAULT);
}

TEST_P(FileReaderIntoHost, gives_the_bytes_before_unmapped_memory) {
  DataFile file(1 << 20);
  file.evict();
  const auto read = reader();
  const long bytes = 64 * static_cast<long>(page);
  void* const memory = ::mmap(nullptr, static_cast<std::size_t>(2 * bytes), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const begin = static_cast<std::byte*>(memory);
  // Kept, so that no other mapping takes the place.
  ASSERT_EQ(::mprotect(begin + bytes, static_cast<std::size_t>(bytes), PROT_NONE), 0);
  const ssize_t count =
      read->pread(file.descriptor(), begin, static_cast<std::size_t>(2 * bytes), 0);
  EXPECT_EQ(count, bytes);
  EXPECT_TRUE(std::equal(begin, begin + bytes, file.bytes().begin()));
  ::munmap(memory, static_cast<std::size_t>(2 * bytes));
}

TEST_P(FileReaderIntoHost, serves_threads_at_once_with_fewer_channels) {
  DataFile file(16 << 20);
  const auto read = reader(2);
  std::atomic<int> left{4};
  std::thread evicter([&] {
    while (left.load() > 0) file.evict();
  });
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&, number] {
      std::mt19937_64 random(static_cast<std::uint64_t>(number));
      for (int request = 0; request < 30; ++request) {
        expect_read(*read, file, 1 + random() % (1 << 20), random() % file.size() / page * page,
                    static_cast<std::size_t>(number) << 21);
      }
      --left;
    });
  }
  for (std::thread& thread : threads) thread.join();
  evicter.join();
}

// Of `count` bytes, those that are neither the file's nor zero.
std::size_t neither_right_nor_zero(const std::byte* seen, const std::byte* right,
                                   std::size_t count) {
  static constexpr std::byte zeros[io::page_bytes] = {};
  std::size_t wrong = 0;
  for (std::size_t at = 0; at < count; at += io::page_bytes) {
    const std::size_t bytes = std::min<std::size_t>(io::page_bytes, count - at);
    // A sanitizer compares whole pages at once, and looks at each access of the loop below.
    if (std::memcmp(seen + at, right + at, bytes) == 0) continue;
    if (std::memcmp(seen + at, zeros, bytes) == 0) continue;
    for (std::size_t byte = at; byte < at + bytes; ++byte) {
      wrong += seen[byte] == right[byte] || seen[byte] == std::byte{0} ? 0 : 1;
    }
  }
  return wrong;
}

TEST_P(FileReaderInto, stops_short_where_a_file_is_cut_meanwhile_and_never_gives_wrong_bytes) {
  DataFile file(8 << 20);
  const auto read = reader();
  std::atomic<bool> over{false};
  std::thread cutter([&] {
    std::mt19937_64 random(5);
    while (!over.load()) {
      const std::size_t size = random() % file.size();
      EXPECT_EQ(::ftruncate(file.descriptor(), static_cast<off_t>(size)), 0);
      // Back to its whole size: the cut part is zeros now.
      EXPECT_EQ(::ftruncate(file.descriptor(), static_cast<off_t>(file.size())), 0);
      EXPECT_EQ(::pwrite(file.descriptor(), file.bytes().data() + size, file.size() - size,
                         static_cast<off_t>(size)),
                static_cast<ssize_t>(file.size() - size));
    }
  });
#if defined(K2K_TSAN) || defined(K2K_ASAN)
  constexpr int requests = 12;
#else
  constexpr int requests = 60;
#endif
  for (int request = 0; request < requests; ++request) {
    const ssize_t count = read->pread(file.descriptor(), address(), 8 << 20, 0);
    ASSERT_GE(count, 0);
    const std::byte* const bytes = file.bytes().data();
    const std::byte* const seen = inside();
    ASSERT_EQ(neither_right_nor_zero(seen, bytes, static_cast<std::size_t>(count)), 0u);
  }
  over = true;
  cutter.join();
}

// As another user, reads a file that is cold each time. Returns 0 if some of it came directly.
int read_as_another_user(int descriptor, std::size_t size) {
  constexpr unsigned nobody = 65534;
  constexpr std::size_t bytes = 1 << 20;
  // /proc/self is root's again after the change, unless it may be dumped.
  if (::setresuid(nobody, nobody, nobody) != 0 || ::prctl(PR_SET_DUMPABLE, 1) != 0) return 2;
  const auto probe = io::ResidencyProbe::open(descriptor);
  if (!probe || probe.value().method() != io::ProbeMethod::sampled) return 2;
  const auto read = FileReader::create(config()).value();
  const Memory memory = memory_of(bytes);
  std::mt19937_64 random(7);
  for (int request = 0; request < 64; ++request) {
    ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
    const auto offset = static_cast<std::int64_t>(random() % (size / bytes) * bytes);
    if (read->pread(descriptor, memory.get(), bytes, offset) != bytes) return 3;
  }
  return read->stats().bytes_direct > 0 ? 0 : 1;
}

TEST_P(FileReaderIntoHost, learns_cold_reads_from_their_duration_if_it_may_not_probe) {
  DataFile file(32 << 20);
  if (!has_direct(file)) GTEST_SKIP() << "no direct transfers in this folder";
  if (::geteuid() != 0) GTEST_SKIP() << "only root can read as another user";
  ASSERT_EQ(::fchmod(file.descriptor(), 0644), 0);
  const int descriptor = ::open(file.path().c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(read_as_another_user(descriptor, file.size()));
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ::close(descriptor);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "residency is known here to every user";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_P(FileReaderIntoHost, goes_on_in_a_forked_child) {
  DataFile file(4 << 20);
  const auto read = reader();
  file.evict();
  expect_read(*read, file, 1 << 20, 0);
  const pid_t child = ::fork();
  if (child == 0) {
    read->after_fork_child();
    file.evict();
    expect_read(*read, file, 2 << 20, 4096);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  file.evict();
  expect_read(*read, file, 2 << 20, 8192);
}

TEST_P(FileReaderInto, writes_and_passes_advice_on) {
  DataFile file(1 << 20);
  const auto read = reader();
  std::fill_n(file.bytes().begin() + 100, 5000, std::byte{9});
  std::memcpy(inside(7), &file.bytes()[100], 5000);
  EXPECT_EQ(read->pwrite(file.descriptor(), address(7), 5000, 100), 5000);
  EXPECT_EQ(::fsync(file.descriptor()), 0);
  EXPECT_EQ(read->advise(file.descriptor(), 0, 0, POSIX_FADV_DONTNEED), 0);
  expect_read(*read, file, 1 << 20, 0);
  EXPECT_EQ(read->pwrite(-1, address(), 1, 0), -EBADF);
  EXPECT_EQ(read->advise(-1, 0, 0, POSIX_FADV_NORMAL), EBADF);
  EXPECT_EQ(read->advise(file.descriptor(), 0, 0, 99), EINVAL);
}

TEST_P(FileReaderInto, refuses_an_impossible_configuration) {
  const MemoryOf memory(GetParam());
  const auto message = [&](const ReaderConfig& wrong) {
    return memory.create(wrong).error().message;
  };
  EXPECT_EQ(message({.channels_max = 0}), "channels_max is 0; permitted are 1 to 256");
  EXPECT_EQ(message({.outstanding = 5000}), "outstanding is 5000; permitted are 1 to 4096");
  EXPECT_EQ(message({.grain_pages = 0}), "grain_pages is 0; permitted are 1 to 4096");
  EXPECT_NE(message({.model = {.cache_gbs = -1}}), "");
}

// fcntl(2): "If a process closes any file descriptor referring to a file, then all of the process's
// locks on that file are released."
TEST_P(FileReaderInto, keeps_the_locks_of_the_program_until_it_closes) {
  DataFile file(4 << 20);
  file.evict();
  const auto read = reader();
  // Not at the file's start: that would be a stream's, by the page cache.
  constexpr std::size_t at = 1 << 20;
  expect_read(*read, file, 1 << 20, at);  // Its twin is there before the lock.
  struct flock lock{};
  lock.l_type = F_WRLCK;
  ASSERT_EQ(::fcntl(file.descriptor(), F_SETLK, &lock), 0);
  const auto locked = [&] {
    const pid_t child = ::fork();
    if (child == 0) {
      struct flock other{};
      other.l_type = F_WRLCK;
      const int own = ::open(file.path().c_str(), O_RDWR | O_CLOEXEC);
      _exit(::fcntl(own, F_GETLK, &other) == 0 && other.l_type == F_WRLCK ? 1 : 0);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status) == 1;
  };
  ASSERT_TRUE(locked());
  for (int request = 0; request < 20; ++request) {
    file.evict();
    expect_read(*read, file, 1 << 20, at);
  }
  EXPECT_TRUE(locked());
  EXPECT_GT(read->stats().bytes_direct + read->stats().bytes_cache, 20u << 20);
  read->closing(file.descriptor());
  ASSERT_EQ(::fcntl(file.descriptor(), F_SETLK, &lock), 0);
  // A new twin could not come without dropping the lock: the file is read by the page cache.
  const std::uint64_t before = read->stats().bytes_direct;
  file.evict();
  expect_read(*read, file, 1 << 20, at);
  EXPECT_TRUE(locked());
  EXPECT_EQ(read->stats().bytes_direct, before);
  lock.l_type = F_UNLCK;
  ASSERT_EQ(::fcntl(file.descriptor(), F_SETLK, &lock), 0);
  file.evict();
  expect_read(*read, file, 1 << 20, at);
  if (has_direct(file)) {
    EXPECT_GT(read->stats().bytes_direct, before) << "tried again once it is unlocked";
  }
}

TEST_P(FileReaderInto, plans_by_the_model_of_the_device_and_requests_it_once) {
  DataFile one(4 << 20);
  DataFile other(4 << 20);
  if (!has_direct(one)) GTEST_SKIP() << "no direct transfers in this folder";
  const auto direct_bytes = [&](double direct_gbs) {
    int asked = 0;
    ReaderConfig asking = config(1);
    asking.model_of = [&](int, const std::string& engine) {
      ++asked;
      EXPECT_EQ(engine.empty(), is_host()) << engine;
      Model costs = slow_device();
      costs.direct_gbs = direct_gbs;
      return std::optional<Model>(costs);
    };
    const auto read = make(asking);
    for (DataFile* const file : {&one, &other, &one}) {
      file->cache([](std::size_t at) { return at % 64 != 0; });
      expect_read(*read, *file, 4 << 20, 0);
    }
    EXPECT_EQ(asked, 1) << "one request for two files of one device";
    return read->stats().bytes_direct;
  };
  // A device that is as fast as the cache, and one with an impossible model.
  EXPECT_GT(direct_bytes(50), direct_bytes(-1)) << "the direct transfer includes cached pages";
}

TEST_P(FileReaderIntoHost, reads_directly_into_memory_with_another_alignment_than_the_file) {
  DataFile file((9 << 20) + 777);
  if (!has_direct(file)) GTEST_SKIP() << "no direct transfers in this folder";
  const auto direct = io::DirectFile::open(file.descriptor(), io::DirectFile::Access::read);
  const std::size_t alignment = direct.value().alignment().memory;  // Some devices accept any word.
  const auto read = reader();
  for (const std::size_t shift : {std::size_t{16}, std::size_t{64}, std::size_t{1}}) {
    const ReaderStats before = read->stats();
    file.evict();
    expect_read(*read, file, 9 << 20, 0, shift);
    EXPECT_EQ(read->stats().misaligned, before.misaligned + (shift % alignment != 0 ? 1 : 0));
    EXPECT_EQ(read->stats().bytes_direct, before.bytes_direct + (9 << 20));
    file.evict();
    expect_read(*read, file, 64 << 10, 1 << 20, shift);
    file.evict();
    expect_read(*read, file, (5 << 20) + 5, 4096 + 3, shift);  // Ends bounce, too.
    file.cache([](std::size_t at) { return at / 100 % 2 == 0; });
    expect_read(*read, file, file.size(), 0, shift);
  }
  EXPECT_EQ(read->stats().fall_backs, 0u);
}

TEST_P(FileReaderIntoHost, answers_for_wrong_memory_of_any_alignment_as_the_kernel) {
  DataFile file(2 << 20);
  const auto read = reader();
  auto* const room = static_cast<std::byte*>(
      ::mmap(nullptr, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(room, MAP_FAILED);
  ASSERT_EQ(::mprotect(room + (1 << 20), 1 << 20, PROT_NONE), 0);
  for (const std::size_t shift : {std::size_t{0}, std::size_t{64}}) {
    file.evict();
    EXPECT_EQ(read->pread(file.descriptor(), room + (1 << 20) + shift, 512 << 10, 0), -EFAULT);
    file.evict();
    const ssize_t plain = ::pread(file.descriptor(), room + (768 << 10) + shift, 512 << 10, 0);
    file.evict();
    EXPECT_EQ(read->pread(file.descriptor(), room + (768 << 10) + shift, 512 << 10, 0), plain);
  }
  ::munmap(room, 2 << 20);
}

}  // namespace
}  // namespace k2k::router
