#include "base/clock.hpp"

#include "base/found_once.hpp"

namespace k2k {

#if defined(__x86_64__)
namespace {

using namespace std::chrono_literals;

// Each moment is known to some 20 ns, so the ratio is known to less than 100 millionths.
constexpr Nanoseconds apart_least = 500us;

// Both clocks at one moment.
struct Both {
  Instant time{};
  std::uint64_t cycles = 0;
};

// The best of a few attempts: the one with the least delay between the two readings.
Both both_now() {
  Both best;
  std::uint64_t least = ~std::uint64_t{0};
  for (int round = 0; round < 3; ++round) {
    const std::uint64_t before = cycles();
    const Instant time = now();
    const std::uint64_t took = cycles() - before;
    if (took >= least) continue;
    least = took;
    best = {time, before + took / 2};
  }
  return best;
}

// When the program was loaded: by the first use some of the time that must pass has mostly passed.
const Both loaded = both_now();

}  // namespace
#endif

double nanoseconds_per_cycle() {
#if defined(__x86_64__)
  static constinit FoundOnce<double> ratio;
  return ratio.get([] {
    const Both start = loaded.cycles == 0 ? both_now() : loaded;  // Another static initialiser used
                                                                  // it earlier.
    while (now() - start.time < apart_least) continue;
    const Both end = both_now();
    return static_cast<double>((end.time - start.time).count()) /
           static_cast<double>(end.cycles - start.cycles);
  });
#else
  return 1.0;
#endif
}

}  // namespace k2k
