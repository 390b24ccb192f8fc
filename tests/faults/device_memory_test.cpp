// Goal: on a file system that fails, reports wrong sizes, answers short or not at all, reads into
// memory that the CPU cannot address have pread's answers, and readers of other files do not wait.
// Method: the reader of such memory in this process on the fault file system, beside plain preads
// of the same file.

#include <algorithm>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "io/memory/separate_memory_fixture.hpp"
#include "router/file/open_files.hpp"
#include "router/read/device_channels.hpp"
#include "router/read/file_reader.hpp"
#include "tests/faults/mounted_fixture.hpp"

namespace k2k::faults::device_memory_test {
namespace {

using io::page;
using router::FileReader;

constexpr std::size_t file_bytes = (3 << 20) + 5000;

struct Piece {
  std::size_t bytes;
  std::size_t offset;
};

class DeviceMemoryOnFaults : public WithFaults {
 protected:
  io::Opened open(const std::string& name) {
    system().make_file(name, file_bytes);
    io::Opened file = io::open_file(system().mount_point() + "/" + name, O_RDWR);
    EXPECT_GE(file.number(), 0);
    evict(file);
    return file;
  }
  static void evict(const io::Opened& file) {
    EXPECT_EQ(::posix_fadvise(file.number(), 0, 0, POSIX_FADV_DONTNEED), 0);
  }
  // Caches every second page.
  static void cache_some(const io::Opened& file) {
    evict(file);
    ::posix_fadvise(file.number(), 0, 0, POSIX_FADV_RANDOM);
    char byte = 0;
    for (std::size_t at = 0; at < file_bytes; at += 2 * page) {
      static_cast<void>(::pread(file.number(), &byte, 1, static_cast<off_t>(at)));
    }
    ::posix_fadvise(file.number(), 0, 0, POSIX_FADV_NORMAL);
  }
  static ssize_t plain(const io::Opened& file, const Piece& piece) {
    std::vector<std::byte> bytes(piece.bytes);
    const ssize_t count =
        ::pread(file.number(), bytes.data(), piece.bytes, static_cast<off_t>(piece.offset));
    return count < 0 ? -errno : count;
  }
  // Returns the count. Checks that these bytes are the file's, and that the memory behind the
  // request is untouched.
  ssize_t routed(const io::Opened& file, const Piece& piece, std::size_t at = 0) {
    std::ranges::fill(memory_->inside().subspan(at, piece.bytes + page), std::byte{0xee});
    const ssize_t count = reader_->pread(file.number(), memory_->address() + at, piece.bytes,
                                         static_cast<std::int64_t>(piece.offset));
    const auto moved = static_cast<std::size_t>(std::max<ssize_t>(count, 0));
    EXPECT_TRUE(io::holds_content(memory_->inside().subspan(at, moved), piece.offset));
    const auto behind = memory_->inside().subspan(at + piece.bytes, page);
    EXPECT_EQ(std::ranges::count(behind, std::byte{0xee}), ssize_t{page});
    return count;
  }

  const std::shared_ptr<io::SeparateMemory> memory_ =
      std::make_shared<io::SeparateMemory>(24 << 20);
  const std::unique_ptr<FileReader> reader_ =
      FileReader::create(
          memory_,
          {.model = {.call_us = 60, .cutoff_bytes = 65536, .direct_gbs = 1, .cache_gbs = 5},
           .read_ahead_bytes = 0,
           .grain_pages = 1},
          {.paths = {.buffers = 4, .buffer_bytes = 16 * page}})
          .value();
};

TEST_F(DeviceMemoryOnFaults, ends_before_a_bad_byte_or_has_its_error) {
  const io::Opened file = open("data");
  const Piece pieces[] = {{1 << 20, 0}, {2 << 20, 5}, {3 * page, 198 * page}, {8 << 20, page}};
  for (const std::size_t bad : {page, 201 * page + 7, file_bytes - 1}) {
    for (const bool some : {false, true}) {
      for (const Piece& piece : pieces) {
        const auto prepare = [&] { some ? cache_some(file) : evict(file); };
        prepare();
        control().bad_byte = bad;
        const ssize_t kernels = plain(file, piece);
        control().bad_byte = Control::none;
        prepare();
        control().bad_byte = bad;
        EXPECT_EQ(routed(file, piece), kernels)
            << piece.bytes << " at " << piece.offset << ", bad " << bad << ", some " << some;
        control().bad_byte = Control::none;
      }
    }
  }
  EXPECT_GT(control().failed, 0u);
  EXPECT_GT(reader_->stats().bytes_direct, 0u);
  EXPECT_EQ(reader_->stats().files_refused, 0u) << "the page cache failed as well: no refusal";
}

TEST_F(DeviceMemoryOnFaults, remembers_refused_files_and_tries_each_once) {
  for (const int code : {EOPNOTSUPP, EINVAL, EIO}) {
    const std::uint64_t before = reader_->stats().files_refused;
    control().direct_read_error = code;
    const io::Opened file = open("data" + std::to_string(code));
    const std::uint64_t asked = control().direct_reads;
    for (int again = 0; again < 3; ++again) {
      evict(file);
      EXPECT_EQ(routed(file, {1 << 20, page}), 1 << 20);
    }
    EXPECT_EQ(reader_->stats().files_refused, before + 1) << strerrorname_np(code);
    EXPECT_GE(control().direct_reads, asked + 1);
    if (code != EIO) {
      EXPECT_EQ(control().direct_reads, asked + 1) << "one pread, made before all others";
    }
  }
  EXPECT_EQ(reader_->stats().bytes_direct, 0u);
}

TEST_F(DeviceMemoryOnFaults, answers_short_reads_with_as_many_bytes_as_the_kernel_at_least) {
  control().uncached = 1;
  const io::Opened file = open("data");
  for (const std::uint64_t most : {100'000, 4096, 1'000'000}) {
    control().read_bytes_max = most;
    for (const Piece& piece : {Piece{1 << 20, 0}, Piece{2 << 20, 5}, Piece{8 << 20, page}}) {
      EXPECT_GE(routed(file, piece), plain(file, piece));
    }
  }
  EXPECT_EQ(routed(file, {300'000, file_bytes}), 0);
}

TEST_F(DeviceMemoryOnFaults, answers_as_the_kernel_where_the_reported_size_is_wrong) {
  control().uncached = 1;
  const io::Opened file = open("data");
  for (const std::uint64_t said : {std::uint64_t{0}, std::uint64_t{1 << 20}, 2 * file_bytes}) {
    control().said_bytes = said;
    for (const Piece& piece : {Piece{1 << 20, 0}, Piece{8 << 20, 0}, Piece{1 << 20, file_bytes}}) {
      EXPECT_EQ(routed(file, piece), plain(file, piece)) << piece.offset << ", said " << said;
    }
  }
}

TEST_F(DeviceMemoryOnFaults, delays_no_other_reader_while_a_file_system_does_not_answer) {
  const io::Opened slow = open("slow");
  const io::OwnFiles own;
  const io::Opened other = io::open_file(io::make_file(own, "other", file_bytes), O_RDONLY);
  control().hold_reads = 1;
  std::vector<std::future<ssize_t>> held;
  constexpr std::size_t place = 2 << 20;
  for (std::size_t number = 0; number < 6; ++number) {  // More reads than channels that are kept.
    held.push_back(std::async(std::launch::async, [&, number] {
      return reader_->pread(slow.number(), memory_->address() + (number + 1) * place, 1 << 20,
                            static_cast<std::int64_t>(number * page));
    }));
  }
  while (control().held == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  auto others = std::async(std::launch::async, [&] { return routed(other, {1 << 20, 5}); });
  EXPECT_EQ(others.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  control().hold_reads = 0;
  for (std::future<ssize_t>& each : held) EXPECT_EQ(each.get(), 1 << 20);
  for (std::size_t number = 0; number < 6; ++number) {
    EXPECT_TRUE(
        io::holds_content(memory_->inside().subspan((number + 1) * place, 1 << 20), number * page));
  }
}

TEST_F(DeviceMemoryOnFaults, writes_up_to_the_end_of_the_disk) {
  const io::Opened file = open("data");
  io::fill(memory_->inside().first(1 << 20), 0);
  control().space_bytes = (3 << 20) + 4096;
  const ssize_t kernels = ::pwrite(file.number(), memory_->inside().data(), 100'000, 3 << 20);
  EXPECT_EQ(reader_->pwrite(file.number(), memory_->address(), 100'000, 3 << 20),
            kernels < 0 ? -errno : kernels);
  EXPECT_EQ(reader_->pwrite(file.number(), memory_->address(), 100'000, 0), 100'000);
}

}  // namespace
}  // namespace k2k::faults::device_memory_test
