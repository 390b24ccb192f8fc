// Goal: every engine transfers file data to and from memory of a PCI device without the CPU, and
// Linux' refusals are reported as peer.hpp documents. Method: a real device with peer memory, and a
// drive that reaches it or one that does not (peer_memory_fixture.hpp).

#include <gtest/gtest.h>
#include <liburing.h>
#include <sys/uio.h>

#include <cerrno>

#include "io/engine/engine.hpp"
#include "io/file/files_fixture.hpp"
#include "io/file/residency.hpp"
#include "io/gpu/peer_memory_fixture.hpp"

namespace k2k::io {
namespace {

constexpr std::size_t transfer_file_bytes = 64 * page;

class PeerTransfers : public OnPeerDevice {
 protected:
  void SetUp() override {
    OnPeerDevice::SetUp();
    if (IsSkipped()) return;
    path_ = make_file(files_, "content", transfer_file_bytes);
    const Opened file = open_file(path_, O_RDONLY);
    ASSERT_EQ(::posix_fadvise(file.number(), 0, 0, POSIX_FADV_DONTNEED), 0);
  }

  [[nodiscard]] Opened direct(int mode = O_RDONLY) const {
    return open_file(path_, mode | O_DIRECT);
  }
  [[nodiscard]] std::size_t cached_pages() const {
    const Opened file = open_file(path_, O_RDONLY);
    std::vector<std::uint8_t> pages(transfer_file_bytes / page);
    return ResidencyProbe::open(file.number()).value().probe(file.number(), 0, pages, 1);
  }

  const OwnFiles files_;
  std::string path_;
};

std::vector<std::unique_ptr<Engine>> engines() {
  std::vector<std::unique_ptr<Engine>> all;
  all.push_back(make_pool(8, 2).value());
  all.push_back(make_uring(8).value());
  all.push_back(make_buffered(8).value());
  return all;
}

// The results, by tag.
std::vector<std::int64_t> moved(Engine& engine, std::span<const Transfer> transfers) {
  std::vector<std::int64_t> results(transfers.size());
  std::vector<Completion> completions(transfers.size());
  EXPECT_EQ(engine.submit(transfers), transfers.size());
  EXPECT_EQ(engine.poll(completions, completions.size()), completions.size());
  for (const Completion& each : completions) results[each.tag] = each.result;
  return results;
}

// Parts of the file, of one page and of many, back to front in the memory.
std::vector<Transfer> parts(int file, std::span<std::byte> memory, Direction direction) {
  std::vector<Transfer> transfers;
  std::size_t offset = 0;
  for (const std::size_t pages : {1u, 31u, 2u, 30u}) {
    const std::size_t bytes = pages * page;
    transfers.push_back({file, offset, memory.data() + memory.size() - offset - bytes, bytes,
                         transfers.size(), direction});
    offset += bytes;
  }
  return transfers;
}

TEST_F(PeerTransfers, read_a_file_past_the_page_cache) {
  if (refused_ != 0) GTEST_SKIP() << "the drive does not reach it";
  for (const auto& engine : engines()) {
    const PeerMemory memory = allocated(transfer_file_bytes + page);
    const Opened file = direct();
    const auto transfers =
        parts(file.number(), memory.bytes().first(transfer_file_bytes), Direction::read);
    const std::vector<std::int64_t> results = moved(*engine, transfers);
    for (const Transfer& each : transfers) {
      EXPECT_EQ(results[each.tag], static_cast<std::int64_t>(each.bytes))
          << engine->capabilities().name;
      EXPECT_TRUE(holds_content(copy_of({each.memory, each.bytes}), each.offset))
          << engine->capabilities().name;
    }
    for (const std::byte byte : copy_of(memory.bytes().last(page)))
      ASSERT_EQ(byte, std::byte{0xee});
  }
  EXPECT_EQ(cached_pages(), 0u);
}

TEST_F(PeerTransfers, write_a_file_past_the_page_cache) {
  if (refused_ != 0) GTEST_SKIP() << "the drive does not reach it";
  for (const auto& engine : engines()) {
    const PeerMemory memory = allocated(transfer_file_bytes);
    const Opened file = direct(O_RDWR);
    const auto transfers = parts(file.number(), memory.bytes(), Direction::write);
    for (const Transfer& each : transfers) fill({each.memory, each.bytes}, each.offset + 12345);
    const std::vector<std::int64_t> results = moved(*engine, transfers);
    for (const Transfer& each : transfers) {
      EXPECT_EQ(results[each.tag], static_cast<std::int64_t>(each.bytes))
          << engine->capabilities().name;
    }
    const Pages ordinary(transfer_file_bytes);
    ASSERT_EQ(::pread(file.number(), ordinary.data(), transfer_file_bytes, 0),
              static_cast<ssize_t>(transfer_file_bytes));
    EXPECT_TRUE(holds_content(ordinary.span(), 12345)) << engine->capabilities().name;
  }
  EXPECT_EQ(cached_pages(), 0u);
}

TEST_F(PeerTransfers, end_where_the_file_does_and_are_refused_misaligned) {
  if (refused_ != 0) GTEST_SKIP() << "the drive does not reach it";
  ASSERT_EQ(::truncate(path_.c_str(), 2 * page + 100), 0);
  for (const auto& engine : engines()) {
    const PeerMemory memory = allocated(4 * page);
    const Opened file = direct();
    std::byte* const into = memory.bytes().data();
    const Transfer asked[] = {{file.number(), 0, into, 4 * page, 0, Direction::read},
                              {file.number(), 4 * page, into, page, 1, Direction::read},
                              {file.number(), 100, into, page, 2, Direction::read}};
    const std::vector<std::int64_t> results = moved(*engine, asked);
    EXPECT_EQ(results[0], std::int64_t{2 * page + 100}) << engine->capabilities().name;
    EXPECT_EQ(results[1], 0);
    EXPECT_EQ(results[2], -EINVAL);
  }
}

TEST_F(PeerTransfers, through_the_page_cache_are_copies) {
  const Opened file = open_file(path_, O_RDWR);
  for (const auto& engine : engines()) {
    const PeerMemory memory = allocated(transfer_file_bytes);
    const auto transfers = parts(file.number(), memory.bytes(), Direction::read);
    const std::vector<std::int64_t> results = moved(*engine, transfers);
    for (const Transfer& each : transfers) {
      EXPECT_EQ(results[each.tag], static_cast<std::int64_t>(each.bytes));
      EXPECT_TRUE(holds_content(copy_of({each.memory, each.bytes}), each.offset));
    }
    const Transfer back{file.number(), 0, transfers[0].memory, page, 0, Direction::write};
    EXPECT_EQ(moved(*engine, {&back, 1})[0], std::int64_t{page});
  }
}

TEST_F(PeerTransfers, are_refused_where_no_way_leads_from_device_to_device) {
  if (refused_ == 0) GTEST_SKIP() << "the drive reaches it";
  for (const auto& engine : engines()) {
    const PeerMemory memory = allocated(page);
    const Opened file = direct();
    const Transfer read{file.number(), 0, memory.bytes().data(), page, 0, Direction::read};
    EXPECT_EQ(moved(*engine, {&read, 1})[0], -refused_) << engine->capabilities().name;
  }
}

TEST_F(PeerTransfers, take_no_registered_buffers_and_no_memory_of_processes) {
  const PeerMemory memory = allocated(page);
  const iovec part{memory.bytes().data(), page};
  io_uring ring{};
  ASSERT_EQ(::io_uring_queue_init(2, &ring, 0), 0);
  EXPECT_EQ(::io_uring_register_buffers(&ring, &part, 1), -EFAULT);
  ::io_uring_queue_exit(&ring);
  const Pages ordinary(page);
  const iovec into{ordinary.data(), page};
  EXPECT_EQ(::process_vm_readv(::getpid(), &into, 1, &part, 1, 0), -1);
  EXPECT_EQ(errno, EFAULT);
}

TEST_F(PeerTransfers, memory_is_mapped_shared_only_and_is_given_back) {
  const std::string allocate = "/sys/bus/pci/devices/" + address() + "/p2pmem/allocate";
  const Opened file = open_file(allocate, O_RDWR);
  EXPECT_EQ(::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE, file.number(), 0),
            MAP_FAILED);
  EXPECT_EQ(errno, EINVAL);
  const std::uint64_t before = available();
  ASSERT_GT(before, 0u);
  {
    const PeerMemory memory = allocated(3 * page);
    EXPECT_EQ(available(), before - 3 * page);
    const Result<PeerMemory> more = PeerMemory::allocate(address(), before);
    ASSERT_FALSE(more.ok());
    EXPECT_EQ(more.error().code, ENOMEM);
    EXPECT_NE(more.error().message.find("were asked for, " + std::to_string(before - 3 * page)),
              std::string::npos)
        << more.error().message;
  }
  EXPECT_EQ(available(), before);
}

}  // namespace
}  // namespace k2k::io
