#pragma once
// Judges the requests of a bundle: the policy (services/policy.hpp), and the rules of a policy file
// if there is one. Requests of one call that follow each other share what its number decides.
//
// Threading: one thread.

#include <cerrno>
#include <cstdint>
#include <optional>

#include "services/policy.hpp"
#include "services/request.hpp"
#include "services/rules/call_rules.hpp"

namespace k2k::services {

class CallJudge {
 public:
  // `rules` is null without a policy file. All outlive this. `hides_memory`: that of the backend's
  // DeviceInfo, which a lone call would fetch from memory.
  CallJudge(const backend::Backend& backend, bool hides_memory, const router::Files& files,
            CallRules* rules, Openness openness)
      : backend_(&backend),
        files_(&files),
        rules_(rules),
        openness_(openness),
        hides_memory_(hides_memory) {}

  // 0, or the negative errno of the answer: admit()'s, or that of the rules. Sets request.row to -1
  // if the rules make the call: only a thread that may wait makes it. Expects the row of the
  // request's number.
  std::int64_t operator()(Request& request) {
    if (!number_ || *number_ != request.number) look_up(request);
    if (by_rules_) [[unlikely]]
      return judge_by_rules(request);
    return admit(request, admission_, *backend_, *files_);
  }

 private:
  void look_up(const Request& request) {
    number_ = request.number;
    admission_ = admission_of(request.number, request.row, openness_, hides_memory_);
    // The rules have no say if they permit the call whatever its arguments are, and the policy
    // refuses it for none: a refusal by EPERM goes to the audit log.
    by_rules_ = rules_ != nullptr && (!rules_->permits_all(request.number) ||
                                      admission_.refusal != 0 || admission_.by_arguments);
  }

  std::int64_t judge_by_rules(Request& request) {
    if (const std::int64_t refused = rules_->judge(request); refused != 0) return refused;
    const std::int64_t value = admit(request, admission_, *backend_, *files_);
    if (value == -EPERM) rules_->refused(request, value);
    if (value == 0 && rules_->confines(request.number)) request.row = -1;
    return value;
  }

  const backend::Backend* backend_;
  const router::Files* files_;
  CallRules* rules_;
  Openness openness_;
  bool hides_memory_;
  bool by_rules_ = false;
  std::optional<std::uint16_t> number_;  // Of the last request.
  Admission admission_;                  // Of its call.
};

}  // namespace k2k::services
