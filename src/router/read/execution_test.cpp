// Goal: the rules by which both ports make transfers of a request. Method: each rule by itself;
// file_reader_test.cpp and device_port_test.cpp test whole requests.

#include "router/read/execution.hpp"

#include <array>
#include <cerrno>

#include "router/file/file_fixture.hpp"

namespace k2k::router {
namespace {

TEST(Execution, makes_the_shortest_transfer_first) {
  const auto bytes_of_first = [](std::array<std::size_t, 3> bytes) {
    std::array<io::Transfer, 3> transfers;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      transfers[at].bytes = bytes[at];
      transfers[at].tag = at;
    }
    shortest_first(transfers);
    EXPECT_EQ(transfers[0].tag + transfers[1].tag + transfers[2].tag, 3u) << "each transfer once";
    return transfers[0].bytes;
  };
  EXPECT_EQ(bytes_of_first({1, 2, 3}), 1u);
  EXPECT_EQ(bytes_of_first({2, 1, 3}), 1u);
  EXPECT_EQ(bytes_of_first({3, 2, 1}), 1u);
  EXPECT_EQ(bytes_of_first({2, 2, 2}), 2u);
}

TEST(Execution, makes_one_transfer_of_a_request_aligned_at_both_ends_and_in_memory) {
  const Memory memory = memory_of(4 * page);
  const auto is_one = [&](std::size_t shift, std::size_t bytes, std::uint64_t offset,
                          const io::Alignment& alignment) {
    return is_one_transfer({-1, memory.get() + shift, bytes, offset}, alignment);
  };
  const io::Alignment sectors{512, 512};
  EXPECT_TRUE(is_one(0, page, page, sectors));
  EXPECT_TRUE(is_one(512, 512, 3 * 512, sectors));
  EXPECT_FALSE(is_one(0, page + 1, page, sectors)) << "a tail";
  EXPECT_FALSE(is_one(1, page, page + 1, sectors)) << "a head";
  EXPECT_FALSE(is_one(8, page, page, sectors)) << "misaligned memory";
  EXPECT_TRUE(is_one(8, page, page, {512, 4}));
  EXPECT_FALSE(is_one(512, page, 512, {page, 512}));
  EXPECT_FALSE(is_one(0, 2 * page, 0, {2 * page, 512})) << "an alignment of more than a page";
}

TEST(Execution, reads_directly_up_to_the_end_and_counts_the_bytes_of_each_way) {
  DataFile file(3 * page + 100);
  if (!has_direct(file)) GTEST_SKIP() << "no direct transfers in this folder";
  const auto direct = io::DirectFile::open(file.descriptor(), io::DirectFile::Access::read);
  const Memory memory = memory_of(4 * page);
  const FileRequest whole{file.descriptor(), memory.get(), 2 * page, page};
  const Outcome outcome = read_directly(whole, direct.value());
  EXPECT_EQ(outcome.answer, ssize_t{2 * page});
  EXPECT_EQ(outcome.bytes_direct, 2 * page);
  EXPECT_EQ(outcome.bytes_cache, 0u);
  EXPECT_EQ(outcome.refused, 0u);
  EXPECT_FALSE(outcome.is_no_direct_file);
  EXPECT_TRUE(std::equal(memory.get(), memory.get() + 2 * page, file.bytes().begin() + page));
  const Outcome end =
      read_directly({file.descriptor(), memory.get(), 2 * page, 2 * page}, direct.value());
  EXPECT_EQ(end.answer, ssize_t{page + 100});
  EXPECT_EQ(read_directly({file.descriptor(), memory.get(), page, 4 * page}, direct.value()).answer,
            0);
}

TEST(Execution, reads_by_the_page_cache_if_a_direct_transfer_is_refused) {
  DataFile file(3 * page);
  if (!has_direct(file)) GTEST_SKIP() << "no direct transfers in this folder";
  const auto direct = io::DirectFile::open(file.descriptor(), io::DirectFile::Access::read);
  const Memory memory = memory_of(page + 1);
  // No device takes memory at an odd address.
  const Outcome outcome =
      read_directly({file.descriptor(), memory.get() + 1, page, page}, direct.value());
  if (outcome.refused == 0) GTEST_SKIP() << "this device does";
  EXPECT_EQ(outcome.answer, ssize_t{page});
  EXPECT_EQ(outcome.bytes_cache, page);
  EXPECT_TRUE(outcome.is_no_direct_file);
  EXPECT_TRUE(std::equal(memory.get() + 1, memory.get() + 1 + page, file.bytes().begin() + page));
  EXPECT_EQ(read_directly({-1, memory.get() + 1, page, page}, direct.value()).answer, -EBADF);
}

}  // namespace
}  // namespace k2k::router
