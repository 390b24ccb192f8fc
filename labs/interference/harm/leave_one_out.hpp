#pragma once
// The policy `auto` on victims that its constant was not taken from.
//
// `auto` estimates the loss of programs as the time that service takes, times a constant for cold
// caches (governor/loss_filter.hpp, `unseen`). Budgets measure that factor for each victim: its
// loss over the share of the service threads. For each victim the constant is then the geometric
// mean of the others' factors, and the victim's loss under `auto` is scaled to that constant: the
// cap that `auto` chooses is in inverse proportion to it.
//
// Threading: pure functions.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/verdict.hpp"
#include "labs/interference/harm/study.hpp"

namespace k2k::labs::harm {

// The loss may exceed the permitted loss by this part of the work.
inline constexpr double loss_slack = 0.005;
inline constexpr double rate_cut = 0.9;
// So many of the victims must keep it.
inline constexpr double victims_kept = 0.8;

struct LeftOut {
  std::string victim = {};
  double factor = 0;      // Its own, under budgets; 0: not measured.
  double constant = 0;    // From the others: the geometric mean of their factors, at least 1.
  Estimate loss = {};     // Of the work that it wanted to do, under `auto` as it is,
  double scaled_low = 0;  // and its ends if `auto` had used `constant`.
  double scaled_high = 0;
  bool kept = false;      // The whole interval is below the permitted loss,
  bool exceeded = false;  // or none of it is.
  // `auto` cut the accelerator's rate below `rate_cut` of what it has without a cap although the
  // victim lost less than half of the permitted loss: it throttled for somebody else's load.
  double rate = 0;  // Of the rate without a cap; 0: not measured.
  bool needless = false;
};

struct AutoPoint {
  std::string source = {};
  std::string setting = {};
  double loss_max = 0;
  std::vector<LeftOut> victims = {};

  [[nodiscard]] std::size_t kept() const;
  [[nodiscard]] std::size_t exceeded() const;
  [[nodiscard]] std::size_t needless() const;
  // Met if enough victims kept it, missed if too many exceeded it.
  [[nodiscard]] bench::Verdict verdict() const;
};

// Every setting with the word "loss=", by source. Victims with one thread are left out of the
// constants: beside idle cores they lose nothing, whatever service takes.
std::vector<AutoPoint> auto_points_of(const std::vector<Outcome>& outcomes);
nlohmann::ordered_json json_of(const AutoPoint& point);

}  // namespace k2k::labs::harm
