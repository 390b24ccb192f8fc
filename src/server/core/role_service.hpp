#pragma once
// Serves the requests that the holder of a role found.
//
//   bundle ─▶ bottom half ─▶ batch ─▶ page faults, together ─▶ calls, one by one ─▶ answered
//             │ cached reads, short functions: on the spot          │ would wait
//             ▼                                                     ▼
//             answered                        set aside; the role may go to another thread
//
// Where tenants have budgets, each request is admitted once, before its first try. A request whose
// tenant may spend nothing now is parked in the role, and the others are served. The cost of a call
// beyond its admission is owed.
//
// Threading: by the holder of the role, with its own ServiceThread. No lock of its own.

#include <cstdint>

#include "backend/backend.hpp"
#include "base/clock.hpp"
#include "router/door/files.hpp"
#include "server/account/answers.hpp"
#include "server/core/waiting_calls.hpp"
#include "server/govern/admission.hpp"
#include "server/poll/bottom_half.hpp"
#include "server/pool/fault_desk.hpp"
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
    ThreadPool& pool;
    FaultDesk& faults;
    WaitingCalls& waiting;
  };
  explicit RoleService(const Parts& parts) : parts_(parts) {}
  RoleService(const RoleService&) = delete;
  RoleService& operator=(const RoleService&) = delete;

  // Each of these: false if the role was lost to a taker or handed to another thread.
  // Serves role.bundle.
  bool serve(ServiceThread& self, Role& role);
  // Serves the rest of the bundle and the batch of a predecessor whose call lasted too long.
  bool serve_rest(ServiceThread& self, Role& role);
  // Serves parked requests that are due.
  bool serve_parked(ServiceThread& self, Role& role);

  // Do units of the device serve this role now?
  [[nodiscard]] bool units_serve(const Role& role) const {
    return role.on_units.load(std::memory_order_relaxed) && !parts_.admission.governed() &&
           !parts_.admission.by_tenant();
  }

  // Settles the books of the holder, and looks whether coalescing is to change.
  void settle(ServiceThread& self, Role& role, std::uint64_t moment) const;
  // A holder settles its books this often: a look at the thread's CPU clock takes 0.2 us.
  [[nodiscard]] std::uint64_t settle_cycles() const { return settle_cycles_; }
  // The books that samples of adaptive coalescing are taken of.
  [[nodiscard]] Adaptive::Counted counted(const ServiceThread& self, const Role& role) const;

 private:
  // False as above.
  bool walk_bundle(ServiceThread& self, Role& role);
  bool serve_accepted(ServiceThread& self, Role& role);
  bool run_batch(ServiceThread& self, Role& role);
  bool settle_waiting(ServiceThread& self, Role& role);
  // Of the batch, the faults that are not admitted.
  void park_faults(ServiceThread& self, Role& role);
  bool admits(ServiceThread& self, const services::Request& request);
  // False: there is no memory to park it.
  bool park(const ServiceThread& self, Role& role, const Pending& call);

  static constexpr std::uint32_t settle_us = 1'000;
  const std::uint64_t settle_cycles_ = cycles_of(settle_us);
  const Parts parts_;
};

}  // namespace k2k::server
