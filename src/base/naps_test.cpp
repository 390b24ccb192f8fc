// Naps: each is twice as long as the one before, up to a maximum.

#include "base/naps.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"

namespace k2k {
namespace {

using namespace std::chrono_literals;

TEST(Naps, double_until_the_longest) {
  Naps naps(100us, 300us);
  const Instant begin = now();
  for (const Nanoseconds wanted : {100us, 200us, 300us, 300us}) {
    EXPECT_EQ(naps.next(), wanted);
    naps.take();
  }
  EXPECT_GE(now() - begin, 900us);
}

}  // namespace
}  // namespace k2k
