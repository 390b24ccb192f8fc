#pragma once
// The policy `displaced`: the budget, charged only for CPU time that other programs wanted.
//
// While a core is idle, service takes nothing from a CPU program and is free. It comes in small
// grants, because the core may become busy at any moment. A free grant that ends while all cores
// are busy may become a debt; a debt beyond a burst must be paid off first. Free service costs
// sleep, so wake-ups of cores have a budget of their own. After that is used up, the source stays
// masked, and one timer collects the requests that arrive meanwhile (HISS, sections
// IV-B and V-E: sleep residency falls from 86 to 12 % if each request wakes a core).
//
// The caller reports whether all cores are busy. A study measured 9 to 17 times the throughput of
// the plain budget at the same cap, with cores that are busy 75 to 90 % of the time.

#include "governor/budget.hpp"

namespace k2k::governor {

// The period of checks for idle cores while all cores are busy: the configured period, or as often
// as 2 % of the budget pay for.
Nanoseconds idle_check_of(const GovernorConfig& config);

class Displaced final : public Budget {
 public:
  // Expects a valid configuration.
  Displaced(const GovernorConfig& config, Instant now);

  Decision decide(Instant now, const GrantRequest& request) override;
  void settle(Instant now, Nanoseconds reserved, const Spent& spent) override;
  Status set_cap(Instant now, double cap, Guarantees guarantees) override;
  [[nodiscard]] Instant unmask_at(Instant now) override;
  // Idle cores may serve beyond the cap.
  [[nodiscard]] std::uint32_t threads_wanted() const override { return config().threads; }

 private:
  void refill_wakes(Instant now);

  double wakes_;  // Remaining; may be below 0.
  Instant wakes_at_;
};

}  // namespace k2k::governor
