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
// Threading: all members from anywhere; an Account belongs to one thread.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/result.hpp"
#include "base/units.hpp"
#include "governor/config.hpp"
#include "server/config.hpp"
#include "server/stats.hpp"

namespace k2k::server {

class Gate {
 public:
  struct Account {
    Nanoseconds charged{};  // The thread's CPU clock up to here.
    Nanoseconds reserved{};
    std::uint64_t until = 0;  // cycles() at which the grant is spent at the latest.
    std::uint32_t requests = 0;
    std::uint32_t epoch = 0;  // Of the governor that `charged` is for.
    bool open = false;        // Has it a grant?
  };

  // Applies cap and policy. A cap that stays keeps what was saved or is owed.
  // Errors: EINVAL as of governor::validate(); nothing has changed then.
  Status configure(const ServerConfig& config);

  // Is there a cap? Without one everything here costs this one load.
  [[nodiscard]] bool governed() const { return governed_.load(std::memory_order_relaxed); }

  // True if it slept. `requests` were served since the last call.
  bool pass(Account& account, std::uint32_t requests) {
    return governed() && pass_governed(account, requests);
  }
  void leave(Account& account) {
    if (governed()) settle(account, {});
  }
  // As leave(), for a thread that an interrupt has just woken.
  void woken(Account& account) {
    if (governed()) settle(account, costs_.interrupt);
  }

  // While suspended every thread passes, so that roles can change hands and nothing accepted is
  // left behind at the end; what is spent meanwhile is owed.
  void suspend();
  void resume();

  [[nodiscard]] GovernorStats stats() const;

 private:
  bool pass_governed(Account& account, std::uint32_t requests);
  bool renew(Account& account);
  void settle(Account& account, Nanoseconds extra);
  // Expects mutex_ held.
  void settle_locked(Account& account, Instant moment, Nanoseconds extra);

  std::atomic<bool> governed_{false};
  const governor::Costs costs_;

  mutable std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  std::unique_ptr<governor::Governor> governor_;
  governor::Policy policy_ = governor::Policy::none;
  std::uint32_t cap_permille_ = 0;
  std::uint64_t generation_ = 0;  // Counts suspensions and changes of the cap.
  std::uint32_t epoch_ = 0;       // Counts governors.
  bool suspended_ = false;
};

}  // namespace k2k::server
