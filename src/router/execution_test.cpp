// Goal: what both readers build their transfers from. Method: each rule by itself; whole requests
// are file_reader_test.cpp's and device_reader_test.cpp's.

#include "router/execution.hpp"

#include <gtest/gtest.h>

#include <array>

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
    EXPECT_EQ(transfers[0].tag + transfers[1].tag + transfers[2].tag, 3u) << "each once";
    return transfers[0].bytes;
  };
  EXPECT_EQ(bytes_of_first({1, 2, 3}), 1u);
  EXPECT_EQ(bytes_of_first({2, 1, 3}), 1u);
  EXPECT_EQ(bytes_of_first({3, 2, 1}), 1u);
  EXPECT_EQ(bytes_of_first({2, 2, 2}), 2u);
}

}  // namespace
}  // namespace k2k::router
