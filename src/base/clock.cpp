#include "base/clock.hpp"

namespace k2k {

double nanoseconds_per_cycle() {
#if defined(__x86_64__)
  static const double ratio = [] {
    using namespace std::chrono_literals;
    const Instant start = now();
    const std::uint64_t start_cycles = cycles();
    Instant end = start;
    while (end - start < 2ms) end = now();
    const std::uint64_t end_cycles = cycles();
    return static_cast<double>((end - start).count()) /
           static_cast<double>(end_cycles - start_cycles);
  }();
  return ratio;
#else
  return 1.0;
#endif
}

}  // namespace k2k
