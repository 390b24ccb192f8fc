#include "labs/interference/harm/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "labs/interference/governor/study.hpp"
#include "labs/interference/harm/combinations.hpp"
#include "labs/interference/harm/intervals.hpp"
#include "labs/interference/harm/leave_one_out.hpp"
#include "labs/interference/harm/machine.hpp"
#include "labs/interference/harm/records.hpp"

namespace k2k::labs::harm {

using nlohmann::ordered_json;

namespace {

const std::vector<std::string> quick_victims = {"single", "compute", "stencil"};
const std::vector<std::string> quick_settings = {"staged", "monolithic", "default+cap=1%"};
// The paper's eight combinations, its governor, and this project's (figure 12); devices under one
// host limit.
const std::vector<std::string> all_settings = {"staged",
                                               "staged+steer",
                                               "staged+coalesce",
                                               "staged+steer+coalesce",
                                               "monolithic",
                                               "monolithic+steer",
                                               "monolithic+coalesce",
                                               "monolithic+steer+coalesce",
                                               "split",
                                               "default+cap=1%",
                                               "default+cap=5%",
                                               "default+cap=25%",
                                               "staged+cap=1%+governor=backoff",
                                               "staged+cap=5%+governor=backoff",
                                               "staged+cap=25%+governor=backoff",
                                               "default",
                                               "default+cap=1%+governor=displaced",
                                               "default+cap=5%+governor=displaced",
                                               "default+cap=25%+governor=displaced",
                                               "default+loss=1%",
                                               "default+loss=5%",
                                               "default+loss=25%",
                                               "default+devices=1+limit=5%",
                                               "default+devices=2+limit=5%",
                                               "default+devices=4+limit=5%",
                                               "default+devices=8+limit=5%",
                                               "default+devices=16+limit=5%"};

// Runs under a host limit last 5 to 20 s, so only some victims have them, unless settings are
// named.
const std::vector<std::string> victims_beside_devices = {"single", "compute", "zstd"};

bool by_many_devices(const std::string& setting) {
  return setting.find("devices=") != std::string::npos;
}

bool is_beside_devices(const Victim& victim) {
  return std::find(victims_beside_devices.begin(), victims_beside_devices.end(), victim.name) !=
         victims_beside_devices.end();
}

// Idle time by cpuidle's states against that by /proc/stat.
ordered_json idle_states_of(const Figures& figures) {
  ordered_json json = {{"gap", json_of(figures.idle_gap)}, {"agree", nullptr}};
  // Cores that are never idle agree about nothing.
  if (figures.idle_gap.pairs > 0 && figures.mean_asleep_before >= asleep_least) {
    json["agree"] = std::abs(figures.idle_gap.mean) <= idle_gap_max;
  }
  return json;
}

// The loss as stolen time and pollution (the paper's figure 5).
ordered_json decomposed(const Figures& figures) {
  const double sum = figures.stolen.mean + figures.polluted.mean;
  return {{"stolen", json_of(figures.stolen)},
          {"polluted", json_of(figures.polluted)},
          {"sum", governor::rounded(sum)},
          {"loss", json_of(figures.loss)},
          {"sum_in_interval", figures.loss.contains(sum)}};
}

std::string problem_of(const Outcome& outcome) {
  if (!outcome.problem.empty()) return outcome.problem;
  if (outcome.figures.discarded == 0) return "no pair was measured in the time given";
  return fmt::format(
      "all {} pairs were discarded: the hypervisor took more than {:g} % of the time",
      outcome.figures.discarded, 100 * stolen_max);
}

const char* name_of(const Figures& figures) {
  if (figures.cut) return "cut";
  return figures.end == End::precise ? "precise" : "exhausted";
}

}  // namespace

Result<std::vector<Victim>> victims_of(const Wanted& wanted, const std::string& input,
                                       unsigned threads) {
  const std::vector<Victim> known = all_victims(input, threads);
  std::vector<std::string> names = wanted.victims;
  if (names.empty() && wanted.commands.empty()) {
    if (wanted.quick) {
      names = quick_victims;
    } else {
      for (const Victim& one : known) names.push_back(one.name);
    }
  }
  std::vector<Victim> victims;
  for (const std::string& name : names) {
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const Victim& one) { return one.name == name; });
    if (found == known.end()) {
      std::vector<std::string> all;
      all.reserve(known.size());
      for (const Victim& one : known) all.push_back(one.name);
      return Error{EINVAL, fmt::format("victim '{}' does not exist; there are {}, and --command "
                                       "adds your own",
                                       name, fmt::join(all, ", "))};
    }
    victims.push_back(*found);
  }
  for (const std::string& text : wanted.commands) {
    Result<Victim> victim = victim_of(text);
    if (!victim) return victim.error();
    victims.push_back(std::move(victim).value());
  }
  return victims;
}

Result<std::vector<Comparison>> comparisons_of(const Wanted& wanted,
                                               const std::vector<Victim>& victims,
                                               const StudyOptions& options) {
  const std::vector<std::string> sources =
      wanted.sources.empty() ? std::vector<std::string>{"ubench"} : wanted.sources;
  const std::vector<std::string>& settings = !wanted.settings.empty() ? wanted.settings
                                             : wanted.quick           ? quick_settings
                                                                      : all_settings;
  for (const std::string& setting : settings) {
    const auto config = setting_of(setting, options.config.server);
    if (!config) return config.error();
  }
  for (const std::string& source : sources) {
    const auto trace = source_of(source, options.seed);
    if (!trace) return trace.error();
  }
  const bool usual = wanted.settings.empty() && !wanted.quick;
  std::vector<Comparison> all;
  const std::string& first = settings.front();
  // The checks of the method come first: equal arms must not differ.
  for (const Victim& victim : victims) {
    for (const std::string& source : sources) {
      all.push_back({victim, source, Kind::a_a, first});
    }
  }
  for (const std::string& source : sources) {
    for (const std::string& setting : settings) {
      // Without sleep states one comparison shows that there is nothing to compare.
      if ((wanted.quick || !options.sleep_shown) && setting != first) continue;
      if (usual && by_many_devices(setting)) continue;  // Without a victim they keep a limit, too.
      all.push_back({{.name = "none"}, source, Kind::idle, setting});
    }
    for (const Victim& victim : victims) {
      if (!wanted.quick) {
        all.push_back({victim, source, Kind::presence, first});
        // A kernel has no pace, so there is none of no-ops at the pace of its reads.
        if (source != kernel_source) all.push_back({victim, source, Kind::no_op, first});
      }
      for (const std::string& setting : settings) {
        if (usual && by_many_devices(setting) && !is_beside_devices(victim)) continue;
        all.push_back({victim, source, Kind::service, setting});
      }
      all.push_back({victim, source, Kind::reverse, first});
    }
  }
  if (usual && wanted.sources.empty()) {
    // The paper's CPU programs beside its GPU programs; loops are no programs.
    for (const Victim& victim : victims) {
      for (const char* source : program_sources) {
        if (victim.loop.empty()) all.push_back({victim, source, Kind::service, first});
      }
    }
  }
  return all;
}

EqualArms equal_arms_of(const std::vector<Outcome>& outcomes) {
  EqualArms equal;
  for (const Outcome& one : outcomes) {
    if (one.comparison.kind != Kind::a_a || one.figures.wall.pairs < 2) continue;
    for (const Estimate& difference : {one.figures.inflation, one.figures.delay}) {
      ++equal.intervals;
      if (!difference.contains(0)) ++equal.beside_0;
    }
  }
  equal.by_chance = most_by_chance(equal.intervals);
  return equal;
}

ordered_json json_of(const EqualArms& equal) {
  return {{"intervals", equal.intervals},
          {"beside_0", equal.beside_0},
          {"by_chance", equal.by_chance},
          {"sound", equal.sound()}};
}

ordered_json json_of(const Outcome& outcome) {
  const Figures& figures = outcome.figures;
  ordered_json json = {{"victim", outcome.comparison.victim.name},
                       {"source", outcome.comparison.source},
                       {"comparison", name_of(outcome.comparison.kind)},
                       {"setting", outcome.comparison.setting},
                       {"problem", nullptr}};
  if (!outcome.problem.empty() || figures.wall.pairs == 0) {
    json["problem"] = problem_of(outcome);
    return json;
  }
  if (outcome.comparison.kind == Kind::idle && !figures.sleep_shown) {
    json["problem"] = no_sleep_states;
    return json;
  }
  json.update({{"pairs", figures.made},
               {"discarded", figures.discarded},
               {"end", name_of(figures)},
               {"occupied", json_of(figures.occupied)},
               {"run_delay", json_of(figures.delay)},
               {"inflation", json_of(figures.inflation)},
               {"wall", json_of(figures.wall)},
               {"rate_ratio", json_of(figures.rate)},
               {"interrupts", json_of(figures.interrupts)},
               {"asleep", json_of(figures.asleep)},
               {"asleep_before", governor::rounded(figures.mean_asleep_before)},
               {"asleep_beside", governor::rounded(figures.mean_asleep)},
               {"idle_beside", governor::rounded(figures.mean_idle)},
               {"polling_beside", governor::rounded(figures.mean_polling)},
               {"requests_per_s", governor::rounded(figures.mean_rate)},
               {"service_share", governor::rounded(figures.mean_service_share)},
               {"share", json_of(figures.share)},
               {"governor_share", governor::rounded(figures.mean_governor_share)},
               {"wakes_per_request", governor::rounded(figures.mean_wakes)}});
  if (outcome.comparison.kind == Kind::idle) json["idle_states"] = idle_states_of(figures);
  if (figures.tail.pairs > 0) json["tail"] = json_of(figures.tail);
  if (figures.cache_misses.pairs > 0) json["cache_misses"] = json_of(figures.cache_misses);
  if (figures.branch_misses.pairs > 0) json["branch_misses"] = json_of(figures.branch_misses);
  if (outcome.comparison.kind == Kind::service) json["decomposed"] = decomposed(figures);
  return json;
}

ordered_json result_of(const StudyOptions& options, const std::vector<Outcome>& outcomes,
                       const std::vector<Judged>& claims, bool complete) {
  ordered_json comparisons = ordered_json::array();
  for (const Outcome& one : outcomes) comparisons.push_back(json_of(one));
  ordered_json judged = ordered_json::array();
  ordered_json verdicts = {{"reproduced", 0},
                           {"not reproduced", 0},
                           {"cannot tell", 0},
                           {"not measurable here", 0},
                           {"not measured", 0}};
  for (const Judged& one : claims) {
    judged.push_back(json_of(one));
    verdicts[one.verdict] = verdicts[one.verdict].get<int>() + 1;
  }
  ordered_json points = ordered_json::array();
  for (const SettingPoint& one : points_of(outcomes)) points.push_back(json_of(one));
  ordered_json automatic = ordered_json::array();
  for (const AutoPoint& one : auto_points_of(outcomes)) automatic.push_back(json_of(one));
  const EqualArms equal = equal_arms_of(outcomes);
  return {{"kind", "result"},      {"schema", schema},           {"complete", complete},
          {"seed", options.seed},  {"threads", options.threads}, {"run_s", options.run_s},
          {"a_a", json_of(equal)}, {"verdicts", verdicts},       {"claims", judged},
          {"settings", points},    {"auto", automatic},          {"comparisons", comparisons},
          {"state", machine()}};  // A record of the laboratory names its machine by "machine".
}

}  // namespace k2k::labs::harm
