// Goal: a pread answers as Linux' does, whatever the page cache has of it, and one that would wait
// for a disk leaves the thread that tried it. Method: real files, evicted; a reader that waits
// until it is let go.

#include <asm/unistd.h>
#include <sys/mman.h>

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "calls/rows.hpp"
#include "router/door/files.hpp"
#include "router/file/file_fixture.hpp"
#include "services/reader_fixture.hpp"
#include "services/services.hpp"

namespace k2k::services {
namespace {

constexpr std::size_t cache_page = 4096;
constexpr std::size_t positioned_file_bytes = 256 * cache_page + 777;

Request request_of(std::uint16_t number, int descriptor, void* into, std::uint64_t bytes,
                   std::int64_t offset = 0) {
  Request request;
  request.number = number;
  request.row = static_cast<std::int16_t>(calls::find(number));
  request.arguments[0] = static_cast<std::uint64_t>(descriptor);
  request.arguments[1] = reinterpret_cast<std::uint64_t>(into);
  request.arguments[2] = bytes;
  request.arguments[3] = static_cast<std::uint64_t>(offset);
  return request;
}

class PositionedRead : public testing::Test {
 protected:
  // As the server makes it.
  std::int64_t read(int descriptor, void* into, std::uint64_t bytes, std::int64_t offset) {
    Progress progress;
    const Request request = request_of(__NR_pread64, descriptor, into, bytes, offset);
    const Answer answer = execute_without_waiting(request, progress, files);
    waited = answer.would_wait;
    return waited ? execute_waiting(request, progress, {}, files) : answer.value;
  }
  // Pages that are not there, as far as this file system can be told to forget them.
  bool is_cold() {
    file.evict();
    return files.try_pread(file.descriptor(), memory.get(), 16 * cache_page, 64 * cache_page) ==
           -EAGAIN;
  }
  void expect_bytes(std::size_t offset, std::size_t bytes) {
    EXPECT_TRUE(std::equal(memory.get(), memory.get() + bytes,
                           file.bytes().begin() + static_cast<std::ptrdiff_t>(offset)))
        << bytes << " at " << offset;
  }

  router::DataFile file{positioned_file_bytes};
  router::Memory memory = router::memory_of(2 * positioned_file_bytes);
  router::Files files;
  bool waited = false;
};

TEST_F(PositionedRead, answers_at_once_what_the_page_cache_has) {
  file.cache([](std::size_t) { return true; });
  for (const std::size_t offset : {std::size_t{0}, cache_page + 5, 200 * cache_page}) {
    EXPECT_EQ(
        read(file.descriptor(), memory.get(), 9 * cache_page, static_cast<std::int64_t>(offset)),
        static_cast<std::int64_t>(9 * cache_page));
    EXPECT_FALSE(waited);
    expect_bytes(offset, 9 * cache_page);
  }
}

TEST_F(PositionedRead, leaves_the_thread_before_it_waits_for_the_disk) {
  if (!is_cold()) GTEST_SKIP() << "nothing of a file is evicted here";
  file.evict();
  EXPECT_EQ(read(file.descriptor(), memory.get(), 16 * cache_page, 0),
            static_cast<std::int64_t>(16 * cache_page));
  EXPECT_TRUE(waited);
  expect_bytes(0, 16 * cache_page);
}

TEST_F(PositionedRead, is_whole_where_the_page_cache_has_only_its_beginning) {
  if (!is_cold()) GTEST_SKIP() << "nothing of a file is evicted here";
  file.cache([](std::size_t at) { return at < 4; });
  EXPECT_EQ(read(file.descriptor(), memory.get(), 128 * cache_page, 0),
            static_cast<std::int64_t>(128 * cache_page));
  EXPECT_TRUE(waited);
  expect_bytes(0, 128 * cache_page);
}

TEST_F(PositionedRead, ends_where_the_file_does) {
  file.cache([](std::size_t) { return true; });
  EXPECT_EQ(read(file.descriptor(), memory.get(), 2 * positioned_file_bytes, 0),
            static_cast<std::int64_t>(positioned_file_bytes));
  EXPECT_FALSE(waited);
  expect_bytes(0, positioned_file_bytes);
  EXPECT_EQ(read(file.descriptor(), memory.get(), cache_page, positioned_file_bytes), 0);
  EXPECT_EQ(read(file.descriptor(), memory.get(), cache_page, 1 << 30), 0);
  EXPECT_EQ(read(file.descriptor(), memory.get(), 0, 0), 0);
  // One that ends with a cache_page, too.
  ASSERT_EQ(::ftruncate(file.descriptor(), 8 * cache_page), 0);
  EXPECT_EQ(read(file.descriptor(), memory.get(), 9 * cache_page, cache_page),
            static_cast<std::int64_t>(7 * cache_page));
  EXPECT_FALSE(waited);
}

TEST_F(PositionedRead, is_refused_as_the_kernel_refuses_it) {
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  const int folder = ::open(".", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(read(-1, memory.get(), cache_page, 0), -EBADF);
  EXPECT_EQ(read(pipe[0], memory.get(), cache_page, 0), -ESPIPE);
  EXPECT_EQ(read(folder, memory.get(), cache_page, 0), -EISDIR);
  EXPECT_EQ(read(file.descriptor(), memory.get(), cache_page, -1), -EINVAL);
  EXPECT_EQ(read(file.descriptor(), memory.get(), cache_page, INT64_MIN), -EINVAL);
  EXPECT_EQ(read(file.descriptor(), nullptr, cache_page, 0), -EFAULT);
  EXPECT_EQ(read(file.descriptor(), memory.get(), UINT64_MAX, 0), -EFAULT);
  EXPECT_EQ(read(file.descriptor(), memory.get(), std::uint64_t{1} << 62, 0), -EFAULT);
  ::close(folder);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST_F(PositionedRead, of_a_file_system_that_cannot_tell_is_made_at_once) {
  const int status = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(status, 0);
  EXPECT_GT(read(status, memory.get(), cache_page, 0), 0);
  EXPECT_FALSE(waited);
  ::close(status);
}

TEST_F(PositionedRead, by_the_router_leaves_the_thread_where_it_would_wait) {
  const auto disk = std::make_shared<WaitingReader>();
  WaitingReader& reader = *disk;
  router::Files waiting(disk);
  Progress progress;
  const Request request = request_of(__NR_pread64, file.descriptor(), memory.get(), cache_page);
  const Answer answer = execute_without_waiting(request, progress, waiting);
  EXPECT_TRUE(answer.would_wait);
  EXPECT_TRUE(answer.keeps_role);
  EXPECT_EQ(answer.readiness.descriptor, -1);
  reader.let_go();
  EXPECT_EQ(execute_waiting(request, progress, {}, waiting), static_cast<std::int64_t>(cache_page));
}

TEST_F(PositionedRead, at_the_position_waits_for_no_other_of_the_same_file) {
  const auto disk = std::make_shared<WaitingReader>();
  WaitingReader& reader = *disk;
  router::Files waiting(disk);
  const std::uint64_t bytes = 64 * cache_page;
  ASSERT_EQ(::lseek(file.descriptor(), 0, SEEK_SET), 0);
  std::thread first([&] {
    Progress progress;
    EXPECT_EQ(execute_waiting(request_of(__NR_read, file.descriptor(), memory.get(), bytes),
                              progress, {}, waiting),
              static_cast<std::int64_t>(bytes));
  });
  reader.await_inside(1);
  Progress progress;
  const Request second = request_of(__NR_read, file.descriptor(), memory.get() + bytes, bytes);
  const Answer answer = execute_without_waiting(second, progress, waiting);
  EXPECT_TRUE(answer.would_wait);
  EXPECT_EQ(::lseek(file.descriptor(), 0, SEEK_CUR), static_cast<off_t>(bytes))
      << "the first one's, and nothing of the second";
  reader.let_go();
  first.join();
  EXPECT_EQ(execute_waiting(second, progress, {}, waiting), static_cast<std::int64_t>(bytes));
  EXPECT_EQ(::lseek(file.descriptor(), 0, SEEK_CUR), static_cast<off_t>(2 * bytes));
}

}  // namespace
}  // namespace k2k::services
