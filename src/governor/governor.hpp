#pragma once
// Decides whether a request may use host CPU time now. The server and the simulator call the same
// interface.
//
//   decide()  ──▶ serve  at least one request, until `grant` of CPU time is spent; then settle()
//             ──▶ wait   mask the source, set the one timer to `until`, then ask again by polling
//             ──▶ rest   another thread has that timer: go idle, and ask again at `until`
//
// Requests are delayed, never rejected: the device stalls when its outstanding requests are used up
// (HISS, section VI). Policies are pure: they have no thread, lock, clock or sensor of their own,
// and allocate nothing on the path of a request. docs/design/governor.md begins with the equation.
//
// Threading: the caller serialises the calls for one Governor (a mutex that is held for tens of
// nanoseconds). A thread calls it once per grant, not once per request: within a grant it compares
// two numbers of its own (lease.hpp). It may read the clock before it has the mutex: a `now` that
// is a little older than another thread's does no harm.

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
  bool more = false;    // serve: the budget suffices for another thread to help with a backlog.
  Nanoseconds grant{};  // serve: CPU time that may be spent before the next decision.
  // serve: expected cost of a request, if the grant must not be exceeded (hard mode).
  Nanoseconds predicted{1};
  Nanoseconds reserved{};  // serve: amount taken from the budget; to be passed to settle().
  Instant until{};         // wait, rest: ask again then.
};

// The circumstances of a decision.
struct GrantRequest {
  Tenant tenant = 0;
  // Expected cost of the next request, for hard mode; 0: the learnt cost.
  Nanoseconds predicted{};
  // Other programs want the CPU time: all cores are busy. Only `displaced` uses this.
  bool contended = true;
  // The thread only looks for requests that others serve: nothing is reserved for it, and reserves
  // of other threads are no debt.
  bool look = false;
};

// CPU time that was spent, to be charged.
struct Spent {
  Tenant tenant = 0;
  Nanoseconds cpu{};           // Measured service time plus the calibrated costs (costs.hpp).
  std::uint32_t requests = 0;  // Completed with it.
  std::uint32_t wakes = 0;     // Cores woken for it.
  bool contended = true;       // As in GrantRequest, during most of the time.
};

// The sensors' readings of the CPU programs since the last sample (`auto`).
struct HostSample {
  // Fraction of time in which some task waited for a CPU (PSI "some"); negative: not available.
  double pressure = -1;
  // A canary thread's loss against its undisturbed rate, 0 to 1; negative: not available.
  double canary_loss = -1;
  // CPU time of service, as a fraction of all cores, measured outside the governor.
  double share = 0;
};

// The effect of a new cap on guarantees that it does not allow.
enum class Guarantees : std::uint8_t {
  must_fit,      // The cap is refused.
  may_conflict,  // The cap takes precedence, and Report::conflicts lists them: for a cap set by
                 // another authority.
};

// A guarantee that the cap does not allow: the cap takes precedence, and this reports it.
struct Conflict {
  Tenant tenant = 0;
  double needed = 0;   // The guarantee's fraction of all cores' CPU time.
  double granted = 0;  // The fraction that it gets instead.
  std::string message;
};

struct TenantReport {
  double part = 0;          // Of all cores' CPU time: its own, without the part that others leave
                            // it.
  Nanoseconds throttled{};  // Ordered waiting time.
  std::uint64_t waits = 0;  // Timers set.
};

struct Report {
  double cap = 1;            // Now in force; fraction of all cores' CPU time.
  Nanoseconds throttled{};   // Ordered waiting time, over all tenants.
  std::uint64_t waits = 0;   // Timers set.
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

  // Expects request.tenant to be configured.
  virtual Decision decide(Instant now, const GrantRequest& request) = 0;
  // The tenant to ask for while the requests' owner is still unknown, as before reading the
  // doorbells: the tenant that may spend most, or will be served first.
  [[nodiscard]] virtual Tenant readiest(Instant) { return 0; }
  // Ends a decision to serve: `reserved` is given back, `spent` charged.
  virtual void settle(Instant now, Nanoseconds reserved, const Spent& spent) = 0;
  // Charges costs outside a grant: interrupts, wakes, timers. Never refused.
  void charge(Instant now, const Spent& spent) { settle(now, {}, spent); }

  // Called when no request is left. Until the returned time the source should stay masked and a
  // timer wake the thread; `now`: unmask at once.
  [[nodiscard]] virtual Instant unmask_at(Instant now) { return now; }

  // Returns true if serving by polling keeps the source masked; otherwise each request interrupts.
  [[nodiscard]] virtual bool masks_source() const { return true; }
  // The useful number of service threads under the cap, at least 1. The caller lets no more threads
  // serve at a time: this is the k of the bound.
  [[nodiscard]] virtual std::uint32_t threads_wanted() const = 0;
  // Period of the accounting thread that the policy needs; 0: none. Each tick costs Costs::tick.
  [[nodiscard]] virtual Nanoseconds tick_period() const { return {}; }

  // Sets the cap, a fraction of all cores' CPU time; saved and owed time stays. For `auto` it is
  // the upper bound of the chosen cap. Errors: EINVAL as validate() (config.hpp), including a
  // guarantee above the cap unless it may conflict, and if the policy has no cap; nothing has
  // changed then. Waiting threads should be woken to ask again, because their timers were for the
  // old cap.
  virtual Status set_cap(Instant now, double cap, Guarantees guarantees) = 0;

  // For policies that choose the cap by themselves; others ignore it.
  virtual void sample(Instant, const HostSample&) {}

  // Allocates; not for the path of a request.
  [[nodiscard]] virtual Report report(Instant now) = 0;
};

inline constexpr Nanoseconds no_limit{std::numeric_limits<std::int64_t>::max() / 4};

}  // namespace k2k::governor
