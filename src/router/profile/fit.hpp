#pragma once
// Fits a Model to measured times, by least squares of relative errors: each point weighs 1 / us^2,
// so that 4 KiB counts as much as 8 MiB.
//
//   direct   C + max(0, s - S) / BW: for each stretch between two sizes, the two parts are fitted
//            separately; if their lines meet inside the stretch, that is its best S, otherwise one
//            of its ends is. (Hudson, JASA 61 (1966).) All stretches are tried: the best S is found
//            exactly.
//   cache    s / BW, through the origin, over sizes from cache_bytes_min on. The time of a shorter
//            copy is mostly the call itself, for which the model has no term.
//
// R^2 is the coefficient of determination under the same weights, over the sizes fitted.
//
// Threading: pure functions.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "router/plan/model.hpp"

namespace k2k::router {

inline constexpr std::size_t direct_points_min = 5;  // Three parameters, and further points to
                                                     // check them.
inline constexpr std::size_t cache_points_min = 3;
inline constexpr std::size_t points_max = 256;  // For each path.
inline constexpr double cache_bytes_min = 64 * 1024;
inline constexpr double deviation_max = 0.1;  // Of the model's time from the measured time,
                                              // relative.
inline constexpr double r2_min = 0.98;        // Below this, the model does not describe the device.

struct Point {
  double bytes = 0;
  double us = 0;
  bool operator==(const Point&) const = default;
};

// The total time of several direct transfers of equal size, in flight at once.
struct Together {
  std::uint32_t transfers = 0;
  double bytes = 0;
  double us = 0;
};

// A point with an error of the model above deviation_max.
struct Deviation {
  bool direct = false;
  Point point;
  double model_us = 0;
};

struct Fit {
  Model model;
  double direct_r2 = 0;
  double cache_r2 = 0;
  std::vector<Deviation> deviations;  // Direct ones first; for the cache, only fitted sizes.

  [[nodiscard]] bool describes() const { return direct_r2 >= r2_min && cache_r2 >= r2_min; }
};

// The sizes of each path must ascend. Errors: EINVAL, with the path and the point: too few or too
// many points; a number that is not finite and positive; sizes that do not ascend; direct times
// that do not grow with the size, or a model that costs_of() refuses.
// Model::next_us is the time of `together` beyond one transfer of all its bytes, per further
// transfer; 0 without it. It is at least next_us_min, because 0 means unknown.
inline constexpr double next_us_min = 0.1;
Result<Fit> fit(std::span<const Point> direct, std::span<const Point> cache,
                const std::optional<Together>& together = {});

// For any number of bytes, in microseconds.
double direct_bytes_us(const Model& model, double bytes);
double cache_bytes_us(const Model& model, double bytes);

}  // namespace k2k::router
