// Goal: the usable CPUs do not include CPUs that this thread may not use.

#include "base/cores.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace k2k {
namespace {

TEST(Cores, are_usable_if_they_are_online) {
  EXPECT_GE(usable_cores(), 1u);
  EXPECT_LE(usable_cores(), online_cores());
  EXPECT_LE(online_cores(), possible_cores());
}

TEST(Cores, that_are_not_in_the_affinity_mask_are_not_usable) {
  std::thread([] {
    const int here = ::sched_getcpu();
    ASSERT_GE(here, 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(here), &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
    EXPECT_EQ(usable_cores(), 1u);
  }).join();
}

}  // namespace
}  // namespace k2k
