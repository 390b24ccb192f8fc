#include "router/plan/model.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>

namespace k2k::router {

namespace {

// The time of a stream with read-ahead, relative to the disk's time: measured 1.1 to 1.2.
constexpr double stream_share = 1.1;

struct Limits {
  const char* what;
  double value;
  double least;
  double most;
  const char* unit;
};

Ticks ticks(double us) { return std::llround(us * ticks_a_us); }

}  // namespace

double direct_us(const Model& model, std::uint32_t pages) {
  if (pages == 0) return 0;
  const double beyond = std::max(0.0, double{page_bytes} * pages - model.cutoff_bytes);
  return model.call_us + beyond / (model.direct_gbs * bytes_a_us);
}

double cache_us(const Model& model, std::uint32_t pages) {
  return double{page_bytes} * pages / (model.cache_gbs * bytes_a_us);
}

double streamed_bytes_max(const Model& model) {
  const double disk = 1 / (model.direct_gbs * bytes_a_us);
  const double stream = std::max(stream_share * disk, 1 / (model.cache_gbs * bytes_a_us));
  // T_direct(s) = s stream: first as if s were at most S, where T_direct is C.
  const double within = model.call_us / stream;
  if (within <= model.cutoff_bytes) return within;
  return (model.call_us - model.cutoff_bytes * disk) / (stream - disk);
}

double next_us_of(const Model& model) {
  const double saturated_us = model.cutoff_bytes / (model.direct_gbs * bytes_a_us);
  return std::clamp(model.next_us, 0.0, std::max(0.0, model.call_us - saturated_us));
}

Result<Costs> costs_of(const Model& model) {
  const Limits all[] = {
      {"the time of a direct transfer (C)", model.call_us, 0.001, 50'000, "us"},
      {"the cutoff (S)", model.cutoff_bytes / 1024, 0, 1 << 20, "KiB"},
      {"the bandwidth of direct transfers", model.direct_gbs, 0.01, 10'000, "GB/s"},
      {"the bandwidth of the page cache", model.cache_gbs, 0.01, 10'000, "GB/s"},
      {"the time of a further transfer", model.next_us, 0, 50'000, "us"},
  };
  for (const Limits& each : all) {
    if (each.value >= each.least && each.value <= each.most)
      continue;  // NaN fails both
                 // comparisons.
    return Error{EINVAL, fmt::format("{} is {:g} {}; permitted are {:g} to {:g}", each.what,
                                     each.value, each.unit, each.least, each.most)};
  }
  Costs costs;
  costs.call = ticks(model.call_us);
  costs.direct_page = ticks(page_bytes / (model.direct_gbs * bytes_a_us));
  // From the rounded page, so that a cutoff of whole pages is exact.
  costs.cutoff =
      std::llround(model.cutoff_bytes / page_bytes * static_cast<double>(costs.direct_page));
  costs.cache_page = ticks(page_bytes / (model.cache_gbs * bytes_a_us));
  costs.next = ticks(next_us_of(model));
  return costs;
}

std::uint32_t never_from_cache(const Costs& costs) {
  const Ticks fixed = costs.call - costs.cutoff;
  if (fixed < 0) return 0;  // Transfers of S are faster than BW_direct: two may be worth it.
  const Ticks gain = costs.direct_page - costs.cache_page;
  if (gain <= 0) return pages_max;
  return static_cast<std::uint32_t>(std::min<Ticks>(fixed / gain, pages_max));
}

}  // namespace k2k::router
