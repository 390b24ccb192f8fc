#pragma once
// The thread that a policy of the governor needs beside the service threads, while it is in force:
//
//   auto      k2k/canary   every 20 ms a piece of work of known length (host/canary.hpp), every
//                          100 ms the pressure (host/cpu_pressure.hpp) and a sample to Grants.
//                          About a thousandth of a core, which the governor charges
//   backoff   k2k/ticker   looks every tick, as published. Its CPU time comes on top of the cap,
//                          since the rule does not see it
//   displaced k2k/cores    while threads serve or wait, each millisecond whether a core is idle;
//                          less often while none is (core_watch.hpp). Wakes waiting threads when a
//                          core is idle again. Charged like service: only while all cores are busy
//
// The other policies need none.
//
// A wait of the canary is service's as far as service threads were within grants meanwhile, spread
// over the cores, as an ordinary program runs on any of them.
//
// Threading: the limit keeper makes and ends it.

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
  // Empty for a policy that needs no thread. `grants` and `waiting` outlive it. `proc` is where
  // files are read. A sensor of `auto` that this machine does not have is no error: about() says
  // so.
  // Errors: EAGAIN, no thread; `displaced`: host::IdleCores::open()'s.
  static Result<std::unique_ptr<Sensors>> start(const governor::GovernorConfig& config,
                                                Grants& grants, WaitingThreads& waiting,
                                                const std::string& proc);
  ~Sensors();
  Sensors(const Sensors&) = delete;
  Sensors& operator=(const Sensors&) = delete;

  // Which sensors there are, and why others are not: "canary, pressure".
  [[nodiscard]] const std::string& about() const { return about_; }
  // Grants::Rule::contended, which may outlive these sensors: all cores are busy then.
  [[nodiscard]] std::function<bool(Instant)> contended() const;
  // The rule has another cap.
  void set_cap(double cap);

 private:
  Sensors(const governor::GovernorConfig& config, Grants& grants, WaitingThreads& waiting,
          std::string proc)
      : config_(config), grants_(grants), waiting_(waiting), proc_(std::move(proc)) {}
  Status begin();
  Status begin_core_watch();  // displaced
  KeeperThread::Next look();  // displaced
  void watch();               // auto
  void tick();                // backoff
  // The canary's loss to service; zero without a canary.
  governor::CanarySight sight(std::optional<host::Canary>& canary) const;
  // True once it is to end.
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
  std::shared_ptr<CoreWatch> core_watch_;  // Has its own thread.
  Nanoseconds core_watch_cpu_{};           // That thread's CPU clock up to here; its own.
};

}  // namespace k2k::server
