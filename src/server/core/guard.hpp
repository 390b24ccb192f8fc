#pragma once
// The last resort: when calls keep every thread of the pool, the guard still answers requests that
// need no thread: page faults whose pages are in memory, and calls that never block.
//
//   pool                                                     guard
//   the last idle thread takes a role, its call gets stuck ─▶ takes the role over, polls, queues
//   a thread becomes idle again ◀──────────────────────────── gives the role back
//   split: a bundle waits for a thread ─────────────────────▶ accepts the bundle, queues attempts
//
// The guard executes no call that may block, so no call keeps it. It queues the calls that it
// accepts for the pool. One thread, `k2k/guard`, outside the pool: the pool starts it when no
// thread is idle for the first time, and the guard sleeps while a thread of the pool is idle. The
// pool's lock guards its wake-ups, since they depend on the number of idle threads
// (ThreadPool::next_for_guard).
//
// Threading: one thread.

#include "backend/backend.hpp"
#include "server/core/leader.hpp"
#include "server/core/split_service.hpp"
#include "server/core/waiting_calls.hpp"
#include "server/govern/admission.hpp"
#include "server/poll/bottom_half.hpp"
#include "server/pool/fault_desk.hpp"
#include "server/pool/split_queue.hpp"
#include "server/pool/thread_pool.hpp"

namespace k2k::server {

class Guard {
 public:
  struct Parts {
    backend::Backend& backend;
    BottomHalf& bottom_half;
    Admission& admission;
    SplitQueue& split_queue;
    SplitService& split_service;
    ThreadPool& pool;
    FaultDesk& faults;
    WaitingCalls& waiting;
    Leader& leader;
  };
  explicit Guard(const Parts& parts) : parts_(parts) {}
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  // Runs until the pool ends.
  void run(ServiceThread& self);

 private:
  void lead(ServiceThread& self, Role& role);
  // Leaves to the pool the requests of a predecessor whose call lasted too long.
  void queue_rest(Role& role);

  const Parts parts_;
};

}  // namespace k2k::server
