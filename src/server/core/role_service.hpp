#pragma once
// Serves the requests that the holder of a role found.
//
//   bundle ─▶ bottom half ─▶ batch ─▶ page faults, together ─▶ calls, one by one ─▶ answered
//             │ cached reads, short functions: on the spot          │ would wait
//             ▼                                                     ▼
//             answered                        set aside; the role may go to another thread
//
// With budgets of tenants, each request is admitted once, before its first try. A request whose
// tenant has no budget now is parked in the role, and the others are served. The cost of a call
// beyond its grant becomes debt.
//
// Threading: by the holder of the role, with its own ServiceThread. It has no lock.

#include <cstdint>

#include "backend/backend.hpp"
#include "base/clock.hpp"
#include "router/door/files.hpp"
#include "server/account/answers.hpp"
#include "server/core/waiting_calls.hpp"
#include "server/govern/admission.hpp"
#include "server/poll/bottom_half.hpp"
#include "server/pool/fault_desk.hpp"
#include "server/pool/request_queue.hpp"
#include "server/pool/roles.hpp"
#include "server/pool/service_threads.hpp"
#include "server/pool/system_calls.hpp"
#include "server/pool/thread_pool.hpp"

namespace k2k::server {

class RoleService {
 public:
  struct Parts {
    backend::Backend& backend;
    router::Files& files;
    Answers& answers;
    BottomHalf& bottom_half;
    Admission& admission;
    SystemCalls& system_calls;
    ServiceThreads& threads;
    RequestPlaces& places;
    ThreadPool& pool;
    FaultDesk& faults;
    WaitingCalls& waiting;
  };
  explicit RoleService(const Parts& parts) : parts_(parts) {}
  RoleService(const RoleService&) = delete;
  RoleService& operator=(const RoleService&) = delete;

  // serve(), serve_rest() and serve_parked() return false if another thread took over or received
  // the role. Serves role.bundle.
  bool serve(ServiceThread& self, Role& role);
  // Serves the rest of the bundle and the batch of a predecessor whose call lasted too long.
  bool serve_rest(ServiceThread& self, Role& role);
  // Serves parked requests that are due.
  bool serve_parked(ServiceThread& self, Role& role);

  // Returns true if units of the device serve this role now.
  [[nodiscard]] bool units_serve(const Role& role) const {
    return role.on_units.load(std::memory_order_relaxed) && !parts_.admission.governed() &&
           !parts_.admission.by_tenant();
  }

  // Charges the holder's CPU time, and checks whether coalescing must change.
  void settle(ServiceThread& self, Role& role, std::uint64_t moment) const;
  // The period at which a holder charges its CPU time: reading the thread's CPU clock takes 0.2 us.
  [[nodiscard]] std::uint64_t settle_cycles() const { return settle_cycles_; }
  // The statistics from which adaptive coalescing takes samples.
  [[nodiscard]] Adaptive::Counted counted(const ServiceThread& self, const Role& role) const;

 private:
  // Returns false as above.
  bool walk_bundle(ServiceThread& self, Role& role);
  bool serve_accepted(ServiceThread& self, Role& role);
  bool run_batch(ServiceThread& self, Role& role);
  bool settle_waiting(ServiceThread& self, Role& role);
  // Parks the faults of the batch that are not admitted.
  void park_faults(ServiceThread& self, Role& role);
  bool admits(ServiceThread& self, const services::Request& request);
  // Parks the request, or drops it if another one of its slot is parked. Returns false if there is
  // no memory to park it.
  bool park(const ServiceThread& self, Role& role, const Pending& call);

  static constexpr std::uint32_t settle_us = 1'000;
  const std::uint64_t settle_cycles_ = cycles_of(settle_us);
  const Parts parts_;
};

}  // namespace k2k::server
