// Goal: a ring reads the same bytes as pread, and one wait ends by reads, by the event and by
// signals.
// Method: real files, evicted; limits on the process's descriptors.

#include "server/reads/ring_reads.hpp"

#include <asm/unistd.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>

#include "base/descriptor.hpp"
#include "router/file/file_fixture.hpp"

namespace k2k::server {
namespace {

using router::page;

constexpr std::size_t ring_file_bytes = 300 * page + 777;

class RingReadsTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<io::Ring> ring = io::Ring::create_for_this_thread(RingReads::entries);
    if (!ring) GTEST_SKIP() << ring.error().message;
    reads.emplace(std::move(ring).value(), event.number());
    file.evict();
  }
  void TearDown() override {
    if (!reads) return;
    tell();
    while (!reads->empty()) run();
  }
  void tell() {
    const std::uint64_t one = 1;
    ASSERT_EQ(::write(event.number(), &one, sizeof(one)), ssize_t{sizeof(one)});
  }
  void add(std::uint8_t lane, int descriptor, std::size_t bytes, std::size_t offset) {
    Pending call;
    call.request.number = __NR_pread64;
    call.request.lane = lane;
    call.request.arguments[0] = static_cast<std::uint64_t>(descriptor);
    call.request.arguments[1] = reinterpret_cast<std::uint64_t>(memory.get() + offset);
    call.request.arguments[2] = bytes;
    call.request.arguments[3] = offset;
    reads->add(call, 1);
  }
  void run() {
    ASSERT_TRUE(reads->submit(round));
    reads->wait(round);
  }
  // Runs until there are `answers` answers.
  void run_until(std::size_t answers) {
    while (round.answered.size() + round.for_pool.size() < answers) run();
  }
  void expect_bytes(std::size_t offset, std::size_t bytes) {
    EXPECT_TRUE(std::equal(memory.get() + offset, memory.get() + offset + bytes,
                           file.bytes().begin() + static_cast<std::ptrdiff_t>(offset)))
        << bytes << " at " << offset;
  }

  router::DataFile file{ring_file_bytes};
  router::Memory memory = router::memory_of(ring_file_bytes + 8 * page);
  Descriptor event{::eventfd(0, EFD_CLOEXEC)};
  std::optional<RingReads> reads;
  RingReads::Round round;
};

TEST_F(RingReadsTest, reads_the_content_of_the_file) {
  add(0, file.descriptor(), page, 0);
  add(1, file.descriptor(), 64 * page, 100 * page);
  add(2, file.descriptor(), 5000, 250 * page + 5);
  run_until(3);
  EXPECT_TRUE(reads->empty());
  EXPECT_TRUE(round.for_pool.empty());
  for (const RingReads::Answered& each : round.answered) {
    const ColdRead read = cold_read_of(each.read.call.request);
    EXPECT_EQ(each.value, static_cast<std::int64_t>(read.bytes));
    expect_bytes(read.offset, read.bytes);
  }
}

TEST_F(RingReadsTest, ends_where_the_file_does) {
  add(0, file.descriptor(), 8 * page, 299 * page);
  run_until(1);
  EXPECT_EQ(round.answered.at(0).value, ssize_t{page + 777});
  expect_bytes(299 * page, page + 777);
}

TEST_F(RingReadsTest, of_a_file_that_has_been_truncated_end_there) {
  ASSERT_EQ(::ftruncate(file.descriptor(), 10 * page), 0);
  add(0, file.descriptor(), 8 * page, 6 * page);
  add(1, file.descriptor(), page, 100 * page);
  run_until(2);
  for (const RingReads::Answered& each : round.answered) {
    EXPECT_EQ(each.value, each.read.call.request.lane == 0 ? ssize_t{4 * page} : 0);
  }
}

TEST_F(RingReadsTest, fill_all_places_and_free_them) {
  for (std::size_t turn = 0; turn < 3; ++turn) {
    file.evict();
    for (std::size_t at = 0; at < RingReads::reads_max; ++at) {
      ASSERT_FALSE(reads->full());
      add(0, file.descriptor(), page, at * page);
    }
    EXPECT_TRUE(reads->full());
    run_until(RingReads::reads_max);
    ASSERT_EQ(round.answered.size(), RingReads::reads_max);
    for (const RingReads::Answered& each : round.answered) ASSERT_EQ(each.value, ssize_t{page});
    round.answered.clear();
    EXPECT_TRUE(reads->empty());
    expect_bytes(0, RingReads::reads_max * page);
  }
}

TEST_F(RingReadsTest, are_refused_as_a_pread_is) {
  const int write_only = ::open(file.path().c_str(), O_WRONLY | O_CLOEXEC);
  add(0, write_only, page, 0);
  run_until(1);
  EXPECT_EQ(round.answered.at(0).value, -EBADF);
  ::close(write_only);
  round.answered.clear();
  add(0, write_only, page, 0);
  run_until(1);
  EXPECT_EQ(round.answered.at(0).value, -EBADF) << "the number is not open";
}

TEST_F(RingReadsTest, that_the_kernel_refuses_are_for_the_pool) {
  const int direct = ::open(file.path().c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
  if (direct < 0) GTEST_SKIP() << "no direct reads in this folder";
  add(9, direct, page, 1);  // An unaligned read.
  run_until(1);
  ASSERT_EQ(round.for_pool.size(), 1u);
  EXPECT_EQ(round.for_pool.at(0).request.lane, 9);
  EXPECT_TRUE(reads->empty());
  ::close(direct);
}

TEST_F(RingReadsTest, finish_although_the_program_closes_the_file) {
  const int other = ::open(file.path().c_str(), O_RDONLY | O_CLOEXEC);
  add(0, other, 64 * page, 0);
  ASSERT_TRUE(reads->submit(round));
  ::close(other);
  reads->wait(round);
  run_until(1);
  EXPECT_EQ(round.answered.at(0).value, ssize_t{64 * page});
  expect_bytes(0, 64 * page);
}

TEST_F(RingReadsTest, one_wait_is_for_the_event_too) {
  tell();
  run();
  EXPECT_TRUE(round.answered.empty());
  tell();
  run();
  add(0, file.descriptor(), page, 0);
  run_until(1);
  EXPECT_EQ(round.answered.at(0).value, ssize_t{page});
}

TEST_F(RingReadsTest, do_not_wait_where_nothing_can_come) {
  Result<io::Ring> ring = io::Ring::create_for_this_thread(RingReads::entries);
  ASSERT_TRUE(ring.ok());
  RingReads deaf(std::move(ring).value(), -1);
  RingReads::Round none;
  ASSERT_TRUE(deaf.submit(none)) << "the kernel has not refused the event yet";
  deaf.wait(none);
  EXPECT_FALSE(deaf.submit(none));
}

}  // namespace
}  // namespace k2k::server
