#pragma once
// What the policy `any` and the rules of `io` or of a policy file decide by the number of a call
// alone, for each row of the table: found once, when a server starts. A lone call finds all of it
// in one line of the cache.
//
// Threading: constant once made.

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "calls/rows.hpp"
#include "services/policy.hpp"
#include "services/rules/call_rules.hpp"

namespace k2k::services {

// What a call's number decides. `rules` may be null: they permit every call. They have no say if
// they permit the call whatever its arguments are, and the policy refuses it for none: a refusal
// goes to the audit log.
struct Judgement {
  Judgement() = default;
  Judgement(std::uint16_t number, std::int16_t row, Openness openness, bool hides_memory,
            const CallRules* rules)
      : admission(admission_of(number, row, openness, hides_memory)),
        by_rules(rules != nullptr && (!rules->permits_all(number) || admission.refusal != 0 ||
                                      admission.by_arguments)) {}

  Admission admission;
  bool by_rules = false;
};

// The rows of the calls that pass without a judgement under the policy `any` and the rules,
// whatever their arguments are.
class OpenRows {
 public:
  OpenRows(bool hides_memory, const CallRules* rules) {
    if (hides_memory) return;
    for (int row = 0; row < calls::row_count; ++row) {
      const std::uint16_t number = calls::shapes[row].number;
      const bool open = calls::is_open(row) && !arguments_decide(number);
      rows_[static_cast<std::size_t>(row)] =
          open && (rules == nullptr || rules->permits_all(number));
    }
  }
  [[nodiscard]] bool has(std::int16_t row) const {
    return row >= 0 && rows_[static_cast<std::size_t>(row)];
  }

 private:
  std::bitset<calls::row_count> rows_;
};

class Judgements {
 public:
  // Of no call.
  Judgements() = default;
  // Throws std::bad_alloc.
  Judgements(bool hides_memory, const CallRules* rules) {
    rows_.reserve(calls::row_count);
    for (std::int16_t row = 0; row < calls::row_count; ++row) {
      rows_.push_back({{calls::shapes[row].number, row, Openness::any, hides_memory, rules}});
    }
  }
  // Nullptr: not known here.
  [[nodiscard]] const Judgement* of(std::int16_t row) const {
    const auto index = static_cast<std::size_t>(row);  // -1: no row.
    return index < rows_.size() ? &rows_[index].judgement : nullptr;
  }

 private:
  struct alignas(64) Line {
    Judgement judgement;
  };
  std::vector<Line> rows_;
};

}  // namespace k2k::services
