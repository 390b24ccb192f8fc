// Goal: on a file system that fails, refuses or writes less, the answer of a write in exclusive
// mode is true of the file, a refusal is remembered and counted, and the rest is written through
// the page cache. Method: FileReader in this process on the fault file system; the content below it
// is compared with the answers.

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "router/file/open_files.hpp"
#include "router/read/writes_fixture.hpp"
#include "tests/faults/mounted_fixture.hpp"

namespace k2k::faults::exclusive_writes_test {
namespace {

using router::FileReader;
using router::Source;
using router::writer_of;

constexpr std::size_t page = io::page;
constexpr std::size_t file_bytes = (3 << 20) + 5000;

class ExclusiveWritesOnFaults : public WithFaults {
 protected:
  io::Opened open(const std::string& name) {
    system().make_file(name, file_bytes);
    io::Opened file = io::open_file(system().mount_point() + "/" + name, O_RDWR);
    EXPECT_GE(file.number(), 0);
    EXPECT_EQ(::posix_fadvise(file.number(), 0, 0, POSIX_FADV_DONTNEED), 0);
    return file;
  }
  // The content below the fault file system.
  [[nodiscard]] std::vector<char> content(const std::string& name) const {
    std::ifstream file(system().folder() + "/" + name, std::ios::binary | std::ios::ate);
    std::vector<char> bytes(static_cast<std::size_t>(std::max<std::streamoff>(file.tellg(), 0)));
    file.seekg(0);
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return bytes;
  }
  // Checks that the file contains as many bytes as the count reports.
  void expect_written(const std::string& name, const Source& source, std::size_t offset,
                      ssize_t count) const {
    const std::vector<char> bytes = content(name);
    const auto done = static_cast<std::size_t>(std::max<ssize_t>(count, 0));
    ASSERT_GE(bytes.size(), offset + done);
    EXPECT_EQ(std::memcmp(bytes.data() + offset, source.begin, done), 0) << count;
  }
};

TEST_F(ExclusiveWritesOnFaults, reach_the_file) {
  const io::Opened file = open("data");
  const auto writer = writer_of();
  const Source source(1 << 20, 777, 1);
  EXPECT_EQ(writer->pwrite(file.number(), source.begin, 1 << 20, 777), 1 << 20);
  EXPECT_GT(control().direct_writes, 0u);
  EXPECT_EQ(writer->stats().writes_direct, 1u);
  expect_written("data", source, 777, 1 << 20);
}

class WriteRefusals : public ExclusiveWritesOnFaults, public testing::WithParamInterface<int> {};

TEST_P(WriteRefusals, are_remembered_of_each_file_and_then_of_the_device) {
  const auto writer = writer_of();
  control().direct_write_error = GetParam();
  constexpr std::uint64_t files = 6;
  constexpr std::uint64_t tried = router::DirectDevice::refusals_max;
  for (std::uint64_t number = 1; number <= files; ++number) {
    const std::string name = "data" + std::to_string(number);
    const io::Opened file = open(name);
    for (std::uint64_t again = 0; again < 3; ++again) {
      ::posix_fadvise(file.number(), 0, 0, POSIX_FADV_DONTNEED);
      const Source source(1 << 20, 777, again);
      EXPECT_EQ(writer->pwrite(file.number(), source.begin, 1 << 20, 777), 1 << 20);
      expect_written(name, source, 777, 1 << 20);
      EXPECT_EQ(control().direct_writes, std::min(number, tried)) << "one attempt per file";
      EXPECT_EQ(writer->stats().files_refused, number);
    }
    EXPECT_EQ(control().direct_opens, std::min(number, tried));
    writer->closing(file.number());
  }
  const router::ReaderStats stats = writer->stats();
  EXPECT_EQ(stats.fall_backs, tried);
  EXPECT_EQ(stats.writes_direct, 0u);
  EXPECT_EQ(stats.bytes_direct, 0u);
  EXPECT_EQ(stats.bytes_cache, 3 * files << 20);
}

TEST_P(WriteRefusals, do_not_affect_reads) {
  const auto writer = writer_of();
  control().direct_write_error = GetParam();
  for (int number = 0; number < 4; ++number) {
    const io::Opened file = open("data" + std::to_string(number));
    const Source source(1 << 20, 0, 1);
    EXPECT_EQ(writer->pwrite(file.number(), source.begin, 1 << 20, 0), 1 << 20);
    const router::Memory memory = router::memory_of(1 << 20);
    EXPECT_EQ(writer->pread(file.number(), memory.get(), 1 << 20, 2 << 20), 1 << 20);
  }
  EXPECT_GT(writer->stats().bytes_direct, 0u);
  EXPECT_GT(control().direct_reads, 0u);
}

INSTANTIATE_TEST_SUITE_P(, WriteRefusals, testing::Values(EINVAL, EREMOTEIO, EOPNOTSUPP, EIO),
                         [](const auto& one) { return std::string(::strerrorname_np(one.param)); });

TEST_F(ExclusiveWritesOnFaults, continue_after_errors_that_are_no_refusal) {
  const auto writer = writer_of();
  const io::Opened file = open("data");
  control().direct_write_error = ENOMEM;
  const Source source(1 << 20, 0, 1);
  EXPECT_EQ(writer->pwrite(file.number(), source.begin, 1 << 20, 0), 1 << 20);
  expect_written("data", source, 0, 1 << 20);
  control().direct_write_error = 0;
  EXPECT_EQ(writer->stats().fall_backs, 1u);
  EXPECT_EQ(writer->stats().files_refused, 0u);
  ::posix_fadvise(file.number(), 0, 0, POSIX_FADV_DONTNEED);
  EXPECT_EQ(writer->pwrite(file.number(), source.begin, 1 << 20, 0), 1 << 20);
  EXPECT_EQ(writer->stats().writes_direct, 1u);
}

// The count ends before the bad byte, and the next call has its error, however the request lies.
TEST_F(ExclusiveWritesOnFaults, end_before_a_bad_byte_or_have_its_error) {
  const auto writer = writer_of();
  const io::Opened file = open("data");
  for (const std::size_t offset : {std::size_t{0}, std::size_t{777}, 5 * page}) {
    for (const std::size_t bad : {offset, offset + page, offset + (1 << 20) - 1}) {
      ::posix_fadvise(file.number(), 0, 0, POSIX_FADV_DONTNEED);
      const Source source(1 << 20, offset, bad);
      control().bad_byte = bad;
      const ssize_t count =
          writer->pwrite(file.number(), source.begin, 1 << 20, static_cast<std::int64_t>(offset));
      EXPECT_TRUE(count == -EIO || (count > 0 && offset + static_cast<std::size_t>(count) <= bad))
          << count;
      if (count > 0) {
        EXPECT_EQ(writer->pwrite(file.number(), source.begin + count,
                                 source.bytes - static_cast<std::size_t>(count),
                                 static_cast<std::int64_t>(offset) + count),
                  -EIO);
      }
      control().bad_byte = Control::none;
      expect_written("data", source, offset, count);
      writer->closing(file.number());
    }
  }
  EXPECT_GT(writer->stats().fall_backs, 0u);
}

TEST_F(ExclusiveWritesOnFaults, fill_a_disk_to_its_end_and_report_it) {
  const auto writer = writer_of();
  const io::Opened file = open("data");
  control().space_bytes = 4 << 20;
  std::size_t at = 3 << 20;
  ssize_t count = 0;
  // The file system refuses a request as a whole: shorter requests still fit.
  for (std::size_t bytes = 300'000; bytes > 0;) {
    const Source source(bytes, at, at);
    count = writer->pwrite(file.number(), source.begin, bytes, static_cast<std::int64_t>(at));
    EXPECT_TRUE(count >= 0 || count == -ENOSPC) << count;
    expect_written("data", source, at, count);
    at += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
    if (count < static_cast<ssize_t>(bytes)) bytes /= 2;
  }
  EXPECT_EQ(at, std::size_t{4 << 20});
  EXPECT_EQ(count, -ENOSPC);
  EXPECT_EQ(writer->stats().files_refused, 0u) << "a full disk is no refusal of the file";
  EXPECT_GT(writer->stats().writes_direct, 0u);
}

TEST_F(ExclusiveWritesOnFaults, that_are_written_in_part_continue_through_the_page_cache) {
  const io::Opened file = open("data");
  control().direct_write_bytes_max = 100'000;
  control().uncached = 1;  // For the twin: else the kernel itself would write the rest.
  const auto writer = writer_of();
  const Source source(1 << 20, 777, 1);
  EXPECT_EQ(writer->pwrite(file.number(), source.begin, 1 << 20, 777), 1 << 20);
  expect_written("data", source, 777, 1 << 20);
  const router::ReaderStats stats = writer->stats();
  EXPECT_EQ(stats.bytes_direct, 100'000u);
  EXPECT_EQ(stats.bytes_cache, (1u << 20) - 100'000);
  EXPECT_EQ(stats.fall_backs, 0u) << "a short write is no refusal";
  EXPECT_EQ(stats.files_refused, 0u);
}

TEST_F(ExclusiveWritesOnFaults, without_o_direct_go_through_the_page_cache) {
  control().direct_open_error = EINVAL;
  const auto writer = writer_of();
  const io::Opened file = open("data");
  const Source source(1 << 20, 777, 1);
  EXPECT_EQ(writer->pwrite(file.number(), source.begin, 1 << 20, 777), 1 << 20);
  expect_written("data", source, 777, 1 << 20);
  EXPECT_EQ(writer->stats().files_refused, 1u);
  EXPECT_EQ(control().direct_writes, 0u);
}

// By default, no twin is opened for a write, whatever the file system does.
TEST_F(ExclusiveWritesOnFaults, are_off_by_default) {
  const auto writer = writer_of(false);
  const io::Opened file = open("data");
  const Source source(1 << 20, 777, 1);
  EXPECT_EQ(writer->pwrite(file.number(), source.begin, 1 << 20, 777), 1 << 20);
  expect_written("data", source, 777, 1 << 20);
  EXPECT_EQ(control().direct_opens, 0u);
}

}  // namespace
}  // namespace k2k::faults::exclusive_writes_test
