// Goal: a wavefront has the accesses of its lanes, side by side, whatever order the lanes ran in;
// lanes meet again behind branches and loops; a kernel whose accesses are known is recorded
// exactly, and twice the same.

#include "labs/accesses/recorder.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "labs/accesses/kernels_fixture.hpp"

namespace k2k::labs::accesses {
namespace {

using translation::line_bytes;
using translation::WaveTrace;

Access load(std::uint64_t line, std::uint32_t code) { return {line * line_bytes, code, 8, false}; }
Access store(std::uint64_t line, std::uint32_t code) { return {line * line_bytes, code, 8, true}; }

std::vector<std::uint64_t> lines_of(const WaveTrace& trace, std::size_t instruction) {
  const auto& one = trace.instructions[instruction];
  const auto begin = trace.lines.begin() + one.first;
  return {begin, begin + one.lines};
}

using Lines = std::vector<std::uint64_t>;

TEST(Waves, have_the_same_instruction_of_their_lanes_at_a_time) {
  WaveTrace trace;
  add_wave({{load(1, 10), store(5, 20)}, {load(2, 10), store(5, 20)}}, 3, trace);
  ASSERT_EQ(trace.instructions.size(), 2u);
  EXPECT_EQ(lines_of(trace, 0), (Lines{1, 2}));
  EXPECT_EQ(lines_of(trace, 1), (Lines{5}));
  EXPECT_EQ(trace.instructions[0].lanes, 2u);
  EXPECT_EQ(trace.instructions[0].compute, 3u);
  EXPECT_TRUE(trace.instructions[0].waits);
  EXPECT_FALSE(trace.instructions[1].waits) << "nothing waits for a store";
}

TEST(Waves, meet_again_behind_a_branch) {
  WaveTrace trace;
  add_wave({{load(1, 10), load(3, 20), load(9, 40)}, {load(2, 10), load(4, 30), load(9, 40)}}, 0,
           trace);
  ASSERT_EQ(trace.instructions.size(), 4u);
  EXPECT_EQ(lines_of(trace, 1), (Lines{3}));
  EXPECT_EQ(lines_of(trace, 2), (Lines{4}));
  EXPECT_EQ(trace.instructions[3].lanes, 2u);
}

TEST(Waves, meet_again_behind_a_loop_of_different_lengths) {
  WaveTrace trace;
  add_wave({{load(1, 10), load(2, 10), load(3, 10), load(9, 20)}, {load(5, 10), load(9, 20)}}, 0,
           trace);
  ASSERT_EQ(trace.instructions.size(), 4u);
  EXPECT_EQ(lines_of(trace, 0), (Lines{1, 5}));
  EXPECT_EQ(trace.instructions[1].lanes, 1u);
  EXPECT_EQ(trace.instructions[3].lanes, 2u);
}

TEST(Waves, take_neighbouring_fields_of_a_line_at_once) {
  WaveTrace trace;
  add_wave({{load(1, 10), load(1, 11), load(1, 12), store(1, 13), load(2, 14)}}, 0, trace);
  ASSERT_EQ(trace.instructions.size(), 3u);
  EXPECT_EQ(lines_of(trace, 2), (Lines{2}));
  EXPECT_EQ(trace.lines.size(), 3u);
}

TEST(Waves, of_no_lane_are_empty) {
  WaveTrace trace;
  add_wave({}, 0, trace);
  add_wave({{}, {}}, 0, trace);
  EXPECT_EQ(trace.waves.size(), 2u);
  EXPECT_TRUE(trace.instructions.empty());
}

class KnownKernel : public testing::Test {
 protected:
  // Lane 0's line makes every lane load word 2 of line 0.
  WaveTrace record(const LaunchShape& shape, const Limits& limits, std::uint64_t rounds,
                   bool behind_first_store = false) {
    RuntimeConfig config;
    config.backend = "cpu";
    config.device.compute_units = 1;
    auto runtime = Runtime::create(config);
    EXPECT_TRUE(runtime);
    const std::size_t items = std::size_t{shape.groups} * shape.group_items;
    alignas(64) static std::uint64_t read[1'024];
    alignas(64) static std::uint32_t written[128];
    EXPECT_LE(items, 128u);
    Wanted want{limits, {}, 0};
    wanted() = &want;
    EXPECT_TRUE(launch_known(*runtime, shape,
                             {read, written, rounds, behind_first_store ? written : nullptr}));
    wanted() = nullptr;
    EXPECT_EQ(want.bytes, items * 68);
    return want.trace;
  }
};

TEST_F(KnownKernel, is_recorded_exactly) {
  constexpr std::uint64_t first = (std::uint64_t{1} << 40) / line_bytes;
  constexpr std::uint64_t second = (std::uint64_t{2} << 40) / line_bytes;
  const WaveTrace trace = record({2, 64}, {.waves = 8, .accesses = 100, .compute = 5}, 3);
  ASSERT_EQ(trace.waves.size(), 2u);
  for (std::uint64_t wave = 0; wave < 2; ++wave) {
    const auto& one = trace.waves[wave];
    // All load 64 lines; then line 0 thrice, which is one wide access, once more by eight lanes;
    // then four lines of words are stored.
    ASSERT_EQ(one.count, 4u);
    Lines own;
    for (std::uint64_t lane = 0; lane < 64; ++lane) own.push_back(first + wave * 64 + lane);
    EXPECT_EQ(lines_of(trace, one.first), own);
    EXPECT_EQ(lines_of(trace, one.first + 1), (Lines{first}));
    EXPECT_EQ(trace.instructions[one.first + 1].lanes, 64u);
    EXPECT_EQ(lines_of(trace, one.first + 2), (Lines{first}));
    EXPECT_EQ(trace.instructions[one.first + 2].lanes, 8u);
    const std::uint64_t word = second + wave * 4;
    EXPECT_EQ(lines_of(trace, one.first + 3), (Lines{word, word + 1, word + 2, word + 3}));
    EXPECT_FALSE(trace.instructions[one.first + 3].waits);
    EXPECT_EQ(trace.instructions[one.first].compute, 5u);
  }
}

TEST_F(KnownKernel, is_recorded_twice_the_same) {
  const Limits limits{.waves = 2, .accesses = 50, .compute = 1};
  const WaveTrace one = record({2, 64}, limits, 2);
  const WaveTrace other = record({2, 64}, limits, 2);
  EXPECT_EQ(one.lines, other.lines);
  EXPECT_EQ(one.instructions.size(), other.instructions.size());
}

TEST_F(KnownKernel, is_recorded_behind_an_access) {
  // The first lane ends with that store; the others run after it.
  const WaveTrace trace = record({1, 64}, {.waves = 8, .accesses = 100, .compute = 5}, 3, true);
  ASSERT_EQ(trace.waves.size(), 1u);
  ASSERT_EQ(trace.instructions.size(), 4u);
  EXPECT_EQ(trace.instructions[0].lanes, 63u);
  EXPECT_EQ(trace.instructions[0].lines, 63u);
  EXPECT_EQ(trace.instructions[2].lanes, 7u);
  EXPECT_EQ(trace.instructions[3].lanes, 63u);
}

TEST_F(KnownKernel, has_no_more_than_the_limits) {
  EXPECT_EQ(record({2, 64}, {.waves = 1, .accesses = 100, .compute = 0}, 1).waves.size(), 1u);
  const WaveTrace short_trace = record({1, 64}, {.waves = 4, .accesses = 1, .compute = 0}, 1);
  ASSERT_EQ(short_trace.instructions.size(), 1u);
  EXPECT_EQ(short_trace.lines.size(), 64u);
}

TEST_F(KnownKernel, is_not_recorded_unless_it_is_wanted) {
  RuntimeConfig config;
  config.backend = "cpu";
  auto runtime = Runtime::create(config);
  ASSERT_TRUE(runtime);
  std::uint64_t read[8 * 64] = {};
  std::uint32_t written[64] = {};
  EXPECT_TRUE(launch_known(*runtime, {1, 64}, {read, written, 2}));
}

}  // namespace
}  // namespace k2k::labs::accesses
