// Goal: a sleep waits without a thread where its end is known, takes one where the clock may be
// set, and is answered as Linux answers it. Method: the calls of services_test.cpp.

#include "services/sleep.hpp"

#include <asm/unistd.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <ctime>
#include <limits>

#include "base/clock.hpp"
#include "services/services.hpp"
#include "services/services_fixture.hpp"

namespace k2k::services {
namespace {

TEST_F(ServicesTest, waiting_for_a_clock_is_never_tried_where_it_could_block) {
  const timespec request{0, 10'000'000};  // Not over before it is tried, on a slow processor, too.
  EXPECT_TRUE(would_wait(make(__NR_nanosleep, &request, 0)));
  EXPECT_EQ(served(make(__NR_nanosleep, &request, 0)), 0);
  const timespec wrong{0, -1};
  EXPECT_EQ(served(make(__NR_nanosleep, &wrong, 0)), -EINVAL);
}

TEST_F(ServicesTest, a_sleep_tells_its_end) {
  const timespec second{1, 5};
  Progress progress;
  const auto end_of = [&](const Request& request) {
    const Answer answer = execute_without_waiting(request, progress, files);
    EXPECT_TRUE(answer.would_wait);
    return answer.readiness.moment;
  };
  const Instant begin = now();
  const Instant relative[] = {
      end_of(make(__NR_nanosleep, &second, 0)),
      end_of(make(__NR_clock_nanosleep, CLOCK_MONOTONIC, 0, &second, 0)),
      end_of(make(__NR_clock_nanosleep, CLOCK_REALTIME, 0, &second, 0)),
  };
  for (const Instant end : relative) {
    EXPECT_GE(end, begin + std::chrono::nanoseconds(1'000'000'005));
    EXPECT_LE(end, now() + std::chrono::nanoseconds(1'000'000'005));
  }
  timespec later{};
  ::clock_gettime(CLOCK_MONOTONIC, &later);
  later.tv_sec += 9;
  EXPECT_EQ(end_of(make(__NR_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &later, 0)),
            Instant(std::chrono::seconds(later.tv_sec) + std::chrono::nanoseconds(later.tv_nsec)));
  const timespec for_ever{std::numeric_limits<time_t>::max(), 999'999'999};
  EXPECT_GT(end_of(make(__NR_nanosleep, &for_ever, 0)), begin + std::chrono::hours(800'000));
}

TEST_F(ServicesTest, a_sleep_by_another_clock_takes_a_thread) {
  timespec later{};
  ::clock_gettime(CLOCK_REALTIME, &later);
  later.tv_sec += 9;
  Progress progress;
  for (const Request& request :
       {make(__NR_clock_nanosleep, CLOCK_REALTIME, TIMER_ABSTIME, &later, 0),  // It may be set.
        make(__NR_clock_nanosleep, CLOCK_TAI, 0, &later, 0),
        make(__NR_clock_nanosleep, CLOCK_MONOTONIC, 8, &later, 0)}) {
    const Answer answer = execute_without_waiting(request, progress, files);
    EXPECT_TRUE(answer.would_wait);
    EXPECT_FALSE(answer.readiness.exists());
  }
}

TEST_F(ServicesTest, a_sleep_that_is_wrong_or_over_is_answered_at_once) {
  const timespec nothing{0, 0};
  const timespec past{1, 0};  // Of CLOCK_MONOTONIC.
  EXPECT_EQ(at_once(make(__NR_nanosleep, &nothing, 0)), 0);
  EXPECT_EQ(at_once(make(__NR_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &past, 0)), 0);
  for (const timespec wrong : {timespec{0, -1}, timespec{0, 1'000'000'000}, timespec{-1, 0}}) {
    EXPECT_EQ(at_once(make(__NR_nanosleep, &wrong, 0)), -EINVAL);
  }
  EXPECT_EQ(at_once(make(__NR_nanosleep, 8, 0)), -EFAULT);
}

}  // namespace
}  // namespace k2k::services
