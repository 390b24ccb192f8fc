#pragma once
// The share of a core that this process takes while it receives no requests.

#include <ctime>
#include <thread>

#include "base/clock.hpp"

namespace k2k::conformance {

inline double busy_share(Nanoseconds span) {
  const auto used = [] {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + Nanoseconds(time.tv_nsec);
  };
  const Nanoseconds before = used();
  const Instant begin = now();
  std::this_thread::sleep_for(span);
  return static_cast<double>((used() - before).count()) /
         static_cast<double>((now() - begin).count());
}

}  // namespace k2k::conformance
