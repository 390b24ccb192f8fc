#pragma once
// The policy `none`: serves every request at once. The reference for the other policies.

#include <cerrno>

#include "governor/config.hpp"

namespace k2k::governor {

class Unlimited final : public Governor {
 public:
  explicit Unlimited(const GovernorConfig& config) : threads_(config.threads) {}

  Decision decide(Instant, const GrantRequest&) override {
    return {.verdict = Verdict::serve, .more = true, .grant = no_limit};
  }
  void settle(Instant, Nanoseconds, const Spent&) override {}
  [[nodiscard]] bool masks_source() const override { return false; }
  [[nodiscard]] std::uint32_t threads_wanted() const override { return threads_; }
  Status set_cap(Instant, double, Guarantees) override {
    return Error{EINVAL, "governor: the policy 'none' has no cap to set; choose 'budget'"};
  }
  [[nodiscard]] Report report(Instant) override { return {}; }

 private:
  std::uint32_t threads_;
};

}  // namespace k2k::governor
