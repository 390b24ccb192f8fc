// Goal: a read into memory of a PCI device has the answer of a read into ordinary memory. Cached
// pages come by copies, the rest from device to device, or by copies where no way leads there.
// Method: a real device with peer memory (io/gpu/peer_memory_fixture.hpp), files cached in part.

#include <cstring>

#include "io/gpu/peer_memory_fixture.hpp"
#include "router/file/file_fixture.hpp"
#include "router/read/file_reader.hpp"

namespace k2k::router {
namespace {

constexpr std::size_t peer_file_bytes = 96 * page;

class ReaderOnPeerDevice : public io::OnPeerDevice {
 protected:
  // Transfers of any length pay on such a device.
  static std::unique_ptr<FileReader> reader() {
    const Model model{.call_us = 5, .cutoff_bytes = 4096, .direct_gbs = 2, .cache_gbs = 5};
    return FileReader::create({.model = model, .unprobed_bytes = 1024, .grain_pages = 1}).value();
  }
  static std::vector<std::byte> part_of(DataFile& file, std::size_t offset, std::size_t bytes) {
    const auto begin = file.bytes().begin() + static_cast<std::ptrdiff_t>(offset);
    return {begin, begin + static_cast<std::ptrdiff_t>(bytes)};
  }
  // Half of the file, in stretches, read in one request.
  static void read_half_cached(FileReader& reader, DataFile& file, const io::PeerMemory& memory) {
    file.cache([](std::size_t at) { return at / 16 % 2 == 0; });
    ASSERT_EQ(reader.pread(file.descriptor(), memory.bytes().data(), peer_file_bytes, 0),
              static_cast<ssize_t>(peer_file_bytes));
    EXPECT_EQ(copy_of(memory.bytes()), file.bytes());
  }
};

TEST_F(ReaderOnPeerDevice, reads_cached_pages_by_copies_and_the_rest_directly) {
  if (refused_ != 0) GTEST_SKIP() << "the drive does not reach it";
  DataFile file(peer_file_bytes);
  const auto read = reader();
  const io::PeerMemory memory = allocated(peer_file_bytes);
  read_half_cached(*read, file, memory);
  const ReaderStats stats = read->stats();
  EXPECT_EQ(stats.mixed, 1u);
  EXPECT_EQ(stats.bytes_cache + stats.bytes_direct, peer_file_bytes);
  EXPECT_GE(stats.bytes_direct, 40 * page) << "the kernel may evict, and reads nothing ahead";
  EXPECT_GT(stats.bytes_cache, 0u);
  EXPECT_EQ(stats.fall_backs, 0u);
}

TEST_F(ReaderOnPeerDevice, completes_unaligned_ends_by_copies) {
  if (refused_ != 0) GTEST_SKIP() << "the drive does not reach it";
  DataFile file(peer_file_bytes - 777);
  const auto read = reader();
  file.evict();
  const io::PeerMemory memory = allocated(peer_file_bytes);
  constexpr std::size_t offset = 5 * page + 123;
  const std::size_t bytes = file.size() - offset;
  std::byte* const into = memory.bytes().data() + 123;
  ASSERT_EQ(read->pread(file.descriptor(), into, peer_file_bytes - 123, offset),
            static_cast<ssize_t>(bytes));
  EXPECT_EQ(copy_of({into, bytes}), part_of(file, offset, bytes));
  EXPECT_EQ(copy_of({into + bytes, 1})[0], std::byte{0xee});
  EXPECT_GT(read->stats().bytes_direct, 80 * page);
  EXPECT_EQ(read->stats().fall_backs, 0u);
}

TEST_F(ReaderOnPeerDevice, writes_through_the_page_cache) {
  DataFile file(peer_file_bytes);
  const auto read = reader();
  const io::PeerMemory memory = allocated(peer_file_bytes);
  std::memset(memory.bytes().data(), 0x5a, 3 * page);
  ASSERT_EQ(read->pwrite(file.descriptor(), memory.bytes().data(), 3 * page, 100),
            static_cast<ssize_t>(3 * page));
  std::vector<std::byte> back(3 * page);
  ASSERT_EQ(::pread(file.descriptor(), back.data(), back.size(), 100),
            static_cast<ssize_t>(back.size()));
  EXPECT_EQ(back, std::vector<std::byte>(3 * page, std::byte{0x5a}));
}

TEST_F(ReaderOnPeerDevice, writes_whole_pages_directly_in_exclusive_mode) {
  DataFile file(peer_file_bytes);
  const auto writer =
      FileReader::create({.exclusive = true, .direct_write_bytes = 4 * page}).value();
  const io::PeerMemory memory = allocated(peer_file_bytes);
  std::memset(memory.bytes().data(), 0x5a, peer_file_bytes);
  // Twice: a refused file is not tried again.
  for (int again = 0; again < 2; ++again) {
    file.evict();
    ASSERT_EQ(writer->pwrite(file.descriptor(), memory.bytes().data() + 100, 32 * page, 100),
              static_cast<ssize_t>(32 * page));
    ASSERT_EQ(::fsync(file.descriptor()), 0);
  }
  std::fill_n(file.bytes().begin() + 100, 32 * page, std::byte{0x5a});
  std::vector<std::byte> back(peer_file_bytes);
  ASSERT_EQ(::pread(file.descriptor(), back.data(), back.size(), 0),
            static_cast<ssize_t>(back.size()));
  EXPECT_EQ(back, file.bytes());
  const ReaderStats stats = writer->stats();
  const bool reached = refused_ == 0;
  EXPECT_EQ(stats.writes_direct, reached ? 2u : 0u);
  EXPECT_EQ(stats.bytes_direct, reached ? 2 * 31 * page : 0u);
  EXPECT_EQ(stats.fall_backs, reached ? 0u : 1u);
  EXPECT_EQ(stats.files_refused, reached ? 0u : 1u);
}

TEST_F(ReaderOnPeerDevice, copies_all_where_no_way_leads_and_tries_each_file_once) {
  if (refused_ == 0) GTEST_SKIP() << "the drive reaches it";
  DataFile file(peer_file_bytes);
  const auto read = reader();
  const io::PeerMemory memory = allocated(peer_file_bytes);
  read_half_cached(*read, file, memory);
  const ReaderStats first = read->stats();
  EXPECT_GT(first.fall_backs, 0u);
  EXPECT_EQ(first.files_refused, 1u);
  EXPECT_EQ(first.bytes_direct, 0u);
  EXPECT_EQ(first.bytes_cache, peer_file_bytes);
  read_half_cached(*read, file, memory);
  EXPECT_EQ(read->stats().fall_backs, first.fall_backs);
  EXPECT_EQ(read->stats().files_refused, 1u);
}

}  // namespace
}  // namespace k2k::router
