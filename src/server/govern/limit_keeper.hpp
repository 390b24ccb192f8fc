#pragma once
// Keeps the limits in force: the runtime's own cap and its part of the host limit (host/share.hpp).
//
//   configure() ─┐                                            ┌─▶ Grants: cap or rule
//                ├─▶ refresh: Share ─▶ effective_limits() ────┼─▶ PublishedLimits: the word
//   KeeperThread ┘                                            └─▶ WaitingThreads, if worth a wake
//
// The thread reads the host limit every 100 ms while there is one, else every second. So a new,
// changed or removed limit takes effect while requests are served; requests only signal that a
// refresh is due. It also creates and destroys the sensors of the policies (sensors.hpp). Under a
// cap it also learns what an interrupt costs (interrupt_cost.hpp). Its own CPU time is charged to
// the cap.
//
// Threading: configure() and stop() by one thread at a time, the other members from anywhere.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/cores.hpp"
#include "base/result.hpp"
#include "host/interrupt_time.hpp"
#include "host/share.hpp"
#include "server/govern/effective_limits.hpp"
#include "server/govern/grants.hpp"
#include "server/govern/interrupt_cost.hpp"
#include "server/govern/keeper_thread.hpp"
#include "server/govern/rule.hpp"
#include "server/govern/waiting_threads.hpp"
#include "server/settings/config.hpp"

namespace k2k::server {

class LimitKeeper {
 public:
  using Cores = std::function<std::uint32_t()>;
  // `grants` and `waiting` must outlive the keeper. Sensors read the files of `proc`. `cores`:
  // those that are online, asked again with each refresh.
  LimitKeeper(Grants& grants, WaitingThreads& waiting, std::string proc,
              Cores cores = online_cores);
  ~LimitKeeper() { stop(); }
  LimitKeeper(const LimitKeeper&) = delete;
  LimitKeeper& operator=(const LimitKeeper&) = delete;

  // Applies cap and policy. If a cap remains, savings and debts remain. The first call reads the
  // host limit and starts the thread.
  // Errors: as prepare(); the first call also as host::Share::refresh() and KeeperThread::start().
  // After an error nothing has changed.
  Status configure(const ServerConfig& config);
  // Ends the threads. The limits in force stay.
  void stop();

  [[nodiscard]] const PublishedLimits& limits() const { return published_; }
  [[nodiscard]] HostLimit host_limit() const;

  void refresh_if_due() { thread_.wake_if_due(); }
  // Returns the time until which a thread that waits for budget may sleep. Expects WaitingThreads
  // to count it. If this runtime has reported no demand to the host, reports demand.
  Instant wake_by(Instant now);
  // Wake-ups of the thread since it started.
  [[nodiscard]] std::uint64_t wakes() const { return thread_.wakes(); }

 private:
  KeeperThread::Next run();
  // These expect refreshing_ held. Errors: as configure().
  Status refresh();
  Status apply(std::uint32_t cores);
  Status adjust_cap(const EffectiveLimits& wanted);
  Status replace_rule(const EffectiveLimits& wanted);
  void watch_interrupts(Instant moment, std::uint64_t own);

  Grants& grants_;
  WaitingThreads& waiting_;
  const std::string proc_;
  const Cores cores_;
  PublishedLimits published_;
  std::atomic<bool> limited_{false};  // True under a host limit.
  std::atomic<bool> silent_{false};   // This runtime has reported no demand to the host.

  std::mutex refreshing_;  // Guards the members below; taken before locks of grants and waiters.
  host::Share share_;
  ServerConfig config_;       // The runtime's own settings.
  EffectiveLimits in_force_;  // Computed from `config_` and `host_`.
  double told_cap_ = 0;       // The smallest cap under which a waiting thread may have asked.
  std::uint32_t epoch_ = 0;
  Nanoseconds keeper_cpu_{};                       // The thread's CPU clock up to here.
  std::optional<host::InterruptTime> interrupts_;  // Empty: not opened, or it cannot be read.
  bool interrupts_opened_ = false;                 // Once is enough: /proc may be hidden.
  InterruptCost interrupt_cost_{governor::Costs().interrupt};
  Instant interrupts_due_{};
  std::unique_ptr<Sensors> sensors_;

  mutable std::mutex host_mutex_;
  HostLimit host_;  // refreshing_ is also held to write it.

  KeeperThread thread_{"k2k/limit", "the host's limit"};  // The last member: it uses the others.
};

}  // namespace k2k::server
