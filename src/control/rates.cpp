#include "control/rates.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace k2k::control {

namespace {

using nlohmann::ordered_json;

const ordered_json& part(const ordered_json& object, const char* name) {
  static const ordered_json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(name);
  return found == object.end() ? nothing : *found;
}

double number(const ordered_json& object, const char* name) {
  const ordered_json& value = part(object, name);
  return value.is_number() ? value.get<double>() : 0;
}

std::string text(const ordered_json& object, const char* name) {
  const ordered_json& value = part(object, name);
  return value.is_string() ? value.get<std::string>() : "";
}

std::uint64_t whole(const ordered_json& object, const char* name) {
  return static_cast<std::uint64_t>(std::clamp(number(object, name), 0.0, 1e15));
}

// For growing counters; a counter that shrank was restarted.
double grown(double before, double after) { return after >= before ? after - before : after; }

// The element of the list `before` with the same `key`.
const ordered_json& same(const ordered_json& list, const char* key, const ordered_json& element) {
  static const ordered_json nothing;
  if (!list.is_array()) return nothing;
  for (const ordered_json& one : list) {
    if (part(one, key) == part(element, key)) return one;
  }
  return nothing;
}

// Buckets [least, width, count] by their least value.
std::map<double, std::pair<double, double>> buckets_of(const ordered_json& answer) {
  std::map<double, std::pair<double, double>> buckets;
  const ordered_json& list = part(answer, "latency_us");
  if (!list.is_array()) return buckets;
  for (const ordered_json& one : list) {
    if (!one.is_array() || one.size() != 3) continue;
    if (!one[0].is_number() || !one[1].is_number() || !one[2].is_number()) continue;
    buckets[one[0].get<double>()] = {one[1].get<double>(), one[2].get<double>()};
  }
  return buckets;
}

// The middle of the bucket that holds the quantile.
double quantile(const std::map<double, std::pair<double, double>>& buckets, double which) {
  double all = 0;
  for (const auto& [least, bucket] : buckets) all += bucket.second;
  double seen = 0;
  for (const auto& [least, bucket] : buckets) {
    seen += bucket.second;
    if (all > 0 && seen > which * (all - 1)) return least + bucket.first / 2;
  }
  return 0;
}

void add_latency(const ordered_json& before, const ordered_json& after, Rates& rates) {
  auto buckets = buckets_of(after);
  for (const auto& [least, bucket] : buckets_of(before)) {
    const auto found = buckets.find(least);
    if (found != buckets.end())
      found->second.second -= std::min(bucket.second, found->second.second);
  }
  rates.p50_us = quantile(buckets, 0.5);
  rates.p99_us = quantile(buckets, 0.99);
}

}  // namespace

Rates rates_between(const ordered_json& before, const ordered_json& after) {
  Rates rates;
  const ordered_json& old = part(before, "stats");
  const ordered_json& now = part(after, "stats");
  rates.seconds = number(after, "uptime_seconds") - number(before, "uptime_seconds");
  const double a_second = rates.seconds > 0 ? 1 / rates.seconds : 0;
  const double of_all = a_second / std::max(1.0, number(after, "cores"));
  const auto rate = [&](const ordered_json& earlier, const ordered_json& later, const char* name,
                        double scale) {
    return grown(number(earlier, name), number(later, name)) * scale;
  };
  rates.requests = rate(old, now, "requests", a_second);
  rates.wakes = rate(old, now, "wakes", a_second);
  rates.saved = rate(old, now, "interrupts_saved", a_second);
  rates.share = rate(old, now, "ledger_seconds", of_all);
  rates.queue = whole(now, "in_flight");
  rates.cap = number(part(now, "governor"), "cap");
  rates.throttled =
      rate(part(old, "governor"), part(now, "governor"), "throttled_seconds", a_second);
  add_latency(before, after, rates);

  if (const ordered_json& calls = part(now, "calls"); calls.is_array()) {
    for (const ordered_json& call : calls) {
      const ordered_json& earlier = same(part(old, "calls"), "name", call);
      CallRate made{text(call, "name"), rate(earlier, call, "count", a_second),
                    number(call, "p50_us"), number(call, "p99_us"),
                    rate(earlier, call, "cpu_seconds", of_all)};
      if (made.requests > 0) rates.calls.push_back(std::move(made));
    }
    std::stable_sort(rates.calls.begin(), rates.calls.end(),
                     [](const auto& a, const auto& b) { return a.requests > b.requests; });
  }
  if (const ordered_json& tenants = part(now, "tenants"); tenants.is_array()) {
    for (const ordered_json& tenant : tenants) {
      const ordered_json& earlier = same(part(old, "tenants"), "tenant", tenant);
      const ordered_json& budget = same(part(part(now, "governor"), "budgets"), "tenant", tenant);
      const ordered_json& budget_then =
          same(part(part(old, "governor"), "budgets"), "tenant", tenant);
      rates.tenants.push_back({whole(tenant, "tenant"), rate(earlier, tenant, "requests", a_second),
                               rate(earlier, tenant, "cpu_seconds", of_all), number(budget, "part"),
                               rate(budget_then, budget, "throttled_seconds", a_second)});
    }
  }
  if (const ordered_json& conflicts = part(part(now, "governor"), "conflicts");
      conflicts.is_array()) {
    for (const ordered_json& conflict : conflicts) {
      if (conflict.is_string()) rates.conflicts.push_back(conflict.get<std::string>());
    }
  }
  if (const ordered_json& stages = part(now, "stage_seconds"); stages.is_object()) {
    for (const auto& [name, seconds] : stages.items()) {
      rates.stages.push_back(
          {name, rate(part(old, "stage_seconds"), stages, name.c_str(), of_all)});
    }
  }
  if (const ordered_json& cores = part(now, "cores"); cores.is_array()) {
    for (const ordered_json& core : cores) {
      const ordered_json& earlier = same(part(old, "cores"), "core", core);
      rates.cores.push_back(
          {part(core, "core").dump(), rate(earlier, core, "cpu_seconds", a_second)});
    }
  }
  return rates;
}

}  // namespace k2k::control
