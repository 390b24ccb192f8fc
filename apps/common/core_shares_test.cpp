// Goal: server and device have at least a core each, half of the cores serve, and at most as many
// as there can be rings.

#include "apps/common/core_shares.hpp"

#include <gtest/gtest.h>

namespace k2k::apps {
namespace {

TEST(CoreShares, are_halves) {
  const struct {
    std::uint32_t cores;
    std::uint32_t serving;
    std::uint32_t searching;
  } expected[] = {{0, 1, 1}, {1, 1, 1}, {2, 1, 1},  {3, 1, 2},
                  {4, 2, 2}, {5, 2, 3}, {16, 8, 8}, {64, 8, 56}};
  for (const auto& [cores, serving, searching] : expected) {
    const CoreShares shares = shares_of(cores);
    EXPECT_EQ(shares.serving, serving) << cores;
    EXPECT_EQ(shares.searching, searching) << cores;
  }
}

}  // namespace
}  // namespace k2k::apps
