#pragma once
// Keeps the limits in force: the runtime's own, and its part of the host's (host/share.hpp).
//
//   configure() ─┐                                            ┌─▶ Grants: cap or rule
//                ├─▶ refresh: Share ─▶ effective_limits() ────┼─▶ PublishedLimits: the word
//   KeeperThread ┘                                            └─▶ WaitingThreads, if worth a wake
//
// The thread looks at the host's limit every 100 ms under one, else once a second, so that a limit
// which comes, changes or goes is heeded while requests are served; requests only say that a look
// is due. It also makes and ends the sensors that policies need (sensors.hpp). Its own CPU time is
// charged to the cap.
//
// Threading: configure() and stop() by one thread at a time, the other members from anywhere.

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.hpp"
#include "host/share.hpp"
#include "server/govern/effective_limits.hpp"
#include "server/govern/grants.hpp"
#include "server/govern/keeper_thread.hpp"
#include "server/govern/rule.hpp"
#include "server/govern/waiting_threads.hpp"
#include "server/settings/config.hpp"

namespace k2k::server {

class LimitKeeper {
 public:
  // Both outlive it. Sensors read the files of `proc`.
  LimitKeeper(Grants& grants, WaitingThreads& waiting, std::string proc);
  ~LimitKeeper() { stop(); }
  LimitKeeper(const LimitKeeper&) = delete;
  LimitKeeper& operator=(const LimitKeeper&) = delete;

  // Applies cap and policy. A cap that stays keeps savings and debts. The first time, looks
  // at the host's limit and starts the thread.
  // Errors: prepare()'s; the first time the errors of host::Share::look() and of
  // KeeperThread::start(), too. Nothing has changed then.
  Status configure(const ServerConfig& config);
  // Ends the threads. The limits in force stay.
  void stop();

  [[nodiscard]] const PublishedLimits& limits() const { return published_; }
  [[nodiscard]] HostLimit host_limit() const;

  void refresh_if_due() { thread_.ask_if_due(); }
  // A thread is about to wait for budget: until when it may sleep. Expects WaitingThreads to count
  // it. Where the host was told that nothing is wanted, the thread tells otherwise.
  Instant wake_by(Instant now);
  // Of the thread, since it began.
  [[nodiscard]] std::uint64_t wakes() const { return thread_.wakes(); }

 private:
  KeeperThread::Next run();
  // These expect refreshing_ held. Errors: as configure().
  Status refresh();
  Status apply();
  Status adjust_cap(const EffectiveLimits& wanted);
  Status replace_rule(const EffectiveLimits& wanted);

  Grants& grants_;
  WaitingThreads& waiting_;
  const std::string proc_;
  PublishedLimits published_;
  std::atomic<bool> limited_{false};  // By the host.
  std::atomic<bool> silent_{false};   // The host was told that nothing is wanted.

  std::mutex refreshing_;  // Guards what follows; taken before the locks of grants and waiters.
  host::Share share_;
  ServerConfig config_;       // As wanted by the runtime.
  EffectiveLimits in_force_;  // By `config_` and `host_`.
  double told_cap_ = 0;       // The least cap that a waiting thread may have asked under.
  std::uint32_t epoch_ = 0;
  Nanoseconds keeper_cpu_{};  // The thread's CPU clock up to here.
  std::unique_ptr<Sensors> sensors_;

  mutable std::mutex host_mutex_;
  HostLimit host_;  // Written with refreshing_ held, too.

  KeeperThread thread_{"k2k/limit", "the host's limit"};  // The last member: it uses the others.
};

}  // namespace k2k::server
