#include "labs/translation/measured/quota_faults.hpp"

#include <cstddef>

#include "device/k2k.hpp"
#include "k2k/demand_region.hpp"
#include "labs/translation/measured/cpu_quota.hpp"
#include "labs/translation/measured/page_memory.hpp"

namespace k2k::labs::translation {

namespace {

// The mean latency of a fault: `items` are always outstanding (Little's law).
Result<double> fault_us(Runtime& runtime, std::size_t pages, std::uint32_t items) {
  const std::size_t page = bytes_of(PageSize::small);
  const auto region = DemandRegion::zero(runtime, pages * page, {.name = "quota"});
  if (!region) return region.error();
  std::byte* const memory = region.value().data();
  const auto report = runtime.launch(
      {.groups = 1, .group_items = items},
      [=] {
        for (std::size_t at = k2k::item_rank(); at < pages; at += k2k::group_size()) {
          *static_cast<volatile std::byte*>(memory + at * page) = std::byte{1};
        }
      },
      "lab translation");
  if (!report) return report.error();
  return static_cast<double>(report.value().elapsed.count()) / 1e3 * items /
         static_cast<double>(pages);
}

}  // namespace

Result<std::vector<QuotaPoint>> quota_faults(std::uint32_t pages, std::uint32_t rounds) {
  const Result<CpuQuota> quota = CpuQuota::create();
  if (!quota) return quota.error();
  RuntimeConfig config;
  config.device.compute_units = 1;
  config.device.wave_lanes = thesis::lanes;
  config.device.resident_waves = 1;
  auto runtime = Runtime::create(config);
  if (!runtime) return runtime.error();
  if (const auto warm = fault_us(runtime.value(), pages, thesis::lanes); !warm) return warm.error();
  if (Status held = quota->hold(threads_named("k2k/")); !held) return held.error();
  std::vector<QuotaPoint> points;
  for (const double share : quota_shares) {
    for (const std::uint32_t items : {1u, thesis::lanes}) points.push_back({share, items});
  }
  for (std::uint32_t round = 0; round < rounds; ++round) {
    for (QuotaPoint& point : points) {
      if (Status limited = quota->limit(point.share); !limited) return limited.error();
      const auto us = fault_us(runtime.value(), pages, point.at_a_time);
      if (!us) return us.error();
      point.us.push_back(us.value());
    }
  }
  if (Status free = quota->limit(1); !free) return free.error();
  return points;
}

}  // namespace k2k::labs::translation
