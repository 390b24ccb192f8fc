#include "telemetry/request_times.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace k2k::telemetry {
namespace {

TEST(RequestTimes, of_several_units_add_up_part_by_part) {
  const auto units = std::make_unique<RequestTimes[]>(2);
  units[0].record(RequestPart::processing, 100);
  units[0].record(RequestPart::total, 400);
  units[1].record(RequestPart::processing, 300);
  units[1].record(RequestPart::total, 500);
  RequestReport report;
  EXPECT_EQ(report.count(), 0u);
  units[0].add_to(report);
  units[1].add_to(report);
  const auto processing = static_cast<std::size_t>(RequestPart::processing);
  EXPECT_EQ(report.sum_cycles[processing], 400u);
  EXPECT_EQ(report.cycles[processing].count(), 2u);
  EXPECT_EQ(report.count(), 2u);
  EXPECT_STREQ(request_part_names[processing], "processing");
}

}  // namespace
}  // namespace k2k::telemetry
