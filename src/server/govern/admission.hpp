#pragma once
// Service threads ask here for CPU time, and their CPU time is charged here.
//
//   pass()   before a request, and before looking for one: returns once this thread may spend CPU
//            time. Within a grant it compares two numbers; at its end it settles and asks again,
//            and sleeps while no CPU time is granted. Meanwhile doorbells are not read: the source
//            is masked, requests wait in their slots, and the device stalls.
//   leave()  the thread is about to sleep or to do something else: its spent time is charged, and
//            the rest of its grant given back.
//
//   Grants ◀── questions ── Admission ── sleeps ──▶ WaitingThreads
//     ▲                         │ reads one word, says that a refresh is due
//     └── cap, rule ─────── LimitKeeper, a thread of its own
//
// If tenants have budgets of their own (server.tenants), a thread that passes may look for
// requests, and each request is admitted once, at the expense of its tenant's budget. admits()
// never sleeps: if it returns false, the thread keeps the request and serves others.
//
// Threading: configure() and stop() by one thread at a time, all other members from anywhere; an
// account belongs to one thread.

#include <cstdint>
#include <string>

#include "base/clock.hpp"
#include "base/cores.hpp"
#include "base/result.hpp"
#include "host/proc_file.hpp"
#include "server/account/stats.hpp"
#include "server/govern/effective_limits.hpp"
#include "server/govern/grants.hpp"
#include "server/govern/limit_keeper.hpp"
#include "server/govern/service_account.hpp"
#include "server/govern/waiting_threads.hpp"
#include "server/settings/config.hpp"

namespace k2k::server {

class Admission {
 public:
  // Sensors read the files of `proc`. Grants go by `clocks`, sleeps by the real ones.
  explicit Admission(std::string proc = host::proc_folder, const Clocks& clocks = real_clocks());
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  // Errors: as LimitKeeper::configure(). After an error nothing has changed.
  Status configure(const ServerConfig& config) { return keeper_.configure(config); }

  // Returns true if there is a cap. Without a cap a pass costs this load and a count.
  [[nodiscard]] bool governed() const { return keeper_.limits().read().cap != 0; }

  // The period at which a thread that only watches others may wake.
  [[nodiscard]] Nanoseconds watch_tick() const {
    return watch_tick_of(keeper_.limits().cap(), online_cores());
  }

  // Returns true if the thread had to wait. `requests` were served since the last call.
  bool pass(ServiceAccount& account, std::uint32_t requests) {
    const PublishedLimits::View limits = keeper_.limits().read();
    if (limits.cap != 0) return pass_governed(account, requests, limits.epoch);
    if (++account.passes >= passes_per_clock) {
      account.passes = 0;
      keeper_.refresh_if_due();
    }
    return false;
  }

  // Returns true if tenants have budgets of their own.
  [[nodiscard]] bool by_tenant() const { return grants_.tenants().divided(); }
  // Returns true if a request of this tenant may be served now. If not, ask again from retry_at()
  // on. Expects by_tenant() and an account with statistics.
  bool admits(ServiceAccount& account, std::uint32_t tenant) {
    return cycles() < account.grants[budget_of(tenant)].until || request_grant(account, tenant);
  }
  [[nodiscard]] std::uint64_t retry_at(const ServiceAccount& account, std::uint32_t tenant) const {
    return account.grants[budget_of(tenant)].retry_at;
  }
  // The budget of a tenant, below governor::tenants_max. Changes with configure() alone.
  [[nodiscard]] std::size_t budget_of(std::uint32_t tenant) const {
    return grants_.tenants().budget_of(tenant);
  }
  // Sleeps until `moment`, or until threads must ask again.
  void sleep_until(ServiceAccount& account, std::uint64_t moment);

  void leave(ServiceAccount& account) {
    if (governed()) settle(account, false);
  }
  // As leave(). If the policy wants the source to stay masked so that cores may sleep, sleeps until
  // that period ends. Returns true if it slept: look at the doorbells then.
  bool rest_masked(ServiceAccount& account) { return governed() && rest_governed(account); }
  // As leave(), for a thread that an interrupt has just woken.
  void woken(ServiceAccount& account) {
    if (governed()) settle(account, true);
  }

  // Charges a call of this tenant for the work of kernel threads, at most `at_most`; see
  // kernel_work.hpp.
  void charge_kernel_threads(std::uint32_t tenant, Nanoseconds at_most) {
    grants_.charge_kernel_threads(tenant, at_most);
  }

  // A call begins that may keep the thread: under a cap, the interrupts that end its sleeps count.
  void begin_sleeping_call(ServiceAccount& account) const {
    if (governed()) grants_.begin_sleeping_call(account);
  }

  // While suspended every thread passes, so that roles can change hands and every accepted request
  // is served at the end. CPU time spent meanwhile becomes debt.
  void suspend() { waiting_.suspend(); }
  void resume() { waiting_.resume(); }

  // Ends the threads of the limit keeper and of the sensors. The configuration stays.
  void stop() { keeper_.stop(); }

  [[nodiscard]] GovernorStats stats() const;

 private:
  // This number of polls takes some microseconds.
  static constexpr std::uint32_t passes_per_clock = 256;

  bool pass_governed(ServiceAccount& account, std::uint32_t requests, std::uint32_t epoch);
  bool renew(ServiceAccount& account);
  bool request_grant(ServiceAccount& account, std::uint32_t tenant);
  void settle(ServiceAccount& account, bool woken);
  bool rest_governed(ServiceAccount& account);
  // True if it slept.
  bool wait_for_budget(std::uint64_t ticket, Instant until);

  Grants grants_;
  WaitingThreads waiting_;
  LimitKeeper keeper_;  // The last member: its thread uses the others.
};

}  // namespace k2k::server
