// Goal: the lanes together copy all bytes, and nothing beyond the last unit of 16 bytes.
// Method: all sizes around the rounds of a copy, by several numbers of lanes.

#include "apps/common/wide_copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace k2k::apps {
namespace {

std::vector<Wide> filled(std::size_t units, std::uint32_t seed) {
  std::vector<Wide> memory(units);
  for (std::size_t unit = 0; unit < units; ++unit) {
    for (std::uint32_t& word : memory[unit].word) word = seed = seed * 1664525u + 1013904223u;
  }
  return memory;
}

std::size_t differing_units(const std::vector<Wide>& left, const std::vector<Wide>& right) {
  std::size_t count = 0;
  for (std::size_t unit = 0; unit < left.size(); ++unit) {
    bool same = true;
    for (int word = 0; word < 4; ++word) {
      same = same && left[unit].word[word] == right[unit].word[word];
    }
    if (!same) ++count;
  }
  return count;
}

TEST(WideCopy, lanes_copy_whole_units_and_nothing_beyond) {
  constexpr std::size_t units_max = 600;
  const std::vector<Wide> source = filled(units_max, 1);
  const std::vector<Wide> before = filled(units_max, 2);
  for (const std::uint32_t lanes : {1u, 3u, 32u, 64u}) {
    for (std::size_t bytes = 0; bytes <= (units_max - 1) * wide_bytes;
         bytes += bytes < 700 ? 1 : 13) {
      std::vector<Wide> target = before;
      for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        copy_wide(target.data(), source.data(), bytes, lane, lanes);
      }
      std::vector<Wide> wanted = before;
      std::copy_n(source.begin(), whole_wides(bytes) / wide_bytes, wanted.begin());
      ASSERT_EQ(differing_units(target, wanted), 0u) << bytes << " bytes by " << lanes;
    }
  }
}

TEST(WideCopy, a_lane_alone_copies_the_same) {
  const std::vector<Wide> source = filled(40, 3);
  for (const std::size_t bytes : {0u, 1u, 16u, 17u, 128u, 129u, 639u}) {
    std::vector<Wide> target = filled(40, 4);
    std::vector<Wide> wanted = target;
    copy_alone(target.data(), source.data(), bytes);
    std::copy_n(source.begin(), whole_wides(bytes) / wide_bytes, wanted.begin());
    EXPECT_EQ(differing_units(target, wanted), 0u) << bytes;
  }
}

}  // namespace
}  // namespace k2k::apps
