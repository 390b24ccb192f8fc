#include "io/file/direct_file.hpp"

#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/vfs.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <type_traits>
#include <vector>

#include "io/engine/ring.hpp"
#include "io/file/files_fixture.hpp"
#include "io/file/raw.hpp"

namespace k2k::io {
namespace {

constexpr std::size_t file_bytes = 16 * page;
using Access = DirectFile::Access;

static_assert(std::is_nothrow_move_constructible_v<DirectFile>);
static_assert(!std::is_copy_constructible_v<DirectFile>);

class DirectFileTest : public testing::Test {
 protected:
  void SetUp() override {
    const Result<DirectFile> twin = DirectFile::open(file_.number(), Access::read);
    if (!twin) GTEST_SKIP() << twin.error().message;
  }

  const OwnFiles files_;
  const std::string path_ = make_file(files_, "content", file_bytes);
  const Opened file_ = open_file(path_, O_RDWR);
  const Pages memory_{file_bytes};
};

ssize_t read_all(const DirectFile& twin, const Pages& memory) {
  return ::pread(twin.descriptor(), memory.data(), memory.span().size(), 0);
}

// Expects that opening fails, and returns the error.
Error refused(int descriptor, Access access) {
  const Result<DirectFile> twin = DirectFile::open(descriptor, access);
  EXPECT_FALSE(twin.ok());
  return twin.ok() ? Error{} : twin.error();
}

TEST_F(DirectFileTest, ReadsTheContent) {
  const DirectFile twin = DirectFile::open(file_.number(), Access::read).value();
  EXPECT_NE(::fcntl(twin.descriptor(), F_GETFL) & O_DIRECT, 0);
  EXPECT_EQ(::fcntl(twin.descriptor(), F_GETFL) & O_ACCMODE, O_RDONLY);
  ASSERT_EQ(read_all(twin, memory_), static_cast<ssize_t>(file_bytes));
  EXPECT_TRUE(holds_content(memory_.span(), 0));
}

TEST_F(DirectFileTest, SeesPagesThatAreNotYetOnTheDisk) {
  const DirectFile twin = DirectFile::open(file_.number(), Access::read).value();
  const std::string fresh(3 * page, 'x');
  ASSERT_EQ(::pwrite(file_.number(), fresh.data(), fresh.size(), page), 3 * ssize_t{page});
  ASSERT_EQ(read_all(twin, memory_), static_cast<ssize_t>(file_bytes));
  EXPECT_EQ(std::memcmp(memory_.data() + page, fresh.data(), fresh.size()), 0);
  EXPECT_TRUE(holds_content(memory_.span().last(12 * page), 4 * page));
}

TEST_F(DirectFileTest, WritesAppearInTheFile) {
  const DirectFile twin = DirectFile::open(file_.number(), Access::read_write).value();
  EXPECT_EQ(::fcntl(twin.descriptor(), F_GETFL) & O_ACCMODE, O_RDWR);
  std::memset(memory_.data(), 'y', page);
  ASSERT_EQ(::pwrite(twin.descriptor(), memory_.data(), page, page), ssize_t{page});
  std::vector<char> seen(page);
  ASSERT_EQ(::pread(file_.number(), seen.data(), page, page), ssize_t{page});
  EXPECT_EQ(std::memcmp(seen.data(), memory_.data(), page), 0);
}

TEST_F(DirectFileTest, TransfersAlignedAsItSaysAreDone) {
  const DirectFile twin = DirectFile::open(file_.number(), Access::read).value();
  const Alignment& aligned = twin.alignment();
  ASSERT_GT(aligned.offset, 0u);
  ASSERT_GT(aligned.memory, 0u);
  ASSERT_LT(aligned.offset + aligned.memory, file_bytes);
  std::byte* const to = memory_.data() + aligned.memory;
  const auto from = static_cast<off_t>(aligned.offset);
  ASSERT_EQ(::pread(twin.descriptor(), to, aligned.offset, from), from);
  EXPECT_TRUE(holds_content({to, aligned.offset}, aligned.offset));
}

TEST_F(DirectFileTest, ItsDescriptorIsHighAndClosedByExec) {
  const DirectFile twin = DirectFile::open(file_.number(), Access::read).value();
  EXPECT_GE(twin.descriptor(), twin_number_min);
  EXPECT_EQ(::fcntl(twin.descriptor(), F_GETFD), FD_CLOEXEC);
  const DirectFile second = DirectFile::open(file_.number(), Access::read).value();
  EXPECT_GT(second.descriptor(), twin.descriptor());
}

TEST_F(DirectFileTest, TheLowestFreeNumberStaysThePrograms) {
  const int lowest = Opened(::dup(file_.number())).number();
  const DirectFile twin = DirectFile::open(file_.number(), Access::read).value();
  EXPECT_EQ(Opened(::dup(file_.number())).number(), lowest);
}

TEST_F(DirectFileTest, MovesAndClosesOnce) {
  DirectFile first = DirectFile::open(file_.number(), Access::read).value();
  const int number = first.descriptor();
  {
    DirectFile second = std::move(first);
    EXPECT_EQ(second.descriptor(), number);
    DirectFile third = DirectFile::open(file_.number(), Access::read).value();
    third = std::move(second);
    EXPECT_EQ(third.descriptor(), number);
    EXPECT_GE(::fcntl(number, F_GETFD), 0);
  }
  EXPECT_EQ(::fcntl(number, F_GETFD), -1);
}

TEST_F(DirectFileTest, AnUnlinkedOrReplacedFileIsStillRead) {
  ASSERT_EQ(::unlink(path_.c_str()), 0);
  const Opened other = open_file(path_, O_WRONLY | O_CREAT);
  ASSERT_EQ(::write(other.number(), "other", 5), 5);
  const DirectFile twin = DirectFile::open(file_.number(), Access::read).value();
  ASSERT_EQ(read_all(twin, memory_), static_cast<ssize_t>(file_bytes));
  EXPECT_TRUE(holds_content(memory_.span(), 0));
}

TEST_F(DirectFileTest, PermitsNoMoreThanTheDescriptorDoes) {
  const Opened for_reading = open_file(path_, O_RDONLY);
  EXPECT_TRUE(DirectFile::open(for_reading.number(), Access::read).ok());
  const Error no_writing = refused(for_reading.number(), Access::read_write);
  EXPECT_EQ(no_writing.code, EBADF);
  EXPECT_NE(no_writing.message.find("not open for writing; open it O_RDWR"), std::string::npos);

  const Opened for_writing = open_file(path_, O_WRONLY);
  const Error no_reading = refused(for_writing.number(), Access::read);
  EXPECT_EQ(no_reading.code, EBADF);
  EXPECT_NE(no_reading.message.find("not open for reading"), std::string::npos);
  const DirectFile twin = DirectFile::open(for_writing.number(), Access::read_write).value();
  EXPECT_EQ(::fcntl(twin.descriptor(), F_GETFL) & O_ACCMODE, O_WRONLY);

  const Opened for_nothing = open_file(path_, O_PATH);
  EXPECT_EQ(refused(for_nothing.number(), Access::read).code, EBADF);
}

TEST_F(DirectFileTest, WritesAppendAndReachTheDiskAsTheDescriptorsDo) {
  const Opened appending = open_file(path_, O_WRONLY | O_APPEND | O_DSYNC);
  const DirectFile twin = DirectFile::open(appending.number(), Access::read_write).value();
  const int flags = ::fcntl(twin.descriptor(), F_GETFL);
  EXPECT_NE(flags & O_APPEND, 0);
  EXPECT_EQ(flags & O_SYNC, O_DSYNC);
}

TEST_F(DirectFileTest, WritesAnywhereWhateverElseTheDescriptorDoes) {
  for (const int flags : {O_RDWR, O_WRONLY | O_APPEND, O_RDWR | O_SYNC, O_WRONLY | O_DSYNC}) {
    const Opened writing = open_file(path_, flags);
    const DirectFile twin = DirectFile::open(writing.number(), Access::write).value();
    const int seen = ::fcntl(twin.descriptor(), F_GETFL);
    EXPECT_EQ(seen & O_ACCMODE, O_WRONLY);
    EXPECT_EQ(seen & (O_APPEND | O_SYNC | O_DSYNC), 0);
    EXPECT_NE(seen & O_DIRECT, 0);
    ASSERT_EQ(::pwrite(twin.descriptor(), memory_.data(), page, page), ssize_t{page});
    EXPECT_EQ(::lseek(file_.number(), 0, SEEK_END), off_t{file_bytes});
  }
  const Opened for_reading = open_file(path_, O_RDONLY);
  EXPECT_EQ(refused(for_reading.number(), Access::write).code, EBADF);
  const Opened for_neither = open_file(path_, 3);  // For ioctl(2) alone.
  EXPECT_EQ(refused(for_neither.number(), Access::write).code, EBADF);
}

TEST_F(DirectFileTest, AFullTableOfDescriptorsIsAnError) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int lowest_free = Opened(::dup(file_.number())).number();
  rlimit lowered = before;
  lowered.rlim_cur = static_cast<rlim_t>(lowest_free);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &lowered), 0);
  const Error error = refused(file_.number(), Access::read);

  // With room for one descriptor, the file gets that number.
  lowered.rlim_cur = static_cast<rlim_t>(lowest_free) + 1;
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &lowered), 0);
  const Result<DirectFile> twin = DirectFile::open(file_.number(), Access::read);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);

  EXPECT_EQ(error.code, EMFILE);
  EXPECT_NE(error.message.find("ulimit -n"), std::string::npos);
  ASSERT_TRUE(twin.ok()) << twin.error().message;
  EXPECT_EQ(twin.value().descriptor(), lowest_free);
  EXPECT_EQ(::fcntl(lowest_free, F_GETFD), FD_CLOEXEC);
}

// As in a program that does not use K2K.
TEST_F(DirectFileTest, TakesNoLowNumberIfLowNumbersBelongToTheProgram) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int lowest_free = Opened(::dup(file_.number())).number();
  rlimit lowered = before;
  lowered.rlim_cur = high_number_min;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &lowered), 0);
  high_numbers_only = true;
  const Error error = refused(file_.number(), Access::read);
  const Result<Ring> ring = Ring::create(4);
  high_numbers_only = false;
  EXPECT_EQ(Opened(::dup(file_.number())).number(), lowest_free);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(error.code, EMFILE);
  ASSERT_FALSE(ring.ok());
  if (ring.error().code == ENOSYS || ring.error().code == EPERM) GTEST_SKIP() << "no io_uring";
  EXPECT_EQ(ring.error().code, EMFILE);
  EXPECT_NE(ring.error().message.find("ulimit -n"), std::string::npos);
}

TEST(DirectFileOpen, RefusesAClosedDescriptor) {
  const Error error = refused(-1, Access::read);
  EXPECT_EQ(error.code, EBADF);
  EXPECT_EQ(error.message,
            "direct transfers on descriptor -1: no such descriptor is open (Bad file descriptor)");
  Opened closed(::dup(0));
  const int number = closed.number();
  closed.close();
  EXPECT_EQ(refused(number, Access::read_write).code, EBADF);
}

TEST(DirectFileOpen, RefusesFilesWithoutPages) {
  const OwnFiles files;
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  const Opened out(pipe[0]);
  const Opened in(pipe[1]);
  const Opened folder = open_file(files.path(""), O_RDONLY | O_DIRECTORY);
  const Opened null = open_file("/dev/null", O_RDWR);
  for (const int descriptor : {out.number(), in.number(), folder.number(), null.number()}) {
    const Error error = refused(descriptor, Access::read);
    EXPECT_EQ(error.code, EINVAL);
    EXPECT_NE(error.message.find("only regular files and block devices"), std::string::npos);
  }
}

TEST_F(DirectFileTest, OwnsItsNumberAsLongAsItIsOpen) {
  int number = -1;
  {
    const DirectFile twin = DirectFile::open(file_.number(), Access::read).value();
    number = twin.descriptor();
    EXPECT_TRUE(is_own(number));
    EXPECT_FALSE(is_own(file_.number()));
  }
  EXPECT_FALSE(is_own(number));
  for (const int none : {-1, own_numbers_max, INT_MAX}) EXPECT_FALSE(is_own(none));
}

TEST_F(DirectFileTest, LeavesTheLocksOfTheProcessAlone) {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  ASSERT_EQ(::fcntl(file_.number(), F_SETLK, &lock), 0);
  const Error error = refused(file_.number(), Access::read);
  EXPECT_EQ(error.code, EBUSY);
  EXPECT_NE(error.message.find("take the lock after the first direct read"), std::string::npos);
  // The query uses another description, so that our own lock is found.
  ASSERT_EQ(::fcntl(file_.number(), F_OFD_GETLK, &lock), 0);
  EXPECT_EQ(lock.l_type, F_WRLCK);

  lock = {};
  lock.l_type = F_UNLCK;
  ASSERT_EQ(::fcntl(file_.number(), F_SETLK, &lock), 0);
  EXPECT_TRUE(DirectFile::open(file_.number(), Access::read).ok());
}

TEST(DirectFileOpen, RefusesAFileSystemThatOnlyCopies) {
  const Opened file(::memfd_create("k2k_io", MFD_CLOEXEC));
  if (file.number() < 0) GTEST_SKIP() << "no memfd_create";
  const Error error = refused(file.number(), Access::read);
  EXPECT_EQ(error.code, EINVAL);
  EXPECT_NE(error.message.find("its file system has none; read it through the page cache"),
            std::string::npos);
}

TEST(DirectFileOpen, RefusesAFileWhoseSystemDoesNotKnowODirect) {
  const Opened file = open_file("/proc/self/status", O_RDONLY);
  if (file.number() < 0) GTEST_SKIP() << "no /proc";
  EXPECT_EQ(refused(file.number(), Access::read).code, EINVAL);
}

}  // namespace
}  // namespace k2k::io
