#include "labs/interference/harm/claims.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "claims_text.hpp"
#include "labs/claims_file.hpp"
#include "labs/interference/harm/intervals.hpp"

namespace k2k::labs::harm {

namespace {

constexpr const char* figure_names[] = {"loss",   "rate",      "less",       "settings",
                                        "rates",  "wakes",     "interrupts", "sleep",
                                        "sleeps", "inflation", "none"};

// The source of a claim about each of the paper's GPU programs (program_sources).
constexpr const char* every_program = "programs";

Result<Claim> claim_of(const toml::table& table) {
  Claim claim;
  const auto text = [&](const char* key) { return table[key].value_or(std::string()); };
  claim.id = text("id");
  claim.section = text("section");
  claim.says = text("says");
  claim.paper = text("paper");
  claim.figure = text("figure");
  claim.pick = text("pick");
  claim.source = text("source");
  claim.setting = text("setting");
  claim.victim = text("victim");
  claim.other = text("other");
  claim.counter = text("counter");
  claim.because = text("because");
  claim.ratio = table["ratio"].value_or(0.0);
  if (text("better") == "lower") claim.better = bench::Better::lower;
  const auto wrong = [&](const std::string& why) {
    return Error{EINVAL, fmt::format("claims.toml: claim '{}' {}", claim.id, why)};
  };
  if (claim.id.empty() || claim.section.empty() || claim.says.empty()) {
    return wrong("lacks its id, its section or its sentence");
  }
  if (std::find(std::begin(figure_names), std::end(figure_names), claim.figure) ==
      std::end(figure_names)) {
    return wrong(fmt::format("has the figure '{}'; there are {}", claim.figure,
                             fmt::join(figure_names, ", ")));
  }
  const bool counts = claim.counter == "cache_misses" || claim.counter == "branch_misses";
  if ((claim.figure == "inflation") != counts) {
    return wrong(
        "needs a counter, cache_misses or branch_misses, for the figure 'inflation' alone");
  }
  if (claim.figure == "none") {
    if (claim.because.empty()) return wrong("has no figure, and no reason for it");
  } else if (claim.ratio <= 0 || claim.source.empty() || claim.setting.empty()) {
    return wrong("lacks its ratio, its source or its setting");
  }
  return claim;
}

struct Found {
  std::optional<bench::Interval> ours = {};
  std::string note = {};
  bool measurable = true;
};

// The judgement of one claim over the outcomes of a study.
class Judge {
 public:
  Judge(const Claim& claim, const std::vector<Outcome>& outcomes)
      : claim_(claim), outcomes_(outcomes) {}

  Found find() const {
    if (claim_.figure == "loss") return picked(Kind::service, claim_.setting, &Figures::wall);
    if (claim_.figure == "rate") return picked(Kind::reverse, claim_.setting, &Figures::rate);
    if (claim_.figure == "interrupts") {
      return picked(Kind::service, claim_.setting, &Figures::interrupts);
    }
    if (claim_.figure == "sleep") {
      return sleeping(picked(Kind::idle, claim_.setting, &Figures::asleep_ratio));
    }
    if (claim_.figure == "sleeps") return sleeping(settings());
    if (claim_.figure == "less") return less();
    if (claim_.figure == "inflation") return inflation();
    return settings();
  }

 private:
  using Member = Estimate Figures::*;

  [[nodiscard]] std::vector<const Outcome*> of(Kind kind, const std::string& setting) const {
    std::vector<const Outcome*> all;
    for (const Outcome& one : outcomes_) {
      if (one.comparison.kind == kind && one.comparison.setting == setting &&
          is_of(one.comparison.source) && one.problem.empty() && one.figures.wall.pairs >= 2) {
        all.push_back(&one);
      }
    }
    return all;
  }
  [[nodiscard]] bool is_of(const std::string& source) const {
    if (claim_.source != every_program) return source == claim_.source;
    return std::find(program_sources.begin(), program_sources.end(), source) !=
           program_sources.end();
  }
  Found picked(Kind kind, const std::string& setting, Member member) const {
    const std::vector<const Outcome*> all = of(kind, setting);
    if (all.empty()) return {{}, missing(setting)};
    std::vector<bench::Interval> ratios;
    ratios.reserve(all.size());
    for (const Outcome* one : all) ratios.push_back(ratio_of(one->figures.*member));
    const bool programs = claim_.source == every_program;
    if (claim_.pick == "mean") {
      const char* of_what = programs ? "pairs of a victim and a source" : "victims";
      return {mean_of(ratios), fmt::format("{} {}", all.size(), of_what)};
    }
    const std::size_t most = most_of(ratios);
    const Comparison& which = all[most]->comparison;
    return {ratios[most], programs ? fmt::format("{} beside {}", which.victim.name, which.source)
                                   : which.victim.name};
  }
  // The figure, if this machine shows sleep states.
  Found sleeping(Found found) const {
    // Without sleep states a study has cores that are idle under its first setting only.
    for (const Outcome& one : outcomes_) {
      if (one.comparison.kind == Kind::idle && one.figures.wall.pairs > 0 &&
          !one.figures.sleep_shown) {
        return {{}, no_sleep_states, false};
      }
    }
    for (const Outcome* one : of(Kind::idle, claim_.setting)) {
      if (one->figures.mean_asleep_before < asleep_least) {
        return {{}, "other programs kept the cores awake", false};
      }
      found.note = fmt::format("{:.1f} % to {:.1f} %, idle by /proc/stat {:.1f} %",
                               100 * one->figures.mean_asleep_before,
                               100 * one->figures.mean_asleep, 100 * one->figures.mean_idle);
    }
    return found;
  }
  // What a hardware counter counts of all victims, beside the source against without requests; the
  // CPU time of one victim where there is no counter.
  Found inflation() const {
    if (Found counted = by_counter(); counted.ours) return counted;
    for (const Outcome* one : of(Kind::service, claim_.setting)) {
      if (one->comparison.victim.name != claim_.victim) continue;
      return {ratio_of(one->figures.inflation),
              fmt::format("CPU time of {}; no hardware counter", claim_.victim)};
    }
    return {{}, fmt::format("needs the victim {}", claim_.victim)};
  }
  Found by_counter() const {
    const Member member =
        claim_.counter == "cache_misses" ? &Figures::cache_misses : &Figures::branch_misses;
    std::vector<bench::Interval> ratios;
    for (const Outcome* one : of(Kind::service, claim_.setting)) {
      const Estimate& counted = one->figures.*member;
      if (counted.pairs >= 2) ratios.push_back(ratio_of(counted));
    }
    if (ratios.empty()) return {};
    return {mean_of(ratios), fmt::format("counted in user mode, {} victims", ratios.size())};
  }
  // One victim against another.
  Found less() const {
    const Outcome* first = nullptr;
    const Outcome* second = nullptr;
    for (const Outcome* one : of(Kind::service, claim_.setting)) {
      if (one->comparison.victim.name == claim_.victim) first = one;
      if (one->comparison.victim.name == claim_.other) second = one;
    }
    if (first == nullptr || second == nullptr) {
      return {{}, fmt::format("needs the victims {} and {}", claim_.victim, claim_.other)};
    }
    return {quotient_of(ratio_of(first->figures.wall), ratio_of(second->figures.wall)),
            fmt::format("{} against {}", claim_.victim, claim_.other)};
  }
  // One setting against another, over the victims that have both.
  Found settings() const {
    std::vector<bench::Interval> ratios;
    const Kind kind = claim_.figure == "sleeps" ? Kind::idle : Kind::service;
    const std::vector<const Outcome*> others = of(kind, claim_.other);
    for (const Outcome* one : of(kind, claim_.setting)) {
      const auto other = std::find_if(others.begin(), others.end(), [&](const Outcome* two) {
        return two->comparison.victim.name == one->comparison.victim.name;
      });
      if (other == others.end()) continue;
      const Figures& figures = one->figures;
      const Figures& against = (*other)->figures;
      if (claim_.figure == "settings") {
        ratios.push_back(quotient_of(ratio_of(figures.wall), ratio_of(against.wall)));
      } else {
        const Member level = claim_.figure == "wakes"    ? &Figures::wakes_level
                             : claim_.figure == "sleeps" ? &Figures::asleep_level
                                                         : &Figures::rate_level;
        if ((figures.*level).pairs < 2 || (against.*level).pairs < 2) continue;
        ratios.push_back(quotient_of(ratio_of(figures.*level), ratio_of(against.*level)));
      }
    }
    if (ratios.empty()) return {{}, missing(claim_.setting + "' and '" + claim_.other)};
    const std::string note =
        fmt::format("{} against {}, {} victims", claim_.setting, claim_.other, ratios.size());
    return {claim_.pick == "most" ? ratios[most_of(ratios)] : mean_of(ratios), note};
  }
  // The place of the largest effect.
  [[nodiscard]] std::size_t most_of(const std::vector<bench::Interval>& ratios) const {
    const bool lower = claim_.better == bench::Better::lower;
    std::size_t most = 0;
    for (std::size_t at = 1; at < ratios.size(); ++at) {
      if (lower ? ratios[at].mean < ratios[most].mean : ratios[at].mean > ratios[most].mean) {
        most = at;
      }
    }
    return most;
  }
  [[nodiscard]] std::string missing(const std::string& setting) const {
    return fmt::format("this study has no figures of the source {} under '{}'", claim_.source,
                       setting);
  }

  const Claim& claim_;
  const std::vector<Outcome>& outcomes_;
};

const char* name_of_verdict(bench::Verdict verdict) {
  switch (verdict) {
    case bench::Verdict::met:
      return "reproduced";
    case bench::Verdict::missed:
      return "not reproduced";
    case bench::Verdict::cannot_tell:
      return "cannot tell";
  }
  return "";
}

}  // namespace

Result<std::vector<Claim>> parse_claims(std::string_view text) {
  return read_claims<Claim>(text, claim_of);
}

Result<std::vector<Claim>> all_claims() { return parse_claims(claims_text); }

std::vector<Judged> judge_claims(const std::vector<Claim>& claims,
                                 const std::vector<Outcome>& outcomes) {
  std::vector<Judged> all;
  for (const Claim& claim : claims) {
    Judged judged{.claim = claim};
    if (claim.figure == "none") {
      judged.verdict = "not measurable here";
      judged.note = claim.because;
    } else {
      Found found = Judge(claim, outcomes).find();
      judged.note = std::move(found.note);
      judged.ours = found.ours;
      if (found.ours) {
        judged.verdict =
            name_of_verdict(bench::judge(*found.ours, claim.ratio, claim.better).verdict);
      } else {
        judged.verdict = found.measurable ? "not measured" : "not measurable here";
      }
    }
    all.push_back(std::move(judged));
  }
  return all;
}

nlohmann::ordered_json json_of(const Judged& judged) {
  nlohmann::ordered_json json = {{"id", judged.claim.id},     {"section", judged.claim.section},
                                 {"says", judged.claim.says}, {"paper", judged.claim.paper},
                                 {"verdict", judged.verdict}, {"target", nullptr},
                                 {"ours", nullptr},           {"note", judged.note}};
  if (judged.claim.ratio > 0) json["target"] = judged.claim.ratio;
  if (judged.ours) {
    json["ours"] = {{"low", judged.ours->low},
                    {"ratio", judged.ours->mean},
                    {"high", judged.ours->high},
                    {"pairs", judged.ours->rounds}};
  }
  return json;
}

}  // namespace k2k::labs::harm
