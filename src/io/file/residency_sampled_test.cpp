// Goal: if no call reports the residency, the durations of reads do. Method: reads with invented
// durations, and the expected answers afterwards.

#include <gtest/gtest.h>

#include <bit>

#include "io/file/residency_fixture.hpp"

namespace k2k::io {
namespace {

class Sampled : public testing::Test {
 protected:
  [[nodiscard]] ResidencyProbe open() const {
    return ResidencyProbe::open(file.descriptor(), ProbeMethod::sampled).value();
  }
  // Bit i: probe i answered "cached".
  std::uint64_t answers(ResidencyProbe& probe) const {
    std::uint64_t answers = 0;
    for (int at = 0; at < 64; ++at) {
      Bytes bytes(4, 7);
      const std::size_t cached = probe.probe(file.descriptor(), 0, bytes, 1);
      EXPECT_TRUE(cached == 0 || cached == bytes.size()) << "one answer for the range";
      EXPECT_EQ(cached, count(bytes));
      if (cached != 0) answers |= std::uint64_t{1} << at;
    }
    return answers;
  }

  const OwnFile file{8 * page_bytes};
};

TEST_F(Sampled, says_cached_until_a_read_was_slow) {
  ResidencyProbe probe = open();
  EXPECT_EQ(answers(probe), ~std::uint64_t{0});
  probe.note_read(4, 4001, 1000);
  EXPECT_NE(answers(probe), ~std::uint64_t{0});
}

TEST_F(Sampled, takes_a_read_for_cached_if_it_was_as_fast_as_a_cached_read) {
  ResidencyProbe probe = open();
  probe.note_read(0, 1000000, 1);
  probe.note_read(4, 4000, 1000);
  probe.note_read(4, 0, 1000);
  probe.note_read(4, 40000, 1000);
  EXPECT_EQ(answers(probe), ~std::uint64_t{0});
}

TEST_F(Sampled, says_not_cached_after_slow_reads_except_for_one_in_16) {
  ResidencyProbe probe = open();
  for (int read = 0; read < 1000; ++read) probe.note_read(1, ~std::uint64_t{0}, 1000);
  std::uint64_t explored = 0;
  for (int round = 0; round < 100; ++round) {
    explored += static_cast<std::uint64_t>(std::popcount(answers(probe)));
  }
  // 6,400 draws at one in 16: 400, standard deviation 19.
  EXPECT_GT(explored, 300u);
  EXPECT_LT(explored, 500u);
}

TEST_F(Sampled, learns_of_a_file_that_was_cached_meanwhile) {
  ResidencyProbe probe = open();
  for (int read = 0; read < 1000; ++read) probe.note_read(1, 100000, 1000);
  EXPECT_NE(answers(probe), ~std::uint64_t{0});
  // 1 - (7/8)^6 is above a half.
  for (int read = 0; read < 6; ++read) probe.note_read(1, 500, 1000);
  EXPECT_EQ(answers(probe), ~std::uint64_t{0});
  // After many fast reads one slow read changes nothing.
  for (int read = 0; read < 1000; ++read) probe.note_read(1, 500, 1000);
  probe.note_read(1, 100000, 1000);
  EXPECT_EQ(answers(probe), ~std::uint64_t{0});
}

TEST_F(Sampled, answers_the_same_in_every_run) {
  ResidencyProbe one = open();
  ResidencyProbe other = open();
  for (ResidencyProbe* probe : {&one, &other}) probe->note_read(1, 100000, 1000);
  for (int round = 0; round < 10; ++round) EXPECT_EQ(answers(one), answers(other));
  ResidencyProbe moved = std::move(one);
  EXPECT_EQ(answers(moved), answers(other));
}

TEST_F(Sampled, reports_no_pages_beyond_the_end) {
  ResidencyProbe probe = open();
  Bytes bytes(4, 7);
  EXPECT_EQ(probe.probe(file.descriptor(), 6, bytes, 1), 2u);
  EXPECT_EQ(bytes, (Bytes{1, 1, 0, 0}));
}

}  // namespace
}  // namespace k2k::io
