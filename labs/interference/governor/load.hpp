#pragma once
// The accelerator's requests in a simulation: how long services take, how many requests are
// outstanding, how fast new requests arrive.
//
// Threading: none; plain values.

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "labs/interference/governor/random.hpp"

namespace k2k::labs::governor {

inline constexpr double unbounded = std::numeric_limits<double>::infinity();

// CPU time of a service, in microseconds.
class ServiceTime {
 public:
  enum class Shape : std::uint8_t { fixed, uniform, lognormal };

  static ServiceTime fixed(double time_us) { return {Shape::fixed, time_us, 0, time_us, time_us}; }
  static ServiceTime uniform(double low_us, double high_us) {
    return {Shape::uniform, 0, 0, low_us, high_us};
  }
  // exp(normal(log(median), sigma)), limited to [low, high].
  static ServiceTime lognormal(double median_us, double sigma, double low_us = 0,
                               double high_us = unbounded) {
    return {Shape::lognormal, median_us, sigma, low_us, high_us};
  }
  // "uniform:LO:HI", "lognormal:MEAN:SIGMA" (the mean of the times, the deviation of their
  // logarithm), "fixed:X"; times in microseconds, 0.01 to 1e6. Errors: EINVAL.
  static Result<ServiceTime> parse(std::string_view text);

  [[nodiscard]] double draw_us(Random& random) const;
  [[nodiscard]] double mean_us() const;
  // About one of 10,000 services takes longer.
  [[nodiscard]] double longest_us() const;

 private:
  ServiceTime(Shape shape, double middle, double sigma, double low, double high)
      : shape_(shape), middle_(middle), sigma_(sigma), low_(low), high_(high) {}

  Shape shape_;
  double middle_;
  double sigma_;
  double low_;
  double high_;
};

struct Load {
  std::string name;
  std::uint32_t cores = 4;
  ServiceTime service = ServiceTime::uniform(2, 50);
  std::uint32_t outstanding = 64;  // The accelerator stalls with this many unanswered requests.
  double offered = unbounded;      // New requests a second (Poisson); unbounded: limited only by
                                   // `outstanding`.
  double think_us = 1;             // From an answer to the next request, if unbounded.
  double silent_s = 0;             // No request comes before this.
  double busy = 1;                 // Fraction of the time that CPU programs keep each core busy,
  double phase_us = 10'000;        // in phases of exponential length; mean of busy + idle.
};

}  // namespace k2k::labs::governor
