#pragma once
// The policy `auto`: the budget with a cap that a controller chooses from samples of the host
// (cap_controller.hpp). A guarantee that this cap does not allow is a conflict of the report.

#include "governor/budget.hpp"
#include "governor/cap_controller.hpp"

namespace k2k::governor {

class Automatic final : public Budget {
 public:
  // Expects a valid configuration; its cap is the upper bound of the controller.
  Automatic(const GovernorConfig& config, Instant now)
      : Budget(config, now),
        limits_(config),
        controller_(
            {.loss_max = config.loss_max, .cap_min = config.cap_min, .cap_max = config.cap}) {
    follow(now);
  }

  void sample(Instant now, const HostSample& sample) override {
    controller_.update(sample);
    follow(now);
  }

  Status set_cap(Instant now, double cap, Guarantees guarantees) override {
    GovernorConfig wanted = with_cap(limits_, cap, guarantees);
    if (Status status = validate(wanted); !status) return status;
    limits_.cap = cap;
    controller_.set_cap_max(cap);
    follow(now);
    return {};
  }

 private:
  void follow(Instant now) { apply_cap(now, controller_.cap()); }

  GovernorConfig limits_;  // As configured; its cap is the bound, Budget's cap the one in force.
  CapController controller_;
};

}  // namespace k2k::governor
