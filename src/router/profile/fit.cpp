#include "router/profile/fit.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <limits>
#include <optional>

namespace k2k::router {

namespace {

constexpr double rounding = 1e-9;    // Of errors: where they tie, the smaller S is taken.
constexpr double growth_min = 0.01;  // Of the largest size over C: less is no bandwidth.
constexpr const char* again = "run k2k calibrate again when the device is idle";

using Points = std::span<const Point>;

double weight(const Point& point) { return 1 / (point.us * point.us); }

// y = level + slope x with the least weighted squares. Empty if x does not vary.
struct Line {
  double level = 0;
  double slope = 0;
};

template <class X>
std::optional<Line> line_through(Points points, X x_of) {
  double w = 0, x = 0, y = 0;
  for (const Point& point : points) {
    w += weight(point);
    x += weight(point) * x_of(point.bytes);
    y += weight(point) * point.us;
  }
  x /= w;
  y /= w;
  double xx = 0, xy = 0;
  for (const Point& point : points) {
    const double apart = x_of(point.bytes) - x;
    xx += weight(point) * apart * apart;
    xy += weight(point) * apart * (point.us - y);
  }
  if (!(xx > 0)) return {};
  return Line{y - xy / xx * x, xy / xx};
}

template <class Time>
double errors_of(Points points, Time time) {
  double sum = 0;
  for (const Point& point : points) {
    const double error = (point.us - time(point.bytes)) / point.us;
    sum += error * error;
  }
  return sum;
}

template <class Time>
double r2_of(Points points, Time time) {
  double w = 0, y = 0;
  for (const Point& point : points) {
    w += weight(point);
    y += weight(point) * point.us;
  }
  const double all = errors_of(points, [&](double) { return y / w; });
  return all > 0 ? 1 - errors_of(points, time) / all : 0;
}

// The three numbers of T_direct, times and bytes as measured.
struct Hinge {
  double call = 0;
  double cutoff = 0;
  double slope = 0;  // us a byte
  double error = std::numeric_limits<double>::infinity();

  [[nodiscard]] double operator()(double bytes) const {
    return call + slope * std::max(0.0, bytes - cutoff);
  }
};

// The best C and BW for this S.
std::optional<Hinge> hinge_at(Points points, double cutoff) {
  const auto line =
      line_through(points, [&](double bytes) { return std::max(0.0, bytes - cutoff); });
  if (!line || !(line->slope > 0) || !(line->level > 0)) return {};
  Hinge hinge{line->level, cutoff, line->slope};
  hinge.error = errors_of(points, hinge);
  return hinge;
}

// Where the level of the first `count` points and the line through the others meet; nothing if that
// is not between the two.
std::optional<double> meeting(Points points, std::size_t count) {
  double w = 0, y = 0;
  for (const Point& point : points.first(count)) {
    w += weight(point);
    y += weight(point) * point.us;
  }
  const auto line = line_through(points.subspan(count), [](double bytes) { return bytes; });
  if (!line || !(line->slope > 0)) return {};
  const double cutoff = (y / w - line->level) / line->slope;
  if (cutoff <= points[count - 1].bytes || cutoff >= points[count].bytes) return {};
  return cutoff;
}

Result<Hinge> fit_direct(Points points) {
  Hinge best;
  const auto consider = [&](double cutoff) {
    const auto hinge = hinge_at(points, cutoff);
    if (!hinge || (*hinge)(points.back().bytes) < hinge->call * (1 + growth_min)) return;
    if (hinge->error * (1 + rounding) + rounding * rounding < best.error) best = *hinge;
  };
  consider(0);
  for (std::size_t at = 0; at + 1 < points.size(); ++at) {
    consider(points[at].bytes);
    if (const auto cutoff = meeting(points, at + 1)) consider(*cutoff);
  }
  if (std::isfinite(best.error)) return best;
  return Error{EINVAL, fmt::format("direct transfers of {:g} to {:g} bytes take {:g} to {:g} us: "
                                   "the time does not grow with the size, so there is no "
                                   "bandwidth to find; {}",
                                   points.front().bytes, points.back().bytes, points.front().us,
                                   points.back().us, again)};
}

Points large(Points cache) {
  std::size_t first = 0;
  while (first < cache.size() && cache[first].bytes < cache_bytes_min) ++first;
  return cache.subspan(first);
}

Status check(const char* way, Points points, std::size_t fitted, std::size_t least) {
  if (fitted < least || points.size() > points_max) {
    return Error{EINVAL, fmt::format("{} points of {} were measured; wanted are {} to {}; {}",
                                     fitted, way, least, points_max, again)};
  }
  double before = 0;
  for (const Point& point : points) {
    const bool finite = std::isfinite(point.bytes) && std::isfinite(point.us);
    if (!finite || point.bytes <= 0 || point.us <= 0) {
      return Error{EINVAL, fmt::format("a point of {} is {:g} bytes in {:g} us; wanted are finite "
                                       "numbers above 0; {}",
                                       way, point.bytes, point.us, again)};
    }
    if (point.bytes <= before) {
      return Error{EINVAL, fmt::format("the points of {} do not ascend: {:g} bytes behind {:g}; "
                                       "sort them by size, each once",
                                       way, point.bytes, before)};
    }
    before = point.bytes;
  }
  return {};
}

template <class Time>
void add_deviations(std::vector<Deviation>& all, bool direct, Points points, Time time) {
  for (const Point& point : points) {
    const double model = time(point.bytes);
    if (std::abs(model - point.us) > deviation_max * point.us) {
      all.push_back({direct, point, model});
    }
  }
}

}  // namespace

double direct_bytes_us(const Model& model, double bytes) {
  if (bytes <= 0) return 0;
  return model.call_us +
         std::max(0.0, bytes - model.cutoff_bytes) / (model.direct_gbs * bytes_a_us);
}

double cache_bytes_us(const Model& model, double bytes) {
  return std::max(0.0, bytes) / (model.cache_gbs * bytes_a_us);
}

Result<Fit> fit(std::span<const Point> direct, std::span<const Point> cache,
                const std::optional<Together>& together) {
  const Points copies = large(cache);
  if (Status status = check("direct transfers", direct, direct.size(), direct_points_min);
      !status) {
    return status.error();
  }
  if (Status status =
          check("cached reads of 64 KiB and more", cache, copies.size(), cache_points_min);
      !status) {
    return status.error();
  }
  Result<Hinge> hinge = fit_direct(direct);
  if (!hinge) return hinge.error();
  double rates = 0;
  double squares = 0;
  for (const Point& point : copies) {
    rates += point.bytes / point.us;
    squares += point.bytes / point.us * (point.bytes / point.us);
  }
  Fit result;
  result.model = {.call_us = hinge->call,
                  .cutoff_bytes = hinge->cutoff,
                  .direct_gbs = 1 / (hinge->slope * bytes_a_us),
                  .cache_gbs = squares / rates / bytes_a_us};
  if (together && together->transfers > 1) {
    const double alone = direct_bytes_us(result.model, together->transfers * together->bytes);
    const double more = (together->us - alone) / (together->transfers - 1);
    result.model.next_us = std::clamp(more, next_us_min, std::max(next_us_min, hinge->call));
  }
  if (const Result<Costs> costs = costs_of(result.model); !costs) {
    return Error{EINVAL, fmt::format("the measured times give no model: {}; {}",
                                     costs.error().message, again)};
  }
  const auto direct_time = [&](double bytes) { return direct_bytes_us(result.model, bytes); };
  const auto cache_time = [&](double bytes) { return cache_bytes_us(result.model, bytes); };
  result.direct_r2 = r2_of(direct, direct_time);
  result.cache_r2 = r2_of(copies, cache_time);
  add_deviations(result.deviations, true, direct, direct_time);
  add_deviations(result.deviations, false, copies, cache_time);
  return result;
}

}  // namespace k2k::router
