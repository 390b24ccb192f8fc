#pragma once
// From measured times to a Model, by least squares of relative errors: each point weighs 1 / us^2,
// so that 4 KiB counts as much as 8 MiB.
//
//   direct   C + max(0, s - S) / BW: for each stretch between two sizes, the two parts fitted
//   apart;
//            where their lines meet inside the stretch that is its best S, else one of its ends is.
//            (Hudson, JASA 61 (1966).) All stretches are tried: the best S is found exactly.
//   cache    s / BW, through the origin, over sizes from cache_bytes_min on. A shorter copy is
//            mostly the call itself, for which the model has no term.
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

inline constexpr std::size_t direct_points_min = 5;  // Three parameters, and something to check.
inline constexpr std::size_t cache_points_min = 3;
inline constexpr std::size_t points_max = 256;  // Of each way.
inline constexpr double cache_bytes_min = 64 * 1024;
inline constexpr double deviation_max = 0.1;  // Of the model's time, relative to the measured one.
inline constexpr double r2_min = 0.98;        // Below, the model does not describe the device.

struct Point {
  double bytes = 0;
  double us = 0;
  bool operator==(const Point&) const = default;
};

// So many direct transfers of so many bytes each, in flight at once, took so long in all.
struct Together {
  std::uint32_t transfers = 0;
  double bytes = 0;
  double us = 0;
};

// A point that the model misses by more than deviation_max.
struct Deviation {
  bool direct = false;
  Point point;
  double model_us = 0;
};

struct Fit {
  Model model;
  double direct_r2 = 0;
  double cache_r2 = 0;
  std::vector<Deviation> deviations;  // Direct ones first; of the cache, of the sizes fitted.

  [[nodiscard]] bool describes() const { return direct_r2 >= r2_min && cache_r2 >= r2_min; }
};

// The sizes of each way ascend. EINVAL, with the way and the point named: too few or too many
// points; a number that is not finite and positive; sizes that do not ascend; direct times that do
// not grow with the size, or a model that costs_of() refuses.
// Model::next_us is what `together` takes beyond one transfer of all its bytes, a further transfer;
// without it, 0. It is next_us_min at least: 0 would mean that it is not known.
inline constexpr double next_us_min = 0.1;
Result<Fit> fit(std::span<const Point> direct, std::span<const Point> cache,
                const std::optional<Together>& together = {});

// Of any number of bytes, microseconds.
double direct_bytes_us(const Model& model, double bytes);
double cache_bytes_us(const Model& model, double bytes);

}  // namespace k2k::router
