#pragma once
// Split mode: bundles that top halves hand out are accepted, and their requests tried, on other
// threads of the pool.
//
//   top half ── hand_out ─▶ SplitQueue ── run_bundle: accept ─▶ attempts ── run_attempts ─▶
//   answered
//
// Where tenants have budgets, an attempt whose tenant may spend nothing now is parked in the queue;
// one thread waits until the first of them may be tried.
//
// Threading: from anywhere, a ServiceThread by itself. The configuration changes only while no
// bundle is on its way, so it is read without a lock.

#include "backend/backend.hpp"
#include "server/account/answers.hpp"
#include "server/core/waiting_calls.hpp"
#include "server/govern/admission.hpp"
#include "server/poll/bottom_half.hpp"
#include "server/pool/fault_desk.hpp"
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

  // By the holder of a role. Without memory for the queue it accepts the bundle itself, and others
  // serve its requests.
  void hand_out(ServiceThread& self, const Bundle& bundle);
  void run_bundle(ServiceThread& self, const Bundle& bundle);
  // Tries what accepted bundles left in the queue, until none is left.
  void run_attempts(ServiceThread& self);

 private:
  // The requests of the bundle are accepted and, except for faults, in the queue of attempts.
  void accept(ServiceThread& self, const Bundle& bundle);
  bool take_attempt(ServiceThread& self, Pending& attempt);
  void run_attempt(ServiceThread& self, Pending& pending);
  // Sleeps until a parked attempt may be admitted. False: none is parked, or another thread waits.
  bool wait_for_parked(ServiceThread& self);

  const Parts parts_;
};

}  // namespace k2k::server
