// Goal: in exclusive mode, too, a write that must be one call is one, errors and limits are the
// kernel's, and the program keeps its locks and descriptors. Method: real files, children of other
// users and with other limits.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <limits>

#include "io/file/raw.hpp"
#include "router/file/open_files.hpp"
#include "router/read/writes_fixture.hpp"

namespace k2k::router {
namespace {

TEST_F(ExclusiveWrites, that_must_be_one_call_are) {
  const auto writer = writer_of();
  Modelled data(64 * page);
  const Source source(32 * page, 0, 1);
  std::uint64_t cached = 0;
  for (const int flags : {O_APPEND, O_DSYNC, O_SYNC}) {
    const int descriptor = ::open(data.file().path().c_str(), O_RDWR | O_CLOEXEC | flags);
    ASSERT_GE(descriptor, 0);
    EXPECT_EQ(writer->pwrite(descriptor, source.begin, source.bytes, 0), ssize_t{32 * page});
    cached += 32 * page;
    // The descriptor's present flags count.
    if (flags == O_APPEND) {
      EXPECT_EQ(::lseek(descriptor, 0, SEEK_END), off_t{96 * page});
      EXPECT_EQ(::fcntl(data.descriptor(), F_SETFL, O_APPEND), 0);
      EXPECT_EQ(writer->pwrite(data.descriptor(), source.begin, source.bytes, 0),
                ssize_t{32 * page});
      cached += 32 * page;
      EXPECT_EQ(::lseek(descriptor, 0, SEEK_END), off_t{128 * page});
      EXPECT_EQ(::fcntl(data.descriptor(), F_SETFL, 0), 0);
    }
    ::close(descriptor);
  }
  EXPECT_EQ(writer->stats().writes_direct, 0u);
  EXPECT_EQ(writer->stats().bytes_cache, cached);
  ASSERT_EQ(::fsync(data.descriptor()), 0);
  data.file().evict();
  EXPECT_EQ(writer->pwrite(data.descriptor(), source.begin, source.bytes, 0), ssize_t{32 * page});
  EXPECT_EQ(writer->stats().writes_direct, 1u) << "other writes are direct";
  // The twin was opened while the descriptor did not append. Writes by the twin do not append
  // either, although the descriptor appended meanwhile.
  EXPECT_EQ(::lseek(data.descriptor(), 0, SEEK_END), off_t{128 * page});
}

TEST_F(ExclusiveWrites, answer_as_the_kernel_if_nothing_can_be_written) {
  const auto writer = writer_of();
  Modelled data(64 * page);
  const Source source(32 * page, 0, 1);
  const auto write = [&](int descriptor, const void* memory, std::int64_t offset) {
    return writer->pwrite(descriptor, memory, source.bytes, offset);
  };
  EXPECT_EQ(write(-1, source.begin, 0), -EBADF);
  EXPECT_EQ(write(4095, source.begin, 0), -EBADF);
  EXPECT_EQ(write(data.descriptor(), source.begin, -1), -EINVAL);
  constexpr std::int64_t last = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(write(data.descriptor(), source.begin, last - 100), -EINVAL);
  const int read_only = ::open(data.file().path().c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(write(read_only, source.begin, 0), -EBADF);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_EQ(write(ends[1], source.begin, 0), -ESPIPE);
  // Its inode is known by now, and still cannot be written by that descriptor.
  EXPECT_EQ(write(data.descriptor(), source.begin, 0), ssize_t{32 * page});
  EXPECT_EQ(writer->stats().writes_direct, 1u);
  data.file().evict();
  EXPECT_EQ(write(read_only, source.begin, 0), -EBADF);
  auto* const nowhere = reinterpret_cast<std::byte*>(page);
  EXPECT_EQ(write(data.descriptor(), nowhere, 0), -EFAULT);
  EXPECT_EQ(writer->stats().files_refused, 0u)
      << "an error of the memory is no refusal of the file";
  for (const int each : {read_only, ends[0], ends[1]}) ::close(each);
}

TEST_F(ExclusiveWrites, give_the_bytes_before_memory_that_is_none) {
  const auto writer = writer_of();
  Modelled data(64 * page);
  constexpr std::size_t bytes = 16 * page;
  void* const memory =
      ::mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const begin = static_cast<std::byte*>(memory);
  std::memset(begin, 7, bytes);
  // Kept, so that no other mapping takes the place.
  ASSERT_EQ(::mprotect(begin + bytes, bytes, PROT_NONE), 0);
  const ssize_t count = writer->pwrite(data.descriptor(), begin + 100, 2 * bytes - 100, 100);
  EXPECT_EQ(count, ssize_t{bytes - 100});
  std::fill_n(data.bytes().begin() + 100, bytes - 100, std::byte{7});
  data.expect_content();
  ::munmap(memory, 2 * bytes);
}

// For a child with a limit on the length of files: checks the answers and the number of signals.
int write_over_limit(bool exclusive, int descriptor) {
  static volatile std::sig_atomic_t signals = 0;
  signals = 0;
  ::signal(SIGXFSZ, [](int) { signals = signals + 1; });
  constexpr rlim_t most = 40 * page + 1000;
  const rlimit limit{most, most};
  if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
  const auto writer = writer_of(exclusive);
  const Source source(64 * page, 0, 1);
  if (writer->pwrite(descriptor, source.begin, 32 * page, 0) != ssize_t{32 * page}) return 3;
  if (writer->pwrite(descriptor, source.begin, 64 * page, 0) != ssize_t{most}) return 4;
  if (signals != 0) return 5;
  if (writer->pwrite(descriptor, source.begin, 64 * page, 48 * page) != -EFBIG) return 6;
  if (signals != 1) return 7;
  if (writer->stats().files_refused != 0) return 8;
  return writer->stats().writes_direct == (exclusive ? 1 : 0) ? 0 : 9;
}

TEST_F(ExclusiveWrites, meet_the_limit_on_the_length_of_files_as_others_do) {
  for (const bool exclusive : {false, true}) {
    const DataFile file(0);
    const pid_t child = ::fork();
    if (child == 0) ::_exit(write_over_limit(exclusive, file.descriptor()));
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0) << exclusive;
  }
}

TEST_F(ExclusiveWrites, need_memory_with_the_alignment_of_the_file) {
  const auto writer = writer_of();
  Modelled data(64 * page);
  data.write(*writer, 32 * page, 0, 1, 1);
  EXPECT_EQ(writer->stats().misaligned, 1u);
  EXPECT_EQ(writer->stats().writes_direct, 0u);
  data.expect_content();
}

TEST_F(ExclusiveWrites, come_from_descriptors_that_can_only_write) {
  Modelled data(64 * page);
  const int descriptor = ::open(data.file().path().c_str(), O_WRONLY | O_CLOEXEC);
  auto probe = io::ResidencyProbe::open(descriptor);
  const bool known = probe && probe->method() != io::ProbeMethod::sampled;
  const auto writer = writer_of();
  const Source source(32 * page, 5, 1);
  EXPECT_EQ(writer->pwrite(descriptor, source.begin, source.bytes, 5), ssize_t{32 * page});
  std::copy_n(source.begin, source.bytes, data.bytes().begin() + 5);
  EXPECT_EQ(writer->stats().writes_direct, known ? 1u : 0u) << "otherwise residency is a guess";
  data.expect_content();
  ::close(descriptor);
}

TEST_F(ExclusiveWrites, and_reads_of_one_file_have_a_twin_each_until_it_is_closed) {
  const auto writer = writer_of();
  Modelled data(256 * page);
  const auto own = [] {
    int count = 0;
    for (int number = 0; number < own_numbers_max; ++number) count += is_own(number);
    return count;
  };
  const int before = own();
  data.write(*writer, 32 * page, 0, 1);
  EXPECT_EQ(own(), before + 1);
  data.write(*writer, 32 * page, 64 * page, 2);
  EXPECT_EQ(own(), before + 1);
  data.file().evict();
  const Memory memory = memory_of(64 * page);
  EXPECT_EQ(writer->pread(data.descriptor(), memory.get(), 64 * page, 128 * page),
            ssize_t{64 * page});
  EXPECT_GT(own(), before + 1);
  const int rings = own() - before - 2;  // Descriptors of io_uring stay.
  writer->closing(data.descriptor());
  EXPECT_EQ(own(), before + rings);
  data.write(*writer, 32 * page, 128 * page, 3);
  EXPECT_EQ(own(), before + rings + 1);
  struct stat facts{};
  ASSERT_EQ(::fstat(data.descriptor(), &facts), 0);
  writer->forget(-1, facts.st_dev, facts.st_ino);
  EXPECT_EQ(own(), before + rings);
  EXPECT_EQ(writer->stats().writes_direct, 3u);
}

// fcntl(2): closing any descriptor of a file drops the process's locks on it.
TEST_F(ExclusiveWrites, keep_the_locks_of_the_program) {
  const auto writer = writer_of();
  Modelled data(256 * page);
  const auto is_locked = [&] {
    const pid_t child = ::fork();
    if (child == 0) {
      struct flock other{};
      other.l_type = F_WRLCK;
      const int own = ::open(data.file().path().c_str(), O_RDWR | O_CLOEXEC);
      ::_exit(::fcntl(own, F_GETLK, &other) == 0 && other.l_type == F_WRLCK ? 1 : 0);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status) == 1;
  };
  struct flock lock{};
  lock.l_type = F_WRLCK;
  ASSERT_EQ(::fcntl(data.descriptor(), F_SETLK, &lock), 0);
  data.write(*writer, 32 * page, 0, 1);
  EXPECT_EQ(writer->stats().writes_direct, 0u) << "a twin would drop the lock";
  EXPECT_TRUE(is_locked());
  lock.l_type = F_UNLCK;
  ASSERT_EQ(::fcntl(data.descriptor(), F_SETLK, &lock), 0);
  data.write(*writer, 32 * page, 64 * page, 2);
  EXPECT_EQ(writer->stats().writes_direct, 1u)
      << "a direct write is tried again once the file is unlocked";
  lock.l_type = F_WRLCK;
  ASSERT_EQ(::fcntl(data.descriptor(), F_SETLK, &lock), 0);
  data.write(*writer, 32 * page, 128 * page, 3);
  EXPECT_EQ(writer->stats().writes_direct, 2u) << "the twin was open before the lock";
  EXPECT_TRUE(is_locked());
  data.expect_content();
}

// Writes to an inherited descriptor of a file that this user could not open.
int write_as_another_user(int descriptor) {
  constexpr unsigned nobody = 65534;
  if (::setresuid(nobody, nobody, nobody) != 0 || ::prctl(PR_SET_DUMPABLE, 1) != 0) return 2;
  const auto writer = writer_of();
  const Source source(32 * page, 0, 1);
  for (int again = 0; again < 3; ++again) {
    if (writer->pwrite(descriptor, source.begin, source.bytes, 0) != ssize_t{32 * page}) return 3;
  }
  const ReaderStats stats = writer->stats();
  return stats.writes_direct == 0 && stats.bytes_cache == 96 * page ? 0 : 4;
}

TEST_F(ExclusiveWrites, of_files_that_cannot_be_opened_again_go_through_the_page_cache) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can write as another user";
  Modelled data(64 * page);
  ASSERT_EQ(::fchmod(data.descriptor(), 0600), 0);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(write_as_another_user(data.descriptor()));
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Writes, of_file_systems_without_direct_transfers_go_through_the_page_cache_and_are_counted) {
  const int descriptor = ::memfd_create("k2k", MFD_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  const auto writer = writer_of();
  const Source source(32 * page, 0, 1);
  for (int again = 0; again < 3; ++again) {
    EXPECT_EQ(writer->pwrite(descriptor, source.begin, source.bytes, 0), ssize_t{32 * page});
  }
  EXPECT_EQ(writer->stats().files_refused, 1u);
  EXPECT_EQ(writer->stats().writes_direct, 0u);
  ::close(descriptor);
}

TEST_F(ExclusiveWrites, go_on_in_a_forked_child) {
  const auto writer = writer_of();
  Modelled data(256 * page);
  data.write(*writer, 32 * page, 0, 1);
  const pid_t child = ::fork();
  if (child == 0) {
    writer->after_fork_child();
    data.write(*writer, 32 * page, 64 * page, 2);
    data.expect_content();
    ::_exit(testing::Test::HasFailure() || writer->stats().writes_direct != 2 ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  data.write(*writer, 32 * page, 64 * page, 2);
  data.expect_content();
}

TEST(Writes, refuse_an_impossible_length) {
  EXPECT_EQ(FileReader::create({.direct_write_bytes = 100}).error().message,
            "direct_write_bytes is 100; permitted are 4096 to 1073741824");
}

TEST(OpenFiles, have_an_entry_of_files_that_may_be_written_in_parts) {
  OpenFiles files([](int) { return Model(); });
  const DataFile file(8192);
  struct stat facts{};
  ASSERT_EQ(::fstat(file.descriptor(), &facts), 0);
  const OpenFile* const entry = files.find_for_writing(file.descriptor(), facts).get();
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(files.find_for_writing(file.descriptor(), facts).get(), entry);
  EXPECT_EQ(files.known(file.descriptor()), nullptr) << "the entry for reading is another";
  EXPECT_NE(files.find(file.descriptor()).get(), entry);
  EXPECT_EQ(files.size(), 2u);
  for (const int flags : {O_RDONLY, O_RDWR | O_APPEND, O_WRONLY | O_DSYNC, O_PATH}) {
    const int other = ::open(file.path().c_str(), flags | O_CLOEXEC);
    EXPECT_EQ(files.find_for_writing(other, facts), nullptr) << flags;
    ::close(other);
  }
  EXPECT_EQ(files.sweep(), 0u);
  files.closing(file.descriptor());
  EXPECT_EQ(files.size(), 0u);
}

}  // namespace
}  // namespace k2k::router
