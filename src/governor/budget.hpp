#pragma once
// The policy `budget`: a token bucket of CPU time, with debt.
//
//   level >  need   serve, up to a slice; the slice is taken at once; settle() corrects it by the
//                   measured time, and may leave a debt
//   level <= need   mask the source, one timer for (q + need - level) / flow, then drain by polling
//
// need is 0, or in hard mode the predicted cost of a request: then only mispredictions cause debt.
// With rate r = cap x cores, bursts B, k threads and a longest service Smax, in any time T
//
//   CPU time spent  <=  r T + B + k Smax          (docs/design/governor.md proves it)
//
// unless the longest delay forces a request through, which Report::forced counts.
//
// A slice is q / k: all threads may take part in a batch, and no thread serves with the grant of
// another.

#include <cstdint>
#include <vector>

#include "governor/buckets.hpp"
#include "governor/config.hpp"
#include "governor/costs.hpp"
#include "governor/guaranteed_parts.hpp"

namespace k2k::governor {

class Budget : public Governor {
 public:
  // Expects a valid configuration.
  Budget(const GovernorConfig& config, Instant now);

  Decision decide(Instant now, const GrantRequest& request) override;
  void settle(Instant now, Nanoseconds reserved, const Spent& spent) override;
  [[nodiscard]] std::uint32_t threads_wanted() const override { return useful_threads(config_); }
  [[nodiscard]] Report report(Instant now) override;
  [[nodiscard]] Tenant readiest(Instant now) override;

  Status set_cap(Instant now, double cap, Guarantees guarantees) override;

  [[nodiscard]] double cap() const { return config_.cap; }
  [[nodiscard]] double burst_total() const { return buckets_.burst_total(); }
  // Tokens in nanoseconds of CPU time; below 0: debt.
  [[nodiscard]] double level(Instant now, Tenant tenant);
  // The reserve of hard mode for a request of unknown cost.
  [[nodiscard]] Nanoseconds predicted(Tenant tenant) const;

 protected:
  // A thread in debt asks again after this time, even if it may still be in debt.
  void retry_within(Nanoseconds time) { wait_max_ = time; }
  // Without a check of guarantees: guarantees above the cap become conflicts of the report. Expects
  // a permitted cap.
  void apply_cap(Instant now, double cap);
  // The tenant was served without a check of its budget.
  void served(Tenant tenant) { states_[tenant].waits = false; }
  // In debt by more than a burst.
  [[nodiscard]] bool deep_in_debt(Instant now, Tenant tenant);
  [[nodiscard]] const GovernorConfig& config() const { return config_; }
  // Learns the cost of requests, whether or not it is charged.
  void learn(const Spent& spent);
  void credit(Instant now, Tenant tenant, Nanoseconds reserved, Nanoseconds spent);
  void hasten(Instant now, Tenant tenant);

 private:
  struct State {
    bool waits = false;      // Requests exist and are not served.
    Instant denied_since{};  // While it waits.
    Instant until{};         // While it waits: the timer.
    RequestCost cost;
    Nanoseconds throttled{};
    std::uint64_t timers = 0;
  };

  // Takes `tokens`; `need` as of needed().
  Decision serve(Tenant tenant, double tokens, double need);
  Decision wait(Instant now, Tenant tenant, double missing);
  [[nodiscard]] double needed(const GrantRequest& request) const;
  // Adapts guarantees in requests per second to the measured cost.
  void review(Instant now);
  void share();

  GovernorConfig config_;
  Nanoseconds slice_{};
  Nanoseconds wait_max_ = no_limit;
  Buckets buckets_;
  std::vector<State> states_;
  GuaranteedParts guaranteed_;
  std::uint64_t forced_ = 0;
};

}  // namespace k2k::governor
