// Goal: the pressure since the last reading comes from the line "some" and no other; an unreadable
// or unknown file is an error at first and "not available" later.

#include "host/cpu_pressure.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "host/proc_fixture.hpp"

namespace k2k::host {
namespace {

using namespace std::chrono_literals;

constexpr Instant start = Instant() + 1s;

std::string with_total(std::uint64_t us) {
  return "some avg10=0.00 avg60=0.26 avg300=3.63 total=" + std::to_string(us) +
         "\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=77\n";
}

TEST(SomeTotalOf, is_in_microseconds_on_its_line) {
  EXPECT_EQ(some_total_of(with_total(4099494441)), Nanoseconds(4099494441000));
  EXPECT_EQ(some_total_of("some avg10=0.00 total=5"), Nanoseconds(5000));
  EXPECT_EQ(some_total_of("full avg10=0.00 total=9\nsome avg10=0.00 total=5\n"), Nanoseconds(5000));
}

TEST(SomeTotalOf, is_nothing_in_other_lines) {
  for (const char* text :
       {"", "\n", "\n\n\n", "some", "some ", "some total", "some total=", "some total=x",
        "some total=-5", "some total=5x", "some total=5 ", "full avg10=0.00 total=5\n",
        "some avg10=0.00", "some total=99999999999999999999", "some total=9223372036854775807",
        "awesome total=5", "some avg10=0.00 total5"}) {
    EXPECT_FALSE(some_total_of(text).has_value()) << text;
  }
}

TEST(CpuPressure, is_the_part_of_the_time_in_which_a_task_waited) {
  const PlantedProc proc;
  proc.plant("pressure/cpu", with_total(1'000'000));
  auto pressure = CpuPressure::open(start, proc.path());
  ASSERT_TRUE(pressure.ok()) << pressure.error().message;
  proc.plant("pressure/cpu", with_total(1'025'000));
  EXPECT_DOUBLE_EQ(pressure->since_last(start + 100ms), 0.25);
  EXPECT_DOUBLE_EQ(pressure->since_last(start + 200ms), 0);
  EXPECT_LT(pressure->since_last(start + 200ms), 0) << "no time has passed";
  proc.plant("pressure/cpu", with_total(9'000'000));
  EXPECT_DOUBLE_EQ(pressure->since_last(start + 300ms), 1) << "never more than all of the time";
  proc.plant("pressure/cpu", with_total(8'000'000));
  EXPECT_DOUBLE_EQ(pressure->since_last(start + 400ms), 0) << "a count that fell";
}

TEST(CpuPressure, is_not_available_while_the_file_is_spoilt) {
  const PlantedProc proc;
  proc.plant("pressure/cpu", with_total(0));
  auto pressure = CpuPressure::open(start, proc.path());
  ASSERT_TRUE(pressure.ok());
  proc.plant("pressure/cpu", "some");
  EXPECT_LT(pressure->since_last(start + 100ms), 0);
  proc.plant("pressure/cpu", with_total(100'000));
  EXPECT_DOUBLE_EQ(pressure->since_last(start + 200ms), 0.5) << "the whole missed time";
}

TEST(CpuPressure, without_its_file_is_an_error_with_the_reason) {
  const PlantedProc proc;
  const auto missing = CpuPressure::open(start, proc.path());
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ENOENT);
  EXPECT_EQ(missing.error().message,
            "cannot open " + proc.path() + "/pressure/cpu: No such file or directory");
  proc.plant("pressure/cpu", "none avg10=0.00");
  const auto spoilt = CpuPressure::open(start, proc.path());
  ASSERT_FALSE(spoilt.ok());
  EXPECT_EQ(spoilt.error().code, EBADMSG);
  EXPECT_EQ(spoilt.error().message,
            proc.path() +
                "/pressure/cpu has no line such as 'some avg10=0.00 avg60=0.00 avg300=0.00 "
                "total=0'");
}

}  // namespace
}  // namespace k2k::host
