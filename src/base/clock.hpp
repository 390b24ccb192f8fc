#pragma once
// The only source of real time. Policy takes `now` as an argument instead.
//
//   now()          monotonic time, for waits and deadlines
//   cycles()       the cheapest steady counter (the time-stamp counter on x86-64), for costs of
//                  tens of nanoseconds; nanoseconds_per_cycle() converts
//   thread_time()  CPU time the calling thread has used
//
// Threading: all functions may be called from anywhere.

#include <cstdint>
#include <ctime>

#include "base/units.hpp"

namespace k2k {

inline Instant now() {
  return std::chrono::time_point_cast<Nanoseconds>(std::chrono::steady_clock::now());
}

inline double seconds_since(Instant begin) {
  return std::chrono::duration<double>(now() - begin).count();
}

inline std::uint64_t cycles() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();  // <x86intrin.h> has 40,000 lines; this needs one instruction.
#else
  return static_cast<std::uint64_t>(now().time_since_epoch().count());
#endif
}

// A moment in 32 bits, as stored in a slot: sixteenths of cycles(), wraps after about 25 s. Never
// 0.
inline std::uint32_t stamp_at(std::uint64_t moment) {
  const auto stamp = static_cast<std::uint32_t>(moment >> 4);
  return stamp == 0 ? 1 : stamp;
}
// Cycles from one stamp to a later one, if they are less than one wrap apart; 0 if the clocks of
// two cores disagree by more than that.
inline std::uint64_t cycles_between(std::uint32_t earlier, std::uint32_t later) {
  const std::uint32_t gap = later - earlier;
  return gap > 0x80000000u ? 0 : std::uint64_t{gap} << 4;
}
inline std::uint64_t cycles_since(std::uint32_t stamp, std::uint64_t moment) {
  return cycles_between(stamp, stamp_at(moment));
}

// Nanoseconds per cycle. Calibrated once, between the program's start and the first use; the first
// use waits until 0.5 ms have passed. 1.0 if cycles() counts nanoseconds.
double nanoseconds_per_cycle();

inline std::uint64_t cycles_in(Nanoseconds time) {
  return static_cast<std::uint64_t>(static_cast<double>(time.count()) / nanoseconds_per_cycle());
}
inline std::uint64_t cycles_of(std::uint32_t microseconds) {
  return static_cast<std::uint64_t>(microseconds * 1000.0 / nanoseconds_per_cycle());
}

inline Nanoseconds thread_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + Nanoseconds(time.tv_nsec);
}

}  // namespace k2k
