#include "labs/interference/harm/combinations.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include "labs/interference/governor/study.hpp"
#include "labs/interference/harm/intervals.hpp"

namespace k2k::labs::harm {

namespace {

using nlohmann::ordered_json;

constexpr const char* words_of_a_cap[] = {"cap=", "loss=", "governor=", "devices=", "limit="};

bool caps(const std::string& word) {
  return std::any_of(std::begin(words_of_a_cap), std::end(words_of_a_cap),
                     [&](const char* begin) { return word.starts_with(begin); });
}

// The outcomes of one source and setting, by victim.
using ByVictim = std::map<std::string, const Outcome*>;

struct Group {
  std::string source;
  std::string setting;
  ByVictim victims;
};

std::vector<Group> groups_of(const std::vector<Outcome>& outcomes) {
  std::vector<Group> groups;
  for (const Outcome& one : outcomes) {
    const Comparison& comparison = one.comparison;
    if (comparison.kind != Kind::service || !one.problem.empty() || one.figures.wall.pairs < 2) {
      continue;
    }
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& other) {
      return other.source == comparison.source && other.setting == comparison.setting;
    });
    if (group == groups.end()) {
      groups.push_back({comparison.source, comparison.setting, {}});
      group = groups.end() - 1;
    }
    group->victims.emplace(comparison.victim.name, &one);
  }
  return groups;
}

const Group* find(const std::vector<Group>& groups, const std::string& source,
                  const std::string& setting) {
  const auto found = std::find_if(groups.begin(), groups.end(), [&](const Group& one) {
    return one.source == source && one.setting == setting;
  });
  return found == groups.end() ? nullptr : &*found;
}

// The mean over the victims that both groups have, of one figure against the other's.
bench::Interval against(const Group& above, const Group& below, Estimate Figures::* figure) {
  std::vector<bench::Interval> ratios;
  for (const auto& [name, one] : above.victims) {
    const auto other = below.victims.find(name);
    if (other == below.victims.end()) continue;
    const Estimate& up = one->figures.*figure;
    const Estimate& down = other->second->figures.*figure;
    if (up.pairs < 2 || down.pairs < 2) continue;
    ratios.push_back(quotient_of(ratio_of(up), ratio_of(down)));
  }
  return ratios.empty() ? bench::Interval{} : mean_of(ratios);
}

Estimate mean_share(const ByVictim& victims) {
  Estimate mean;
  for (const auto& [name, one] : victims) {
    mean.low += one->figures.share.low;
    mean.mean += one->figures.share.mean;
    mean.high += one->figures.share.high;
    mean.pairs += one->figures.share.pairs;
  }
  const auto count = static_cast<double>(victims.size());
  mean.low /= count;
  mean.mean /= count;
  mean.high /= count;
  return mean;
}

bool beats(const SettingPoint& one, const SettingPoint& other) {
  const bool no_worse =
      one.wall.mean <= other.wall.mean && one.rate_to_base.mean >= other.rate_to_base.mean;
  return no_worse &&
         (one.wall.mean < other.wall.mean || one.rate_to_base.mean > other.rate_to_base.mean);
}

void find_front(std::vector<SettingPoint>& points) {
  for (SettingPoint& one : points) {
    if (!one.combination || one.rate_to_base.rounds == 0) continue;
    one.front = std::none_of(points.begin(), points.end(), [&](const SettingPoint& other) {
      return other.combination && other.source == one.source && other.rate_to_base.rounds != 0 &&
             beats(other, one);
    });
    one.dominates = one.setting != one.base && one.wall_to_base.high <= 1 &&
                    one.rate_to_base.low >= 1 &&
                    (one.wall_to_base.high < 1 || one.rate_to_base.low > 1);
  }
}

ordered_json json_of(const bench::Interval& interval) {
  if (interval.rounds == 0) return nullptr;
  return json_of(Estimate{interval.low, interval.mean, interval.high});
}

}  // namespace

std::string base_of(const std::string& setting) {
  std::string base;
  std::istringstream list(setting);
  for (std::string word; std::getline(list, word, '+');) {
    if (!caps(word)) base += (base.empty() ? "" : "+") + word;
  }
  return base.empty() ? "default" : base;
}

std::vector<SettingPoint> points_of(const std::vector<Outcome>& outcomes) {
  const std::vector<Group> groups = groups_of(outcomes);
  std::vector<SettingPoint> points;
  for (const Group& group : groups) {
    SettingPoint point{.source = group.source, .setting = group.setting};
    point.victims = group.victims.size();
    if (const Result<Crowd> crowd = crowd_of(group.setting); crowd) point.crowd = crowd.value();
    point.combination = base_of(group.setting) == group.setting;
    point.base = base_of(group.setting);
    if (point.combination) {
      point.base = find(groups, group.source, paper_default) != nullptr
                       ? paper_default
                       : std::find_if(groups.begin(), groups.end(), [&](const Group& one) {
                           return one.source == group.source && base_of(one.setting) == one.setting;
                         })->setting;
    }
    std::vector<bench::Interval> walls;
    for (const auto& [name, one] : group.victims) walls.push_back(ratio_of(one->figures.wall));
    point.wall = mean_of(walls);
    point.share = mean_share(group.victims);
    for (const auto& [name, one] : group.victims) {
      point.governor_share +=
          one->figures.mean_governor_share / static_cast<double>(group.victims.size());
    }
    if (const Group* const base = find(groups, group.source, point.base)) {
      point.wall_to_base = against(group, *base, &Figures::wall);
      point.rate_to_base = against(group, *base, &Figures::rate_level);
    }
    points.push_back(std::move(point));
  }
  find_front(points);
  return points;
}

ordered_json json_of(const SettingPoint& point) {
  ordered_json json = {{"source", point.source},
                       {"setting", point.setting},
                       {"base", point.base},
                       {"victims", point.victims},
                       {"wall", json_of(point.wall)},
                       {"wall_to_base", json_of(point.wall_to_base)},
                       {"rate_to_base", json_of(point.rate_to_base)},
                       {"share", governor::rounded(point.share.mean)},
                       {"governor_share", governor::rounded(point.governor_share)}};
  if (point.combination) {
    json["front"] = point.front;
    json["dominates"] = point.dominates;
  }
  if (point.crowd.limit > 0) {
    const double limit = point.crowd.limit;
    json["devices"] = point.crowd.devices;
    json["limit"] = limit;
    json["of_limit"] = json_of(
        Estimate{point.share.low / limit, point.share.mean / limit, point.share.high / limit});
    json["kept"] = point.share.high <= limit_slack * limit;
  }
  return json;
}

}  // namespace k2k::labs::harm
