// Goal: requests for a file in which nothing was cached are not probed any more. They still get
// pread's answers, also after changes of the file or the descriptor, and the first pages that are
// found cached end this state. Method: cold reads of a real file, into memory of each port, until
// they are unprobed; then each possible change.

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <utility>

#include "router/file/expectation.hpp"
#include "router/file/file_fixture.hpp"
#include "router/read/file_reader_fixture.hpp"

namespace k2k::router {
namespace {

constexpr std::size_t block = 16 * page;
constexpr std::size_t blocks = 64;
constexpr std::uint64_t warm_up = -trust::absent_from;
constexpr std::uint64_t one_probed_of = trust::absent_from - trust::absent_last + 1;

class ExpectedAbsent : public WithMemory {
 protected:
  void SetUp() override {
    if (!has_direct(file_)) GTEST_SKIP() << "no direct transfers in this folder";
    file_.evict();
    for (std::uint64_t number = 0; number < warm_up; ++number) read_next();
    ASSERT_EQ(stats().probed, warm_up);
    ASSERT_EQ(stats().unprobed, 0u);
    ASSERT_EQ(stats().bytes_direct, warm_up * block);
  }
  // Expects the file's present content.
  void expect_read(std::size_t offset, std::size_t bytes = block) {
    WithMemory::expect_read(*reader_, file_, bytes, offset);
  }
  // Reads each block once, never a block behind its predecessor.
  void read_next() { expect_read(next_++ * 7 % blocks * block); }
  ssize_t pread(std::byte* memory, std::size_t bytes, std::size_t offset) {
    return reader_->pread(file_.descriptor(), memory, bytes, static_cast<std::int64_t>(offset));
  }
  [[nodiscard]] ReaderStats stats() const { return reader_->stats(); }
  // Makes `requests` requests; returns the number of probed ones.
  std::uint64_t probed_of(std::uint64_t requests) {
    const std::uint64_t before = stats().probed;
    for (std::uint64_t number = 0; number < requests; ++number) read_next();
    return stats().probed - before;
  }

  DataFile file_{blocks * block};
  const std::unique_ptr<FileReader> reader_ =
      make({.model = slow_device(), .channels_max = 4, .grain_pages = 1});
  std::size_t next_ = 0;
};
K2K_BOTH_PORTS(ExpectedAbsent);

// For host memory only: a device's copies go to any address, and a device checks its addresses.
class ExpectedAbsentOnHost : public ExpectedAbsent {};
INSTANTIATE_TEST_SUITE_P(, ExpectedAbsentOnHost, testing::Values(Into::host), name_of);

TEST_P(ExpectedAbsent, probes_one_request_in_one_probed_of) {
  EXPECT_EQ(probed_of(4 * one_probed_of), 4u);
  EXPECT_EQ(stats().bytes_direct, stats().reads * block);
  EXPECT_EQ(stats().bytes_cache, 0u);
}

TEST_P(ExpectedAbsent, probes_again_once_it_finds_some_pages_cached) {
  file_.cache([](std::size_t at) { return at % 2 == 0; });
  EXPECT_EQ(probed_of(one_probed_of), 1u);
  EXPECT_EQ(probed_of(20), 20u);
}

TEST_P(ExpectedAbsent, copies_again_once_it_finds_all_pages_cached) {
  file_.cache([](std::size_t) { return true; });
  probed_of(one_probed_of);
  const std::uint64_t before = stats().bytes_cache;
  probed_of(4);
  // Linux may evict other pages as well.
  EXPECT_GT(stats().bytes_cache, before);
}

TEST_P(ExpectedAbsent, probes_long_requests_and_requests_of_several_transfers) {
  constexpr std::size_t long_bytes = 257 * page;
  const std::pair<std::size_t, std::size_t> requests[] = {
      {3 * block, long_bytes}, {9 * block + 1, block}, {5 * block, block - 1}};
  for (const auto& [offset, bytes] : requests) {
    const std::uint64_t before = stats().probed;
    // Memory that is aligned like the offset.
    WithMemory::expect_read(*reader_, file_, bytes, offset, offset % page);
    EXPECT_EQ(stats().probed, before + 1) << bytes << " at " << offset;
    file_.evict();
  }
}

TEST_P(ExpectedAbsentOnHost, reads_into_misaligned_memory_by_a_further_copy) {
  const Memory memory = memory_of(block + page);
  const std::uint64_t before = stats().misaligned;
  ASSERT_EQ(pread(memory.get() + 1, block, 3 * block), static_cast<ssize_t>(block));
  EXPECT_EQ(stats().misaligned, before + 1);
}

TEST_P(ExpectedAbsent, sees_data_of_other_writers_that_are_not_yet_on_the_disk) {
  for (std::size_t number = 0; number < 2 * one_probed_of; ++number) {
    const std::size_t at = number * 11 % blocks * block + 100;
    std::fill_n(file_.bytes().begin() + static_cast<std::ptrdiff_t>(at), 5000, std::byte(number));
    ASSERT_EQ(::pwrite(file_.descriptor(), &file_.bytes()[at], 5000, static_cast<off_t>(at)), 5000);
    expect_read(at / block * block);
  }
}

TEST_P(ExpectedAbsent, probes_again_where_the_program_writes) {
  EXPECT_EQ(probed_of(4), 0u);
  std::memcpy(inside(), file_.bytes().data(), page);
  ASSERT_EQ(reader_->pwrite(file_.descriptor(), address(), page, 0), ssize_t{page});
  EXPECT_EQ(probed_of(4), 4u);
}

TEST_P(ExpectedAbsent, ends_at_the_present_end_of_a_file_that_was_cut_or_has_grown) {
  const auto resize = [&](std::size_t bytes) {
    ASSERT_EQ(::ftruncate(file_.descriptor(), static_cast<off_t>(bytes)), 0);
    file_.bytes().resize(bytes);
  };
  resize(10 * block + 777);
  expect_read(10 * block);
  expect_read(3 * block);
  expect_read(10 * block + 512, page);
  expect_read(30 * block);
  resize(20 * block + 5);
  expect_read(10 * block);
  expect_read(20 * block);
  expect_read(15 * block);
}

TEST_P(ExpectedAbsent, never_gives_wrong_bytes_of_a_file_that_is_cut_meanwhile) {
  std::atomic<bool> over{false};
  std::thread cutter([&] {
    for (std::size_t number = 0; !over.load(); ++number) {
      const std::size_t size = number * 13 % blocks * block + 333;
      EXPECT_EQ(::ftruncate(file_.descriptor(), static_cast<off_t>(size)), 0);
      EXPECT_EQ(::ftruncate(file_.descriptor(), static_cast<off_t>(file_.size())), 0);
      EXPECT_EQ(::pwrite(file_.descriptor(), file_.bytes().data() + size, file_.size() - size,
                         static_cast<off_t>(size)),
                static_cast<ssize_t>(file_.size() - size));
    }
  });
  for (std::size_t number = 0; number < 100; ++number) {
    // Evicted now and then, so that it is expected to be absent again.
    if (number % 8 == 0) file_.evict();
    const std::size_t offset = number * 7 % blocks * block;
    const ssize_t count = pread(address(), block, offset);
    ASSERT_GE(count, 0);
    std::size_t wrong = 0;
    for (std::size_t at = 0; at < static_cast<std::size_t>(count); ++at) {
      const std::byte byte = *inside(at);
      wrong += byte == file_.bytes()[offset + at] || byte == std::byte{0} ? 0 : 1;
    }
    ASSERT_EQ(wrong, 0u);
  }
  over = true;
  cutter.join();
}

TEST_P(ExpectedAbsent, reads_the_file_that_the_descriptor_names_now) {
  DataFile other(blocks * block, 2);
  other.evict();
  // Without a call to the reader, as by a program that the shim does not see.
  ASSERT_EQ(::dup2(other.descriptor(), file_.descriptor()), file_.descriptor());
  std::swap(file_.bytes(), other.bytes());
  for (std::uint64_t number = 0; number < one_probed_of; ++number) read_next();
  std::swap(file_.bytes(), other.bytes());
}

TEST_P(ExpectedAbsent, has_the_errors_of_the_descriptor_as_it_is_now) {
  *inside() = std::byte{0xee};
  const auto answer_of = [&](int flags) {
    const int opened = ::open(file_.path().c_str(), flags | O_CLOEXEC);
    EXPECT_EQ(::dup2(opened, file_.descriptor()), file_.descriptor());
    ::close(opened);
    return pread(address(), block, 5 * block);
  };
  EXPECT_EQ(answer_of(O_WRONLY), -EBADF);
  EXPECT_EQ(answer_of(O_PATH), -EBADF);
  EXPECT_EQ(*inside(), std::byte{0xee});
  EXPECT_EQ(answer_of(O_RDONLY | O_DIRECT), static_cast<ssize_t>(block));
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::dup2(ends[0], file_.descriptor()), file_.descriptor());
  EXPECT_EQ(pread(address(), block, 5 * block), -ESPIPE);
  ::close(ends[0]);
  ::close(ends[1]);
  const int number = file_.descriptor();
  file_.close();
  EXPECT_EQ(reader_->pread(number, address(), block, 5 * block), -EBADF);
}

TEST_P(ExpectedAbsentOnHost, gives_the_bytes_before_unmapped_memory) {
  void* const memory =
      ::mmap(nullptr, 2 * block, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const begin = static_cast<std::byte*>(memory);
  // Kept, so that no other mapping takes the place.
  ASSERT_EQ(::mprotect(begin + block, block, PROT_NONE), 0);
  EXPECT_EQ(pread(begin + block - 4 * page, block, 5 * block), ssize_t{4 * page});
  EXPECT_TRUE(std::equal(begin + block - 4 * page, begin + block,
                         file_.bytes().begin() + std::ptrdiff_t{5 * block}));
  EXPECT_EQ(pread(begin + block, block, 7 * block), -EFAULT);
  ::munmap(memory, 2 * block);
}

TEST_P(ExpectedAbsent, goes_on_after_the_descriptor_was_closed_and_opened_again) {
  reader_->closing(file_.descriptor());
  const int opened = ::open(file_.path().c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::dup2(opened, file_.descriptor()), file_.descriptor());
  ::close(opened);
  EXPECT_EQ(probed_of(one_probed_of), 1u);
}

}  // namespace
}  // namespace k2k::router
