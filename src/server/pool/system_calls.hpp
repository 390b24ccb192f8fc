#pragma once
// Makes the system calls of requests: tries one without waiting, or waits for it, and ends waits.
//
//   attempt()  makes a call that does not wait; otherwise reports the event to wait for
//   wait()     keeps its thread until the call or its launch ends, or end_waits() is called
//
// A wait for a descriptor also polls an event descriptor, which ends it. A signal ends any other
// sleep (sleeping_calls.hpp).
//
// Threading: from anywhere, a ServiceThread by itself. The only lock is the one of SleepingCalls,
// for calls that may sleep.

#include <sys/syscall.h>

#include <cstdint>
#include <utility>

#include "backend/backend.hpp"
#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "router/door/files.hpp"
#include "server/govern/admission.hpp"
#include "server/govern/kernel_work.hpp"
#include "server/pool/service_thread.hpp"
#include "server/waits/sleeping_calls.hpp"
#include "services/functions/host_functions.hpp"
#include "services/services.hpp"

namespace k2k::services {
class CallRules;
}

namespace k2k::server {

class SystemCalls {
 public:
  // `rules`: of the server's policy; null: no path is confined to roots.
  SystemCalls(backend::Backend& backend, router::Files& files, services::HostFunctions& functions,
              Admission& admission, services::CallRules* rules = nullptr)
      : backend_(&backend),
        files_(&files),
        functions_(&functions),
        admission_(&admission),
        rules_(rules) {}
  SystemCalls(const SystemCalls&) = delete;
  SystemCalls& operator=(const SystemCalls&) = delete;

  // `event` is an eventfd(2). Before the first call; without it waits for descriptors do not end.
  void end_waits_by(Descriptor event) { event_ = std::move(event); }
  [[nodiscard]] services::Interruption interruption() const { return {event_.number()}; }
  [[nodiscard]] services::HostFunctions& functions() { return *functions_; }
  // The calls that a signal can end; service threads join it.
  [[nodiscard]] SleepingCalls& sleeping() { return sleeping_; }

  services::Answer attempt(ServiceThread& self, Pending& pending) {
    if (services::is_host_call(pending.request)) return functions_->attempt(pending.request);
    if (!services::may_sleep_at_once(pending.request)) [[likely]] {
      const KernelWork others(*admission_, pending.request);
      return services::execute_without_waiting(pending.request, pending.progress, *files_);
    }
    if (self.is_unit) return {.would_wait = true};
    return attempt_that_may_sleep(self, pending);
  }
  // Returns the call's value; -ECANCELED if it was ended early.
  std::int64_t wait(ServiceThread& self, Pending& pending);

  // Ends the sleeping calls of a launch that has ended early. Returns once none sleeps. Expects the
  // launch abandoned (Backend::abandoned).
  void end_sleeps_of_launch();
  // Ends all waits for descriptors, now and from now on.
  void end_waits();

  // Returns true if `calls` calls that took `cycles` must have waited for a disk: memory answers
  // sooner.
  [[nodiscard]] bool have_waited(std::uint64_t calls, std::uint64_t cycles) const {
    return cycles > waited_cycles_ + calls * waited_cycles_each_;
  }
  void note_waited(const services::Request& request) const {
    if (request.number == SYS_pread64) files_->note_waited();
  }
  // Records that `calls` calls took `cycles`; `request` was the last one.
  void note_service(const services::Request& request, std::uint64_t calls,
                    std::uint64_t cycles) const {
    if (have_waited(calls, cycles)) note_waited(request);
  }

 private:
  services::Answer attempt_that_may_sleep(ServiceThread& self, Pending& pending);
  // Called before a call that may sleep. Returns false if its launch has ended early: do not make
  // the call.
  bool fall_asleep(ServiceThread& self, const services::Request& request);
  // Called after it. Returns its value, or -ECANCELED if it was ended early.
  std::int64_t wake_up(ServiceThread& self, std::int64_t value);

  backend::Backend* backend_;
  router::Files* files_;
  services::HostFunctions* functions_;
  Admission* admission_;
  services::CallRules* rules_;
  SleepingCalls sleeping_;
  Descriptor event_;  // Readable once waits must end.
  const std::uint64_t waited_cycles_ = cycles_of(20);
  const std::uint64_t waited_cycles_each_ = cycles_of(4);
};

}  // namespace k2k::server
