#include "telemetry/fault_times.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace k2k::telemetry {
namespace {

TEST(FaultTimes, of_several_units_add_up_part_by_part) {
  const auto units = std::make_unique<FaultTimes[]>(2);
  units[0].record(FaultPart::processing, 100);
  units[0].record(FaultPart::total, 400);
  units[1].record(FaultPart::processing, 300);
  units[1].record(FaultPart::total, 500);
  FaultReport report;
  EXPECT_EQ(report.count(), 0u);
  units[0].add_to(report);
  units[1].add_to(report);
  const auto processing = static_cast<std::size_t>(FaultPart::processing);
  EXPECT_EQ(report.sum_cycles[processing], 400u);
  EXPECT_EQ(report.cycles[processing].count(), 2u);
  EXPECT_EQ(report.count(), 2u);
  EXPECT_STREQ(fault_part_names[processing], "processing");
}

}  // namespace
}  // namespace k2k::telemetry
