#pragma once
// May this request spend host CPU now? One question, asked by the server and by the simulator.
//
//   decide()  ──▶ serve  at least one request, and on until `grant` of CPU time is spent; settle()
//             ──▶ wait   mask the source, arm the one timer for `until`, ask again by polling
//             ──▶ rest   another thread has that timer: go idle; if nobody came, ask at `until`
//
// Requests are delayed, never rejected: the device stalls when its outstanding requests are used up
// (HISS, section VI). Policies are pure: no thread, lock, clock or sensor of their own, and nothing
// is allocated on the path of a request. docs/design/governor.md puts the equation first.
//
// Threading: the caller serialises the calls for one Governor (a mutex that is held for tens of
// nanoseconds). A thread asks once a grant, not once a request: within a grant it compares two
// numbers of its own (lease.hpp). It may read the clock before it has the mutex: a `now` that is a
// little older than another thread's does no harm.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"

namespace k2k::governor {

using Tenant = std::uint32_t;  // Index into GovernorConfig::tenants.
inline constexpr Tenant tenants_max = 64;

enum class Verdict : std::uint8_t { serve, wait, rest };

struct Decision {
  Verdict verdict = Verdict::serve;
  bool mask = false;    // The tenant's doorbells need not interrupt until the next decision.
  bool more = false;    // serve: there is budget for another thread to help with a backlog.
  Nanoseconds grant{};  // serve: CPU time that may be spent before asking again.
  // serve: expected cost of a request, where the grant must not be overspent (hard mode).
  Nanoseconds predicted{1};
  Nanoseconds reserved{};  // serve: what was taken from the budget; to be handed to settle().
  Instant until{};         // wait, rest: ask again then.
};

// Circumstances of a question.
struct Ask {
  Tenant tenant = 0;
  // Expected cost of the next request, for hard mode; 0 = what the policy has learnt.
  Nanoseconds predicted{};
  // Does somebody else want the CPU time, that is: are all cores busy? Only `displaced` heeds it.
  bool contended = true;
  // It only looks for requests that others serve: nothing is reserved for it, and what others hold
  // in reserve is no debt.
  bool look = false;
};

// CPU time that was spent, to be charged.
struct Spent {
  Tenant tenant = 0;
  Nanoseconds cpu{};           // Measured service time plus the calibrated costs (costs.hpp).
  std::uint32_t requests = 0;  // Completed with it.
  std::uint32_t wakes = 0;     // Cores woken for it.
  bool contended = true;       // As in Ask, for most of the time.
};

// What the sensors saw of the CPU programs since the last sample (`auto`).
struct HostSample {
  // Time in which some task waited for a CPU, 0 to 1 (PSI "some"); negative = not available.
  double pressure = -1;
  // What a canary thread lost against its undisturbed rate, 0 to 1; negative = not available.
  double canary_loss = -1;
  // CPU time the service took, as a fraction of all cores, from outside the governor.
  double share = 0;
};

// What a new cap does with guarantees that it does not allow.
enum class Guarantees : std::uint8_t {
  must_fit,      // The cap is refused.
  may_conflict,  // The cap wins, and Report::conflicts says so: for a cap that somebody else sets.
};

// A promise to a tenant that the cap does not allow: the cap wins, and this says so.
struct Conflict {
  Tenant tenant = 0;
  double needed = 0;   // Fraction of all cores' CPU time that its guarantee takes.
  double granted = 0;  // What it has instead.
  std::string message;
};

struct TenantReport {
  double part = 0;          // Of all cores' CPU time: its own, without what others leave it.
  Nanoseconds throttled{};  // Time ordered to be waited.
  std::uint64_t waits = 0;  // Timers armed.
};

struct Report {
  double cap = 1;            // Now in force; fraction of all cores' CPU time.
  Nanoseconds throttled{};   // Time ordered to be waited, over all tenants.
  std::uint64_t waits = 0;   // Timers armed.
  std::uint64_t forced = 0;  // Requests served in debt because of the longest delay.
  std::vector<Conflict> conflicts = {};
  std::vector<TenantReport> tenants = {};  // As configured; empty without budgets.
};

class Governor {
 public:
  Governor() = default;
  Governor(const Governor&) = delete;
  Governor& operator=(const Governor&) = delete;
  virtual ~Governor() = default;

  // Expects ask.tenant to be configured.
  virtual Decision decide(Instant now, const Ask& ask) = 0;
  // Whom to ask for where nobody knows yet who asked, as before a look at the doorbells: the tenant
  // that may spend most, or will be served first.
  [[nodiscard]] virtual Tenant readiest(Instant) { return 0; }
  // Ends a decision to serve: `reserved` is given back, `spent` charged.
  virtual void settle(Instant now, Nanoseconds reserved, const Spent& spent) = 0;
  // Charges what happened outside a grant: interrupts, wakes, timers. Never refused.
  void charge(Instant now, const Spent& spent) { settle(now, {}, spent); }

  // Nothing is left to serve. Until then the source should stay masked and a timer wake the
  // thread; `now` = unmask at once.
  [[nodiscard]] virtual Instant unmask_at(Instant now) { return now; }

  // Does serving by polling keep the source masked? Otherwise each request interrupts.
  [[nodiscard]] virtual bool masks_source() const { return true; }
  // Service threads that have a use under the cap, at least 1. The caller lets no more serve at a
  // time: they are the k of the bound.
  [[nodiscard]] virtual std::uint32_t threads_wanted() const = 0;
  // Period of the accounting thread the policy needs; 0 = none. Each tick costs Costs::tick.
  [[nodiscard]] virtual Nanoseconds tick_period() const { return {}; }

  // The cap from now on, a fraction of all cores' CPU time; what was saved or is owed stays. For
  // `auto` it is the most that may be chosen. Errors: EINVAL as of validate() (config.hpp), a
  // guarantee above the cap among them unless it may, and where there is no cap; then nothing has
  // changed. Threads that wait should be woken to ask again: their timers were for the old cap.
  virtual Status set_cap(Instant now, double cap, Guarantees guarantees) = 0;

  // For policies that choose the cap by themselves; others ignore it.
  virtual void sample(Instant, const HostSample&) {}

  // Allocates; not for the path of a request.
  [[nodiscard]] virtual Report report(Instant now) = 0;
};

inline constexpr Nanoseconds no_limit{std::numeric_limits<std::int64_t>::max() / 4};

}  // namespace k2k::governor
