#pragma once
// Split mode: threads of the pool accept the bundles that top halves hand out, and try their
// requests. Staged: one thread of the pool accepts, other threads try.
//
//   split    top half ── hand_out ─▶ run_bundle: accept, run_attempts ─▶ answered
//   staged   top half ── hand_out ─▶ run_stage: accept ── attempts ─▶ run_attempts ─▶ answered
//
// With budgets of tenants, an attempt whose tenant has no budget now is parked in the queue; one
// thread waits until the first parked attempt may be tried.
//
// Threading: from anywhere, a ServiceThread by itself. The configuration changes only while no
// bundle is queued or being accepted, so it is read without a lock.

#include "backend/backend.hpp"
#include "server/account/answers.hpp"
#include "server/core/waiting_calls.hpp"
#include "server/govern/admission.hpp"
#include "server/poll/bottom_half.hpp"
#include "server/pool/fault_desk.hpp"
#include "server/pool/placement.hpp"
#include "server/pool/split_queue.hpp"
#include "server/pool/system_calls.hpp"
#include "server/pool/thread_pool.hpp"
#include "server/settings/config.hpp"

namespace k2k::server {

class SplitService {
 public:
  struct Parts {
    backend::Backend& backend;
    Answers& answers;
    BottomHalf& bottom_half;
    Admission& admission;
    SystemCalls& system_calls;
    SplitQueue& queue;
    ThreadPool& pool;
    FaultDesk& faults;
    WaitingCalls& waiting;
    const ServerConfig& config;
  };
  explicit SplitService(const Parts& parts) : parts_(parts) {}
  SplitService(const SplitService&) = delete;
  SplitService& operator=(const SplitService&) = delete;

  // For the holder of a role. Without memory for the queue the holder accepts the bundle itself,
  // and other threads serve its requests.
  void hand_out(ServiceThread& self, const Bundle& bundle);
  void run_bundle(ServiceThread& self, const Bundle& bundle);
  // Pre-processes bundles until the stage closes: all that wait at each wake-up.
  void run_stage(ServiceThread& self);
  // For the guard: accepts all waiting bundles, and answers page faults and calls that never block,
  // whatever the budgets of tenants. Other attempts stay queued.
  void accept_without_workers(ServiceThread& self);
  // Tries the queued requests of accepted bundles until none is left.
  void run_attempts(ServiceThread& self);

 private:
  // Accepts the requests of the bundle and queues all but faults as attempts; if `defer`, the
  // faults, too: then all wait in the queue until their tenant is admitted.
  void accept(ServiceThread& self, const Bundle& bundle, bool defer);
  bool take_attempt(ServiceThread& self, Pending& attempt);
  void run_attempt(ServiceThread& self, Pending& pending);
  // Sleeps until a parked attempt may be admitted. Returns false if none is parked, or if another
  // thread waits.
  bool wait_for_parked(ServiceThread& self);

  const Parts parts_;
  const Placement placement_;
};

}  // namespace k2k::server
