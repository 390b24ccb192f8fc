#pragma once
// The thread that a policy of the governor needs beside the service threads, while it is in force:
//
//   auto      k2k/canary   every 20 ms a piece of work of known length (host/canary.hpp), every
//                          100 ms the pressure (host/cpu_pressure.hpp) and a sample to Grants.
//                          About a thousandth of a core, which the governor charges
//   backoff   k2k/ticker   checks every tick, as published. Its CPU time comes on top of the cap,
//                          since the rule does not see it
//   displaced k2k/cores    while threads serve or wait, each millisecond whether a core is idle;
//                          less often while none is (core_watch.hpp). Wakes waiting threads when a
//                          core is idle again. Charged like service: only while all cores are busy
//
// The other policies need none.
//
// A wait of the canary is attributed to service for the time that service threads were within
// grants, divided by the number of cores, because an ordinary program runs on any core.
//
// Threading: the limit keeper creates and destroys it.

#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/result.hpp"
#include "governor/config.hpp"
#include "governor/loss_filter.hpp"
#include "host/canary.hpp"
#include "host/cpu_pressure.hpp"
#include "server/govern/core_watch.hpp"
#include "server/govern/grants.hpp"
#include "server/govern/waiting_threads.hpp"

namespace k2k::server {

class Sensors {
 public:
  // Returns nullptr for a policy that needs no thread. `grants` and `waiting` must outlive the
  // result. Files are read in the folder `proc`. A missing sensor of `auto` is no error: about()
  // reports it.
  // Errors: EAGAIN, no thread; for `displaced` as host::IdleCores::open().
  static Result<std::unique_ptr<Sensors>> start(const governor::GovernorConfig& config,
                                                Grants& grants, WaitingThreads& waiting,
                                                const std::string& proc);
  ~Sensors();
  Sensors(const Sensors&) = delete;
  Sensors& operator=(const Sensors&) = delete;

  // The sensors of this machine, "canary, pressure", and why others are missing.
  [[nodiscard]] const std::string& about() const { return about_; }
  // Grants::Rule::contended. The function may outlive these sensors: it then reports all cores as
  // busy.
  [[nodiscard]] std::function<bool(Instant)> contended() const;
  // The rule's cap has changed.
  void set_cap(double cap);

 private:
  Sensors(const governor::GovernorConfig& config, Grants& grants, WaitingThreads& waiting,
          std::string proc)
      : config_(config), grants_(grants), waiting_(waiting), proc_(std::move(proc)) {}
  Status begin();
  Status begin_core_watch();         // displaced
  KeeperThread::Next check_cores();  // displaced
  void watch();                      // auto
  void tick();                       // backoff
  // The canary's time and its loss to service; zero without a canary.
  governor::CanarySight sight(std::optional<host::Canary>& canary) const;
  // Returns true once the thread must end.
  bool sleep_until(Instant when);

  governor::GovernorConfig config_;  // Its cap changes; the threads do not read it.
  Grants& grants_;
  WaitingThreads& waiting_;
  const std::string proc_;
  std::string about_;  // Written before ready_ is.
  std::promise<void> ready_;
  std::mutex mutex_;
  std::condition_variable end_;
  bool ending_ = false;  // Under mutex_.
  std::thread thread_;
  std::shared_ptr<CoreWatch> core_watch_;  // Has a thread of its own.
  Nanoseconds
      core_watch_cpu_{};  // That thread's CPU clock at the last charge; used by that thread only.
};

}  // namespace k2k::server
