#pragma once
// Grants of CPU time, and the charges to the cap: the governor, its ledger, and the tenants.
//
//   renew()          settles the account and asks: a grant, or the moment to ask again at
//   request_grant()  the same for a request of one tenant; returns only whether it is admitted
//   settle()         charges the time that the thread spent, and gives the rest of its grant back
//
// The charge is the advance of the thread's CPU clock, so it includes service, halves, polling and
// context switches. The interrupt of a timer or doorbell is charged in addition, at its calibrated
// cost, and so are the interrupts behind requests, at their measured cost (interrupt_cost.hpp): one
// for each sleep of the thread while it served, or for each 128 KiB that it moved from or to a
// disk. Where the clocks of threads do not include interrupts, a thread that kept its core is
// charged the time in which it did not run, too.
//
// Nothing sleeps here, and time enters through an interface (clocks.hpp), so tests replay a run.
//
// Threading: all members from anywhere, under one lock that is held for tens of nanoseconds; an
// account belongs to the calling thread.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "governor/config.hpp"
#include "governor/loss_filter.hpp"
#include "server/account/stats.hpp"
#include "server/govern/clocks.hpp"
#include "server/govern/grant_log.hpp"
#include "server/govern/service_account.hpp"
#include "server/govern/tenant_accounts.hpp"

namespace k2k::server {

// The readings of the thread of `auto` since the last sample.
struct SensorReading {
  double pressure = -1;  // As in governor::HostSample.
  governor::CanarySight canary;
  Nanoseconds cpu{};  // Its own.
};

// What interrupts behind requests are charged from now on; see InterruptCost.
struct InterruptCharge {
  Nanoseconds each = governor::Costs().interrupt;
  double part_of_gap = 0;
  const char* account = "";  // GovernorStats::interrupts.
};

class Grants {
 public:
  // A policy, ready to be put in force.
  struct Rule {
    std::unique_ptr<governor::Governor> governor;  // nullptr: no cap.
    TenantBudgets tenants;
    std::function<bool(Instant)> contended;  // Empty: always.
    std::string sensors;                     // GovernorStats::sensors.
  };
  enum class Outcome : std::uint8_t { no_cap, open, wait };
  struct Answer {
    Outcome outcome = Outcome::no_cap;
    Instant until{};        // wait: ask again then.
    bool refunded = false;  // Waiting threads should ask again for the returned tokens.
  };
  struct Rest {
    std::optional<Instant> until;
    bool refunded = false;  // As in Answer.
  };
  struct Usage {
    Nanoseconds charged{};         // Without the limit keeper's part.
    std::uint64_t waits = 0;       // Of the governor's report.
    std::uint64_t interrupts = 0;  // Behind requests.
  };

  explicit Grants(const Clocks& clocks = real_clocks()) : clocks_(clocks) {}

  // Accounts start again: earlier CPU time is no debt. `rule` receives the former rule. Allocates
  // no memory. Returns the epoch of grants from now on.
  std::uint32_t replace(Rule& rule);
  // Savings and debts stay. Errors: as Governor::set_cap().
  Status set_cap(double cap);

  // `woken`: an interrupt has just ended a sleep of the thread.
  Answer renew(ServiceAccount& account, bool woken);
  // Returns Answer::refunded.
  bool settle(ServiceAccount& account, bool woken);
  // As settle(). `Rest::until` is the time until which the source must stay masked, if it must.
  Rest rest_masked(ServiceAccount& account);
  // With budgets of tenants: returns true if a request of `tenant` may be served now. Expects an
  // account with statistics. Looks up the tenant's budget under the lock: another rule may have
  // fewer budgets.
  bool request_grant(ServiceAccount& account, std::uint32_t tenant);

  // A call begins that may keep the thread: the interrupts that end its sleeps count.
  void begin_sleeping_call(ServiceAccount& account) const;

  // Charges a call of this tenant for the work of kernel threads, at most `at_most`; see
  // kernel_work.hpp.
  void charge_kernel_threads(std::uint32_t tenant, Nanoseconds at_most);
  void charge_keeper(Nanoseconds cpu);
  void set_interrupts(const InterruptCharge& charge);

  // For the sensors' thread.
  void sample(const SensorReading& reading);
  void tick(Nanoseconds cpu);
  // Charges the sensors' own CPU time if the policy treats it like service.
  void charge_sensor(Nanoseconds cpu, bool contended);
  // Threads that are within grants now.
  [[nodiscard]] std::uint32_t serving() const;
  // Time within grants, summed over threads.
  [[nodiscard]] Nanoseconds granted(Instant from, Instant to) const;

  [[nodiscard]] const TenantAccounts& tenants() const { return tenants_; }
  [[nodiscard]] Usage usage() const;
  [[nodiscard]] GovernorStats stats() const;

 private:
  // These expect mutex_ held, and a governor.
  bool settle_locked(ServiceAccount& account, Instant moment, bool contended, bool woken);
  void settle_tenants(ServiceAccount& account, Instant moment, Nanoseconds clock,
                      Nanoseconds interrupts, bool contended, bool woken);
  // The CPU time of interrupts behind the account's requests since its last charge, until `clock`
  // of its thread.
  Nanoseconds interrupts_of(ServiceAccount& account, Instant moment, Nanoseconds clock, bool woken);
  void pay(Instant moment, Nanoseconds reserved, const governor::Spent& spent);
  governor::Decision decide(ServiceAccount& account, Instant moment, bool contended);
  [[nodiscard]] bool contended(Instant moment) const {
    return !rule_.contended || rule_.contended(moment);
  }

  const Clocks& clocks_;
  const governor::Costs costs_;
  TenantAccounts tenants_;
  mutable std::mutex mutex_;  // Guards the members below.
  Rule rule_;
  GrantLog log_;
  governor::LossFilter filter_;
  GovernorStats counted_;          // Counters of this class; the governor has the others.
  Nanoseconds charged_{};          // The total, including the parts below.
  Nanoseconds free_{};             // Not charged: no other program wanted it.
  Nanoseconds sensors_cpu_{};      // Of the sensors' thread and the limit keeper.
  Nanoseconds keeper_cpu_{};       // Of the limit keeper alone.
  Nanoseconds kernel_threads_{};   // Charged for their possible work.
  Nanoseconds interrupts_{};       // Of interrupts behind requests.
  std::uint64_t interrupted_ = 0;  // These interrupts.
  InterruptCharge interrupt_charge_;
  Nanoseconds sampled_{};    // charged_ at the last sample,
  Instant sampled_at_{};     // which was then.
  std::uint32_t epoch_ = 0;  // Counts governors.
};

}  // namespace k2k::server
