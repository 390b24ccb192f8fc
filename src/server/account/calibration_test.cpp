// Goal: the costs that the governor and the accounting use are measured, not assumed.

#include "server/account/calibration.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace k2k::server {
namespace {

using namespace std::chrono_literals;

TEST(Calibration, measures_the_cost_of_waking_and_sleeping) {
  const governor::Costs& costs = calibrated_costs();
  // No system call takes less; a second means a wrong measurement.
  for (const Nanoseconds cost : {costs.interrupt, costs.wake, costs.sleep, costs.tick}) {
    EXPECT_GT(cost, 20ns);
    EXPECT_LT(cost, 1s);
  }
}

TEST(Calibration, measures_once) {
  const governor::Costs& first = calibrated_costs();
  EXPECT_EQ(&first, &calibrated_costs());
}

}  // namespace
}  // namespace k2k::server
