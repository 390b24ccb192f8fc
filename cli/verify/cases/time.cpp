// Clocks, timers and sleep.

#include <sys/time.h>
#include <sys/timerfd.h>

#include <ctime>

#include "cli/verify/case.hpp"
#include "cli/verify/cases/ignored.hpp"

namespace k2k::cli::verify {

namespace {

constexpr timespec microsecond = {0, 1000};
constexpr timespec malformed = {0, 2000000000};

constexpr itimerspec given_timer = {{0, 0}, {100000, 0}};

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

      {SYS_getitimer, "real", {number(ITIMER_REAL), space(32)}},
      {SYS_getitimer, "of no kind", {number(9), space(32)}},
      {SYS_adjtimex, "as it is", {bytes(std::string(208, '\0'))}, Answer::varies, all_of(0, 208)},
      {SYS_settimeofday,
       "too many microseconds",
       {structure(malformed), null()},
       Answer::exact,
       {},
       false},  // Without a time it is valid.
      {SYS_timer_settime, "no timer", {number(77), number(0), structure(given_timer), space(32)}},
      {SYS_timer_gettime, "no timer", {number(77), space(32)}},
      {SYS_timer_getoverrun, "no timer", {number(77)}},
      {SYS_timer_delete, "no timer", {number(77)}},
      {SYS_clock_settime, "of no clock", {number(99), structure(microsecond)}},
      {SYS_clock_nanosleep,
       "a microsecond",
       {number(CLOCK_MONOTONIC), number(0), structure(microsecond), space(16)}},
      {SYS_clock_nanosleep,
       "until a past moment",
       {number(CLOCK_MONOTONIC), number(TIMER_ABSTIME), structure(microsecond), null()}},
      {SYS_clock_nanosleep, "by no clock", {number(99), number(0), structure(microsecond), null()}},
      {SYS_timerfd_create,
       "a timer",
       {number(CLOCK_MONOTONIC), number(TFD_CLOEXEC)},
       Answer::descriptor},
      {SYS_timerfd_create, "of no clock", {number(99), number(0)}},
      {SYS_timerfd_settime,
       "far from now",
       {object(Object::timer), number(0), structure(given_timer), space(32)}},
      {SYS_timerfd_settime,
       "a file",
       {object(Object::file), number(0), structure(given_timer), space(32)}},
      {SYS_timerfd_gettime, "what is not armed", {object(Object::timer), space(32)}},
      {SYS_clock_adjtime, "of no clock", {number(99), bytes(std::string(208, '\0'))}},
  };
}

}  // namespace k2k::cli::verify
