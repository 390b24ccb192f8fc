// Goal: for every completion of a ring, the answer equals the result of one pread(2), or the pool
// makes the read.

#include "server/reads/read_table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>

namespace k2k::server {
namespace {

using NextStep = ReadTable::Next;

constexpr std::uint64_t call_bytes = 10'000;
constexpr std::uint64_t call_offset = 500;

class ReadTableTest : public testing::Test {
 protected:
  std::uint32_t add(std::uint8_t lane = 0) {
    Pending call;
    call.request.lane = lane;
    call.request.arguments[0] = 7;
    call.request.arguments[1] = reinterpret_cast<std::uint64_t>(memory.data());
    call.request.arguments[2] = call_bytes;
    call.request.arguments[3] = call_offset;
    return table.add(call, 33);
  }
  void expect_answer(std::uint32_t place, std::int64_t result, std::int64_t value) {
    const ReadTable::Step step = table.completed(place, result);
    EXPECT_EQ(step.next, NextStep::answer) << result;
    EXPECT_EQ(step.value, value) << result;
  }
  void expect_rest(std::uint32_t place, std::uint64_t done) {
    const ColdRead rest = table.rest(place);
    EXPECT_EQ(rest.descriptor, 7);
    EXPECT_EQ(rest.memory, memory.data() + done);
    EXPECT_EQ(rest.bytes, call_bytes - done);
    EXPECT_EQ(rest.offset, call_offset + done);
  }

  std::array<std::byte, call_bytes> memory{};
  ReadTable table{3};
};

TEST_F(ReadTableTest, a_whole_read_is_the_answer) {
  const std::uint32_t place = add();
  expect_rest(place, 0);
  expect_answer(place, call_bytes, call_bytes);
}

TEST_F(ReadTableTest, a_read_that_is_cut_short_continues_until_nothing_comes) {
  const std::uint32_t place = add();
  EXPECT_EQ(table.completed(place, 4096).next, NextStep::more);
  expect_rest(place, 4096);
  EXPECT_EQ(table.completed(place, 1).next, NextStep::more);
  expect_rest(place, 4097);
  expect_answer(place, 0, 4097);
}

TEST_F(ReadTableTest, the_parts_of_a_read_are_one_answer) {
  const std::uint32_t place = add();
  EXPECT_EQ(table.completed(place, 4096).next, NextStep::more);
  expect_answer(place, call_bytes - 4096, call_bytes);
}

TEST_F(ReadTableTest, nothing_behind_the_end_of_the_file) { expect_answer(add(), 0, 0); }

TEST_F(ReadTableTest, bytes_count_more_than_the_error_behind_them) {
  expect_answer(add(), -EIO, -EIO);
  expect_answer(add(), -EBADF, -EBADF);
  const std::uint32_t place = add();
  EXPECT_EQ(table.completed(place, 4096).next, NextStep::more);
  expect_answer(place, -EIO, 4096);
}

TEST_F(ReadTableTest, the_pool_makes_a_read_that_the_ring_cannot) {
  for (const int error : {EAGAIN, EINVAL, EOPNOTSUPP, ENOMEM, ECANCELED, EINTR}) {
    const std::uint32_t place = add();
    EXPECT_EQ(table.completed(place, -error).next, NextStep::pool) << error;
    table.remove(place);
  }
  const std::uint32_t place = add();
  EXPECT_EQ(table.completed(place, 4096).next, NextStep::more);
  EXPECT_EQ(table.completed(place, -EAGAIN).next, NextStep::pool)
      << "4096 would say that the file ends there";
}

TEST_F(ReadTableTest, a_place_is_taken_until_its_read_is_removed) {
  EXPECT_TRUE(table.empty());
  const std::uint32_t first = add(1);
  const std::uint32_t second = add(2);
  const std::uint32_t third = add(3);
  EXPECT_TRUE(table.full());
  EXPECT_EQ(table.completed(second, 5).next, NextStep::more);
  const ReadTable::Entry entry = table.remove(second);
  EXPECT_EQ(entry.call.request.lane, 2);
  EXPECT_EQ(entry.begun, 33u);
  EXPECT_FALSE(table.full());
  EXPECT_EQ(add(4), second);
  expect_rest(second, 0);
  for (const std::uint32_t place : {first, second, third}) table.remove(place);
  EXPECT_TRUE(table.empty());
}

}  // namespace
}  // namespace k2k::server
