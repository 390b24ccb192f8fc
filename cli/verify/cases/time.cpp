// Clocks, timers and sleep.

#include <ctime>

#include "cli/verify/case.hpp"
#include "cli/verify/cases/ignored.hpp"

namespace k2k::cli::verify {

namespace {

constexpr timespec microsecond = {0, 1000};
constexpr timespec malformed = {0, 2000000000};

}  // namespace

std::vector<Case> time_cases() {
  return {
      {SYS_nanosleep, "a microsecond", {structure(microsecond), space(16)}},
      {SYS_nanosleep, "too many nanoseconds", {structure(malformed), null()}},
      {SYS_gettimeofday, "time and zone", {space(16), space(8)}, Answer::exact, all_of(0, 16)},
      {SYS_times, "of the process", {space(32)}, Answer::varies, all_of(0, 32)},
      {SYS_time, "now", {space(8)}, Answer::varies, all_of(0, 8)},
      {SYS_clock_gettime,
       "monotonic",
       {number(CLOCK_MONOTONIC), space(16)},
       Answer::exact,
       all_of(1, 16)},
      {SYS_clock_gettime, "of no clock", {number(99), space(16)}},
      {SYS_clock_getres, "monotonic", {number(CLOCK_MONOTONIC), space(16)}},
      {SYS_clock_getres, "of no clock", {number(99), space(16)}},
  };
}

}  // namespace k2k::cli::verify
