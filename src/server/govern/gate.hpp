#pragma once
// Where service threads ask the governor, and where their CPU time is charged.
//
//   pass()   before a request, and before looking for one: returns once this thread may spend CPU
//            time. Within a grant it compares two numbers; at its end it settles and asks again,
//            and sleeps while there is nothing to be had. Meanwhile doorbells are not looked at:
//            the source is masked, requests wait in their slots, and the device stalls.
//   leave()  the thread is about to sleep or to do something else: what it spent is charged, what
//            is left of its grant given back.
//
// What is charged is the thread's CPU clock, so that everything counts: service, halves, polling,
// switches. The interrupt of a timer or doorbell is charged beside it, at its calibrated cost.
//
// The cap is the runtime's own or its part of the machine's limit (host/share.hpp), whichever is
// less. Whoever passes looks at that now and then: every 100 ms under a limit, else once a second,
// so that a limit which comes, changes or goes is heeded while requests are served. The gate also
// has the sensors that policies need (sensors.hpp, host/idle_cores.hpp).
//
// Where tenants have budgets of their own (server.tenants), a thread that passes may look, on the
// account of whoever may spend most, and each request is admitted once, on its tenant's: admits()
// never sleeps, and who is told no keeps the request and serves the others. What a tenant pays is
// what the books say of it (tenant_bills.hpp).
//
// Threading: all members from anywhere; an Account belongs to one thread. Lock order: looking_
// before mutex_.

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "governor/config.hpp"
#include "governor/loss_filter.hpp"
#include "host/idle_cores.hpp"
#include "host/share.hpp"
#include "server/account/stats.hpp"
#include "server/account/tenant_bills.hpp"
#include "server/account/thread_stats.hpp"
#include "server/govern/grant_log.hpp"
#include "server/settings/config.hpp"

namespace k2k::server {

class Sensors;

// What the thread of `auto` saw since the last sample.
struct SensorReading {
  double pressure = -1;  // As in governor::HostSample.
  governor::CanarySight canary;
  Nanoseconds cpu{};  // Its own.
};

class Gate {
 public:
  // Sensors read the files of this folder.
  explicit Gate(std::string proc = host::proc_folder);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  struct Account {
    Nanoseconds charged{};  // The thread's CPU clock up to here.
    Nanoseconds reserved{};
    std::uint64_t until = 0;  // cycles() at which the grant is spent at the latest.
    std::uint32_t requests = 0;
    std::uint32_t epoch = 0;   // Of the governor that `charged` is for.
    std::uint32_t passes = 0;  // Without a cap, since it was last asked whether a look is due.
    bool open = false;         // Has it a grant?

    // Where tenants have budgets: whose the grant is, and what was granted for requests.
    struct Grant {
      std::uint64_t until = 0;  // cycles(); 0 = none.
      Nanoseconds reserved{};
      std::uint64_t ask_at = 0;  // cycles() before which the answer stays no.
    };
    governor::Tenant payer = 0;
    ThreadStats* stats = nullptr;  // The thread's books; nullptr = requests are not told apart.
    TenantBills bills;
    Nanoseconds unbilled{};  // Looks and interrupts, for the tenant that will be served next.
    std::array<Grant, governor::tenants_max> grants{};
  };

  // Applies cap and policy. A cap that stays keeps what was saved or is owed.
  // Errors: EINVAL as of governor::validate(), those of host::IdleCores::open() and of
  // Sensors::start(); the first time those of host::Share::look(), too. Nothing has changed then.
  Status configure(const ServerConfig& config);

  // Is there a cap? Without one a pass costs this one load and a count.
  [[nodiscard]] bool governed() const { return governed_.load(std::memory_order_relaxed); }

  // How often a thread may wake that only looks after others: 100 ms, and under small caps so
  // rarely that it takes some thousandths of them, at most a second.
  [[nodiscard]] Nanoseconds watch_tick() const {
    return Nanoseconds(watch_tick_ns_.load(std::memory_order_relaxed));
  }

  // True if it slept. `requests` were served since the last call.
  bool pass(Account& account, std::uint32_t requests) {
    if (governed()) return pass_governed(account, requests);
    if (++account.passes >= passes_per_clock) look_without_cap(account);
    return false;
  }
  // Have tenants budgets of their own?
  [[nodiscard]] bool by_tenant() const { return by_tenant_.load(std::memory_order_relaxed); }
  // Then: may a request of this tenant be served now? If not, asking again is worth while from
  // ask_at() on. Expects an account with books.
  bool admits(Account& account, std::uint32_t tenant) {
    const Account::Grant& grant = account.grants[budget_of(tenant)];
    return cycles() < grant.until || ask(account, budget_of(tenant));
  }
  [[nodiscard]] std::uint64_t ask_at(const Account& account, std::uint32_t tenant) const {
    return account.grants[budget_of(tenant)].ask_at;
  }
  // Which budget a tenant has, below governor::tenants_max. Changes with configure() alone.
  [[nodiscard]] std::size_t budget_of(std::uint32_t tenant) const {
    return budget_of_[tenant].load(std::memory_order_relaxed);
  }
  // Sleeps until then, unless threads are to ask again before.
  void sleep_until(Account& account, std::uint64_t moment);

  void leave(Account& account) {
    if (governed()) settle(account, {});
  }
  // As leave(). Then, where the policy wants the source to stay masked so that cores may sleep,
  // sleeps until that is over; true if it did, and doorbells should be looked at.
  bool rest_masked(Account& account) { return governed() && rest_governed(account); }
  // As leave(), for a thread that an interrupt has just woken.
  void woken(Account& account) {
    if (governed()) settle(account, costs_.interrupt, 1);
  }

  // For a call of this tenant, threads of the kernel worked at most so long; see kernel_work.hpp.
  void charge_kernel_threads(std::uint32_t tenant, Nanoseconds at_most);

  // While suspended every thread passes, so that roles can change hands and nothing accepted is
  // left behind at the end; what is spent meanwhile is owed.
  void suspend();
  void resume();

  [[nodiscard]] GovernorStats stats() const;

  // For the sensors' thread, which these outlive.
  void sample(const SensorReading& reading);
  void tick(Nanoseconds cpu);
  // Time within grants, summed over threads.
  [[nodiscard]] Nanoseconds granted(Instant from, Instant to) const;
  // Ends that thread. What has been configured stays.
  void stop_sensors();

 private:
  // As many polls as take some microseconds.
  static constexpr std::uint32_t passes_per_clock = 256;

  // What the host's limit came to at the last look; 0 = no limit.
  struct HostLimit {
    double limit = 0;
    double part = 0;
    std::uint32_t holders = 0;
    Instant look_at{};
    bool idle = false;  // It was said that nothing is wanted.
  };
  // What is to be kept: the runtime's wish under the host's limit.
  struct Terms {
    governor::Policy policy = governor::Policy::none;  // Also where there is no cap.
    double cap = 0;
    std::uint32_t loss_max_permille = 0;  // `auto` only.
    std::string tenants;
    bool operator==(const Terms&) const = default;
  };
  struct Made;  // What a new policy needs.

  bool pass_governed(Account& account, std::uint32_t requests);
  bool rest_governed(Account& account);
  bool renew(Account& account);
  bool ask(Account& account, std::size_t budget);
  void settle(Account& account, Nanoseconds extra, std::uint32_t wakes = 0);
  // These expect mutex_ held.
  void settle_locked(Account& account, Instant moment, bool contended, Nanoseconds extra,
                     std::uint32_t wakes);
  // `clock` is the thread's CPU clock.
  static void begin_bills(Account& account, Nanoseconds clock);
  void settle_budgets(Account& account, Instant moment, Nanoseconds clock, bool contended,
                      Nanoseconds extra, std::uint32_t wakes);
  governor::Decision decide(Account& account, Instant moment, bool contended);
  bool contended(Instant moment) { return !idle_cores_ || idle_cores_->all_busy(moment); }
  // Until then, or until all may pass or ask again.
  void sleep_locked(std::unique_lock<std::mutex>& lock, Instant until);
  [[nodiscard]] Terms terms() const;

  // These expect looking_ held. Errors: as configure().
  Status apply();
  Status adjust_cap(const Terms& wanted);
  Status replace_governor(const Terms& wanted);
  Result<Made> make(const Terms& wanted);
  void set_watch_tick(double cap);
  Status look_now();

  void look_without_cap(Account& account);
  [[nodiscard]] bool look_is_due() const;
  void look();  // Unless another thread is at it.

  std::atomic<bool> governed_{false};
  std::atomic<bool> by_tenant_{false};
  std::atomic<std::int64_t> watch_tick_ns_{};
  BudgetOf budget_of_{};
  const governor::Costs costs_;
  const std::string proc_;
  std::atomic<std::uint64_t> look_at_{0};  // cycles() at which the next look is due.
  std::mutex looking_;                     // Guards what follows; taken before mutex_.
  host::Share share_;
  bool configured_ = false;
  std::unique_ptr<Sensors> sensors_;

  mutable std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  std::unique_ptr<governor::Governor> governor_;
  Terms terms_;          // In force; written with looking_ held, too.
  ServerConfig wanted_;  // By the runtime; likewise.
  HostLimit host_;
  std::optional<host::IdleCores> idle_cores_;  // `displaced` only.
  std::vector<std::uint32_t> tenants_;         // Whose the governor's budgets are.
  std::vector<TenantBills::Bill> bills_;       // Scratch, one a budget.
  GrantLog grants_;
  governor::LossFilter filter_;
  GovernorStats counted_;  // What the gate counts itself.
  Nanoseconds charged_{};  // In all; the sensors' part included.
  Nanoseconds free_{};     // Not charged, for nobody wanted it.
  Nanoseconds sensors_cpu_{};
  Nanoseconds kernel_threads_{};  // Charged for what they may have worked.
  Nanoseconds sampled_{};         // charged_ at the last sample,
  Instant sampled_at_{};          // which was then.
  std::uint32_t waiting_ = 0;     // Threads that were told to wait.
  std::uint64_t generation_ = 0;  // Counts suspensions and changes of the cap.
  std::uint32_t epoch_ = 0;       // Counts governors.
  bool suspended_ = false;
};

}  // namespace k2k::server
