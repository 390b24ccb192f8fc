#include "labs/interference/coalescing/shapes.hpp"

#include <algorithm>
#include <cmath>

#include "labs/interference/governor/random.hpp"

namespace k2k::labs::coalescing {

namespace {

using governor::Random;

constexpr std::uint64_t read_bytes = 4096;  // A read of zeros: about half a microsecond.

TraceEvent read_at(double at_ns) {
  return {Since::begin, Operation::pread, static_cast<std::int64_t>(at_ns), read_bytes};
}

// Adds events from `begin_ns` to `end_ns`, at `rate` a second.
void poisson(std::vector<TraceEvent>& events, Random& random, double begin_ns, double end_ns,
             double rate) {
  const double gap_ns = 1e9 / rate;
  for (double at = begin_ns + random.exponential(gap_ns); at < end_ns;
       at += random.exponential(gap_ns)) {
    events.push_back(read_at(at));
  }
}

template <int Rate>
std::vector<TraceEvent> steady(std::uint64_t seed, Nanoseconds length) {
  Random random(seed);
  std::vector<TraceEvent> events;
  poisson(events, random, 0, static_cast<double>(length.count()), Rate);
  return events;
}

std::vector<TraceEvent> bursts(std::uint64_t seed, Nanoseconds length) {
  constexpr int requests = 32;
  constexpr double spread_ns = 60e3;
  constexpr double period_ns = 4e6;
  Random random(seed);
  std::vector<TraceEvent> events;
  for (double begin = 0; begin + spread_ns < static_cast<double>(length.count());
       begin += period_ns) {
    const std::size_t first = events.size();
    for (int request = 0; request < requests; ++request) {
      events.push_back(read_at(begin + spread_ns * random.unit()));
    }
    std::sort(events.begin() + static_cast<std::ptrdiff_t>(first), events.end(),
              [](const TraceEvent& one, const TraceEvent& other) {
                return one.after_ns < other.after_ns;
              });
  }
  return events;
}

// As many events as fit into `length` if requests wait only for the services of other requests.
std::vector<TraceEvent> lognormal(std::uint64_t seed, Nanoseconds length) {
  constexpr double median_ns = 8'000;
  constexpr double sigma = 0.8;
  constexpr double least_ns = 2'000;
  constexpr double most_ns = 50'000;
  constexpr double think_ns = 20'000;
  Random random(seed);
  std::vector<TraceEvent> events;
  for (auto left = static_cast<double>(length.count()); left > 0;) {
    const double service =
        std::clamp(median_ns * std::exp(sigma * random.normal()), least_ns, most_ns);
    left -= service;
    events.push_back({Since::answer, Operation::cost,
                      static_cast<std::int64_t>(random.exponential(think_ns)),
                      static_cast<std::uint64_t>(service)});
  }
  return events;
}

std::vector<TraceEvent> on_off(std::uint64_t seed, Nanoseconds length) {
  constexpr double phase_ns = 50e6;
  Random random(seed);
  std::vector<TraceEvent> events;
  bool on = true;
  const auto all = static_cast<double>(length.count());
  for (double begin = 0; begin < all; begin += phase_ns, on = !on) {
    poisson(events, random, begin, std::min(begin + phase_ns, all), on ? 50'000 : 2'000);
  }
  return events;
}

constexpr Shape all_shapes[] = {
    {"sparse", "2,000 a second", 64, steady<2'000>},
    {"dense", "100,000 a second", 64, steady<100'000>},
    {"bursts", "32 within 60 us each 4 ms", 64, bursts},
    {"lognormal", "8 outstanding, log-normal services", 8, lognormal},
    {"on_off", "50,000 and 2,000 a second, 50 ms each", 64, on_off},
};

}  // namespace

std::span<const Shape> shapes() { return all_shapes; }

const Shape* find_shape(std::string_view name) {
  const auto place = std::find_if(std::begin(all_shapes), std::end(all_shapes),
                                  [name](const Shape& one) { return one.name == name; });
  return place == std::end(all_shapes) ? nullptr : place;
}

}  // namespace k2k::labs::coalescing
