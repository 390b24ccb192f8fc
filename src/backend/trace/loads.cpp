#include "backend/trace/loads.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <numbers>

namespace k2k::backend::trace {

namespace {

constexpr double think_ns = 1'000;
constexpr double service_ns_min = 2'000;
constexpr double service_ns_max = 50'000;
constexpr double lognormal_median_ns = 8'000;
constexpr double lognormal_sigma = 0.8;
constexpr double silence_ns = 1e9;
constexpr double rate_min = 1;
constexpr double rate_max = 1e7;

// SplitMix64 (Steele, Lea, Flood, OOPSLA'14).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

// A distribution as its quantiles, so that a draw is one memory access: logarithms would be the
// larger part of this device's cost.
class Quantiles {
 public:
  template <class Inverse>
  explicit Quantiles(const Inverse& inverse) {
    for (std::size_t index = 0; index < count; ++index) {
      values_[index] = inverse((static_cast<double>(index) + 0.5) / count);
    }
  }
  [[nodiscard]] double draw(Random& random) const { return values_[random.bits() >> (64 - bits)]; }

 private:
  static constexpr int bits = 11;
  static constexpr std::size_t count = std::size_t{1} << bits;
  std::array<double, count> values_{};
};

double uniform_service(double part) {
  return service_ns_min + part * (service_ns_max - service_ns_min);
}

// The number of standard deviations that `part` of a normal distribution stays below.
double deviations_of(double part) {
  double low = -8;
  double high = 8;
  for (int step = 0; step < 50; ++step) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::numbers::sqrt2) < part ? low : high) = middle;
  }
  return low;
}

double lognormal_service(double part) {
  return std::clamp(lognormal_median_ns * std::exp(lognormal_sigma * deviations_of(part)),
                    service_ns_min, service_ns_max);
}

class Generated : public Source {
 public:
  [[nodiscard]] bool endless() const override { return true; }
  [[nodiscard]] bool uses(Operation operation) const override {
    return operation == Operation::cost;
  }

 protected:
  Generated(std::uint64_t seed, double (*service)(double)) : random_(seed), service_(service) {}
  void draw_service(Event& event) {
    event.operation = Operation::cost;
    event.amount = static_cast<std::uint64_t>(service_.draw(random_));
  }

  Random random_;

 private:
  Quantiles service_;
};

// The first `outstanding` requests come together after `silence_ns`; then each follows an answer.
class ClosedLoop final : public Generated {
 public:
  ClosedLoop(std::uint64_t seed, double (*service)(double), double silence,
             std::uint32_t outstanding)
      : Generated(seed, service), silence_(silence), first_(outstanding) {}
  bool next(Event& event) override {
    event.since = first_ == 0 ? Since::answer : Since::begin;
    event.after_ns = static_cast<std::int64_t>(first_ == 0 ? think_ns : silence_);
    if (first_ != 0) --first_;
    draw_service(event);
    return true;
  }

 private:
  double silence_;
  std::uint32_t first_;
};

class Poisson final : public Generated {
 public:
  Poisson(std::uint64_t seed, double rate)
      : Generated(seed, uniform_service),
        gap_ns_([mean = 1e9 / rate](double part) { return -mean * std::log1p(-part); }) {}
  bool next(Event& event) override {
    at_ns_ += gap_ns_.draw(random_);
    event.since = Since::begin;
    event.after_ns = static_cast<std::int64_t>(at_ns_);
    draw_service(event);
    return true;
  }

 private:
  Quantiles gap_ns_;
  double at_ns_ = 0;
};

Error no_load(std::string_view name) {
  std::string list;
  for (const std::string& each : load_names()) list += (list.empty() ? "" : ", ") + each;
  return {EINVAL, "there is no load '" + std::string(name) + "'; loads are " + list +
                      " (requests a second, 1 to 10000000)"};
}

}  // namespace

std::vector<std::string> load_names() { return {"uniform", "burst", "lognormal", "poisson:RATE"}; }

Result<std::unique_ptr<Source>> create_load(std::string_view name, std::uint64_t seed,
                                            std::uint32_t outstanding) {
  using NewSource = std::unique_ptr<Source>;
  if (name == "uniform") {
    return NewSource(std::make_unique<ClosedLoop>(seed, uniform_service, 0, outstanding));
  }
  if (name == "burst") {
    return NewSource(std::make_unique<ClosedLoop>(seed, uniform_service, silence_ns, outstanding));
  }
  if (name == "lognormal") {
    return NewSource(std::make_unique<ClosedLoop>(seed, lognormal_service, 0, outstanding));
  }
  constexpr std::string_view poisson = "poisson:";
  if (!name.starts_with(poisson)) return no_load(name);
  double rate = 0;
  const char* const last = name.data() + name.size();
  const auto [end, error] = std::from_chars(name.data() + poisson.size(), last, rate);
  if (error != std::errc() || end != last || !(rate >= rate_min && rate <= rate_max)) {
    return no_load(name);
  }
  return NewSource(std::make_unique<Poisson>(seed, rate));
}

}  // namespace k2k::backend::trace
