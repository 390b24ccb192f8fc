#pragma once
// Makes the system calls of requests: tries one without waiting, or waits for it, and ends waits.
//
//   attempt()  at once if it does not wait; tells what it would wait for if it would
//   wait()     keeps its thread until the call ends, its launch does, or end_all() is called
//
// A wait for a descriptor is ended by an event descriptor that it polls too. Any other sleep is
// ended by a signal (sleeping_calls.hpp).
//
// Threading: from anywhere, a ServiceThread by itself. No lock but that of SleepingCalls, and that
// only for calls that may sleep.

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
  // `rules` of a policy file; null: there is none.
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
  // The calls that a signal can end; service threads join.
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
  // Its value; -ECANCELED: it was ended.
  std::int64_t wait(ServiceThread& self, Pending& pending);

  // Ends the sleeping calls of a launch that has ended early. Returns once none sleeps. The launch
  // is abandoned by now (Backend::abandoned).
  void end_sleeps_of_launch();
  // Ends all waits for descriptors, now and from now on.
  void end_waits();

  // Have so many calls, which took so long, waited for a disk? Memory answers sooner.
  [[nodiscard]] bool have_waited(std::uint64_t calls, std::uint64_t cycles) const {
    return cycles > waited_cycles_ + calls * waited_cycles_each_;
  }
  void note_waited(const services::Request& request) const {
    if (request.number == SYS_pread64) files_->note_waited();
  }
  // So many calls took so long, and this was the last of them.
  void note_service(const services::Request& request, std::uint64_t calls,
                    std::uint64_t cycles) const {
    if (have_waited(calls, cycles)) note_waited(request);
  }

 private:
  services::Answer attempt_that_may_sleep(ServiceThread& self, Pending& pending);
  // Before a call that may sleep. False: its launch has ended early, and it is not to be made.
  bool fall_asleep(ServiceThread& self, const services::Request& request);
  // After it: its value, -ECANCELED where it was ended.
  std::int64_t wake_up(ServiceThread& self, std::int64_t value);

  backend::Backend* backend_;
  router::Files* files_;
  services::HostFunctions* functions_;
  Admission* admission_;
  services::CallRules* rules_;
  SleepingCalls sleeping_;
  Descriptor event_;  // Readable once waits are to end.
  const std::uint64_t waited_cycles_ = cycles_of(20);
  const std::uint64_t waited_cycles_each_ = cycles_of(4);
};

}  // namespace k2k::server
