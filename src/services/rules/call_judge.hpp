#pragma once
// Judges the requests of a bundle: the policy (services/policy.hpp), and the rules of `io` or of a
// policy file. Requests of one call that follow each other share what its number decides.
//
// Threading: one thread.

#include <cerrno>
#include <cstdint>
#include <optional>

#include "router/door/files.hpp"
#include "services/nested.hpp"
#include "services/policy.hpp"
#include "services/request.hpp"
#include "services/rules/call_rules.hpp"
#include "services/rules/judgements.hpp"

namespace k2k::services {

class CallJudge {
 public:
  // `rules` may be null: they permit every call, and no refusal is written to the audit log. All
  // outlive this. `hides_memory`: that of the backend's DeviceInfo, which a lone call would fetch
  // from memory. `judgements`: made with the same arguments; null: each call's number is looked up.
  // `parts`: judges what calls name by pointers in memory; null: where the rules name memory, such
  // calls are refused.
  CallJudge(const backend::Backend& backend, bool hides_memory, const router::Files& files,
            CallRules* rules, Openness openness, const Judgements* judgements = nullptr,
            const PartJudge* parts = nullptr)
      : backend_(&backend),
        files_(&files),
        rules_(rules),
        parts_(parts),
        judgements_(openness == Openness::any ? judgements : nullptr),
        openness_(openness),
        hides_memory_(hides_memory) {}

  // 0, or the negative errno of the answer: admit()'s, or that of the rules. Sets request.row to -1
  // if the rules make the call: only a thread that may wait makes it. Sets request.parts if parts
  // are judged. Expects the row of the request's number.
  std::int64_t operator()(Request& request) {
    const Judgement* judgement = judgements_ == nullptr ? nullptr : judgements_->of(request.row);
    if (judgement == nullptr) judgement = &look_up(request);
    if (judgement->by_rules) [[unlikely]]
      return judge_by_rules(request, judgement->admission);
    return admit(request, judgement->admission, *backend_, *files_);
  }

 private:
  const Judgement& look_up(const Request& request) {
    if (!number_ || *number_ != request.number) {
      number_ = request.number;
      last_ = {request.number, request.row, openness_, hides_memory_, rules_};
    }
    return last_;
  }

  std::int64_t judge_by_rules(Request& request, const Admission& admission) {
    if (const std::int64_t refused = rules_->judge(request); refused != 0) return refused;
    const std::int64_t beyond = rules_->judge_memory(request, *backend_, files_->registered());
    if (beyond != 0) return beyond;
    if (rules_->judges_parts_of(request.number)) {
      if (parts_ == nullptr || request.row < 0) return -EACCES;
      request.parts = parts_;
    }
    const std::int64_t value = admit(request, admission, *backend_, *files_);
    if (value == -EPERM || value == -ENOSYS) rules_->refused(request, value);
    if (value == 0 && rules_->confines(request.number)) request.row = -1;
    return value;
  }

  const backend::Backend* backend_;
  const router::Files* files_;
  CallRules* rules_;
  const PartJudge* parts_;
  const Judgements* judgements_;  // May be null.
  Openness openness_;
  bool hides_memory_;
  std::optional<std::uint16_t> number_;  // Of the last request that `judgements_` does not know.
  Judgement last_;                       // Of its call.
};

}  // namespace k2k::services
