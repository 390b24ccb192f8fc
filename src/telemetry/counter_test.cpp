#include "telemetry/counter.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace k2k::telemetry {
namespace {

TEST(Counter, adds_up_and_can_be_read_meanwhile) {
  Counter counter;
  std::thread owner([&counter] {
    for (int count = 0; count < 100'000; ++count) counter.add(count % 2 == 0 ? 1 : 3);
  });
  std::uint64_t last = 0;
  bool grows = true;
  while (last < 200'000) {
    const std::uint64_t seen = counter.value();
    grows &= seen >= last;
    last = seen;
  }
  owner.join();
  EXPECT_TRUE(grows);
  EXPECT_EQ(counter.value(), 200'000u);
}

}  // namespace
}  // namespace k2k::telemetry
