#include "bench/command/fault_share.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/contract.hpp"
#include "bench/command/bench.hpp"

namespace k2k::bench {

namespace {

using Values = std::vector<double>;

Values difference(const Values& one, const Values& other) {
  K2K_EXPECT(one.size() == other.size());
  Values values;
  for (std::size_t at = 0; at < one.size(); ++at) values.push_back(one[at] - other[at]);
  return values;
}

// Half of the 95 % interval of the mean.
double half_of(const Values& values) {
  const auto n = static_cast<double>(values.size());
  return student(values.size() - 1) * Samples(values).deviation() / std::sqrt(n);
}

// What a page adds to the time, us.
double page_us(const Values& demand, const Values& pinned, std::uint64_t pages) {
  return rounded(Samples(difference(demand, pinned)).median() / static_cast<double>(pages) * 1e6);
}

}  // namespace

std::vector<double> ratios_of(const ArmTimes& times) {
  K2K_EXPECT(times.device.size() == times.direct.size());
  Values ratios;
  for (std::size_t at = 0; at < times.device.size(); ++at) {
    ratios.push_back(times.device[at] / times.direct[at]);
  }
  return ratios;
}

std::optional<Share> fault_share(const ArmTimes& demand, const ArmTimes& pinned) {
  const Values whole = difference(demand.device, demand.direct);
  const Values rest = difference(pinned.device, pinned.direct);
  K2K_EXPECT(whole.size() >= 2 && whole.size() == rest.size());
  const double mean = Samples(whole).mean();
  if (std::abs(mean) <= half_of(whole)) return std::nullopt;
  const double part = Samples(rest).mean() / mean;
  Values off;  // Of each round, from the common ratio.
  for (std::size_t at = 0; at < whole.size(); ++at) off.push_back(rest[at] - part * whole[at]);
  const double half = half_of(off) / std::abs(mean);
  return Share{1 - part - half, 1 - part, 1 - part + half};
}

nlohmann::ordered_json fault_columns(Goal goal, const ArmTimes& demand,
                                     const std::optional<ArmTimes>& pinned, std::uint64_t pages,
                                     const std::string& verdict) {
  nlohmann::ordered_json columns = {
      {"pinned", nullptr},  {"pinned_low", nullptr},     {"pinned_high", nullptr},
      {"share", nullptr},   {"share_low", nullptr},      {"share_high", nullptr},
      {"page_us", nullptr}, {"direct_page_us", nullptr}, {"verdict", verdict}};
  if (!pinned) return columns;
  const Interval without = interval_of(ratios_of(*pinned));
  columns["pinned"] = rounded(without.mean);
  columns["pinned_low"] = rounded(without.low);
  columns["pinned_high"] = rounded(without.high);
  if (const auto share = fault_share(demand, *pinned)) {
    columns["share"] = rounded(share->mean);
    columns["share_low"] = rounded(share->low);
    columns["share_high"] = rounded(share->high);
  }
  if (pages != 0) {
    columns["page_us"] = page_us(demand.device, pinned->device, pages);
    columns["direct_page_us"] = page_us(demand.direct, pinned->direct, pages);
  }
  const bool met = judge(without, goal->target, goal->better).verdict == Verdict::met;
  if (met && verdict != name_of(Verdict::met)) columns["verdict"] = explained;
  return columns;
}

}  // namespace k2k::bench
