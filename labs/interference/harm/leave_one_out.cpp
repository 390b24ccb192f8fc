#include "labs/interference/harm/leave_one_out.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "governor/loss_filter.hpp"
#include "labs/interference/governor/study.hpp"
#include "labs/interference/harm/combinations.hpp"
#include "labs/interference/harm/intervals.hpp"
#include "labs/interference/options.hpp"

namespace k2k::labs::harm {

namespace {

using nlohmann::ordered_json;

constexpr const char* loss_word = "loss=";

bool has_figures(const Outcome& one) {
  return one.comparison.kind == Kind::service && one.problem.empty() && one.figures.wall.pairs >= 2;
}

// The part of the wanted work that is lost, of a logarithm of wall time.
double loss_of(double wall) { return 1 - std::exp(-wall); }

// The budget alone: "default+cap=5%".
bool is_budget(const std::string& setting) {
  return setting.find("cap=") != std::string::npos &&
         setting.find("governor=") == std::string::npos &&
         setting.find("limit=") == std::string::npos;
}

// The value of the word "loss=", as a fraction; 0 without it.
double loss_max_of(const std::string& setting) {
  const std::size_t at = setting.find(loss_word);
  if (at == std::string::npos) return 0;
  const std::size_t begin = at + std::string(loss_word).size();
  std::uint32_t permille = 0;
  const std::string text = setting.substr(begin, setting.find('+', begin) - begin);
  return read_real_cap(text, permille) ? permille / 1000.0 : 0;
}

// The same victim under the same setting without its cap, or nullptr.
const Outcome* without_cap(const std::vector<Outcome>& outcomes, const Comparison& comparison) {
  const auto found = std::find_if(outcomes.begin(), outcomes.end(), [&](const Outcome& one) {
    return has_figures(one) && one.comparison.source == comparison.source &&
           one.comparison.victim.name == comparison.victim.name &&
           one.comparison.setting == base_of(comparison.setting) &&
           one.figures.rate_level.pairs != 0;
  });
  return found == outcomes.end() ? nullptr : &*found;
}

// The loss over the share, by victim: the geometric mean over the budgets that were measured.
std::map<std::string, double> factors_of(const std::vector<Outcome>& outcomes,
                                         const std::string& source) {
  std::map<std::string, std::vector<double>> logarithms;
  for (const Outcome& one : outcomes) {
    const Comparison& comparison = one.comparison;
    if (!has_figures(one) || comparison.source != source || !is_budget(comparison.setting)) {
      continue;
    }
    const double loss = loss_of(one.figures.wall.mean);
    if (comparison.victim.one_thread || loss <= 0 || one.figures.share.mean <= 0) continue;
    logarithms[comparison.victim.name].push_back(std::log(loss / one.figures.share.mean));
  }
  std::map<std::string, double> factors;
  for (const auto& [victim, all] : logarithms) {
    double sum = 0;
    for (const double one : all) sum += one;
    factors[victim] = std::exp(sum / static_cast<double>(all.size()));
  }
  return factors;
}

// At least 1: a second of service takes a second.
double constant_without(const std::map<std::string, double>& factors, const std::string& victim) {
  double sum = 0;
  double count = 0;
  for (const auto& [name, factor] : factors) {
    if (name == victim) continue;
    sum += std::log(factor);
    ++count;
  }
  return count == 0 ? k2k::governor::LossFilter::unseen : std::max(1.0, std::exp(sum / count));
}

std::size_t number_of(const std::vector<LeftOut>& victims, bool LeftOut::* what) {
  return static_cast<std::size_t>(std::count_if(victims.begin(), victims.end(),
                                                [what](const LeftOut& one) { return one.*what; }));
}

}  // namespace

std::size_t AutoPoint::kept() const { return number_of(victims, &LeftOut::kept); }
std::size_t AutoPoint::exceeded() const { return number_of(victims, &LeftOut::exceeded); }
std::size_t AutoPoint::needless() const { return number_of(victims, &LeftOut::needless); }

bench::Verdict AutoPoint::verdict() const {
  const auto enough = [this](std::size_t count) {
    return static_cast<double>(count) >= victims_kept * static_cast<double>(victims.size());
  };
  if (enough(kept())) return bench::Verdict::met;
  return enough(victims.size() - exceeded()) ? bench::Verdict::cannot_tell : bench::Verdict::missed;
}

std::vector<AutoPoint> auto_points_of(const std::vector<Outcome>& outcomes) {
  std::vector<AutoPoint> points;
  for (const Outcome& one : outcomes) {
    const Comparison& comparison = one.comparison;
    const double loss_max = loss_max_of(comparison.setting);
    if (!has_figures(one) || loss_max == 0) continue;
    auto point = std::find_if(points.begin(), points.end(), [&](const AutoPoint& other) {
      return other.source == comparison.source && other.setting == comparison.setting;
    });
    if (point == points.end()) {
      points.push_back({comparison.source, comparison.setting, loss_max, {}});
      point = points.end() - 1;
    }
    const std::map<std::string, double> factors = factors_of(outcomes, comparison.source);
    const auto own = factors.find(comparison.victim.name);
    LeftOut left{.victim = comparison.victim.name};
    left.factor = own == factors.end() ? 0 : own->second;
    left.constant = constant_without(factors, left.victim);
    const Estimate& wall = one.figures.wall;
    left.loss = {loss_of(wall.low), loss_of(wall.mean), loss_of(wall.high), wall.pairs};
    const double scale = k2k::governor::LossFilter::unseen / left.constant;
    left.scaled_low = left.loss.low * scale;
    left.scaled_high = left.loss.high * scale;
    left.kept = left.scaled_high <= loss_max + loss_slack;
    left.exceeded = left.scaled_low > loss_max + loss_slack;
    if (const Outcome* const base = without_cap(outcomes, comparison)) {
      left.rate = std::exp(one.figures.rate_level.mean - base->figures.rate_level.mean);
      left.needless = left.loss.high < loss_max / 2 && left.rate < rate_cut;
    }
    point->victims.push_back(left);
  }
  return points;
}

ordered_json json_of(const AutoPoint& point) {
  using governor::rounded;
  ordered_json victims = ordered_json::array();
  for (const LeftOut& one : point.victims) {
    victims.push_back({{"victim", one.victim},
                       {"factor", nullptr},
                       {"constant", rounded(one.constant)},
                       {"loss", json_of(one.loss)},
                       {"scaled_low", rounded(one.scaled_low)},
                       {"scaled_high", rounded(one.scaled_high)},
                       {"kept", one.kept},
                       {"exceeded", one.exceeded},
                       {"rate_to_base", nullptr},
                       {"needless", one.needless}});
    if (one.rate > 0) victims.back()["rate_to_base"] = rounded(one.rate);
    if (one.factor > 0) victims.back()["factor"] = rounded(one.factor);
  }
  return {{"source", point.source},       {"setting", point.setting},
          {"loss_max", point.loss_max},   {"assumed", k2k::governor::LossFilter::unseen},
          {"kept", point.kept()},         {"exceeded", point.exceeded()},
          {"of", point.victims.size()},   {"verdict", bench::name_of(point.verdict())},
          {"needless", point.needless()}, {"victims", victims}};
}

}  // namespace k2k::labs::harm
