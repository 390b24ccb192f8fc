#pragma once
// Runs the host program's functions that may block, each on a thread of this desk.
//
//   queued ─▶ opening ─▶ running ─▶ settling ─▶ answered
//      └──────────┴─────────┴─ the launch or the server ends: answered with ECANCELED
//
// A function cannot be interrupted. So a launch that ends early does not wait for running
// functions: the clerk, a thread that runs no function, answers their requests, and their later
// results are dropped. While a call is `opening` or `settling`, its thread reads and writes the
// caller's memory; that never takes long, and the launch waits for it.
//
// The desk has its own threads, because a function that never returns keeps its thread: so the
// pool, which serves system calls, loses no thread.
//
// Threading: from anywhere. Lock order: this lock, then ServiceThreads.

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "server/pool/set_aside_parts.hpp"
#include "server/pool/system_calls.hpp"
#include "services/functions/host_functions.hpp"

namespace k2k::server {

class HostDesk {
 public:
  HostDesk(const SetAsideParts& parts, SystemCalls& system_calls,
           services::HostFunctions& functions)
      : parts_(parts),
        system_calls_(&system_calls),
        functions_(&functions),
        waiting_(parts.places),
        disowned_(parts.places) {}
  HostDesk(const HostDesk&) = delete;
  HostDesk& operator=(const HostDesk&) = delete;

  // Returns false if this is no host call, or if there is no thread for it.
  bool take(const Pending& call);
  // Runs the call on the calling thread, and answers it.
  void run(ServiceThread& self, Pending call);

  // Has the clerk answer the calls of a launch that has ended early. If the system had no thread
  // for the clerk, the calls are answered when their functions return.
  void abandon();
  // Starts no more functions and drops the results of running ones. Returns once no thread accesses
  // the memory of a caller.
  void stop();

  // Functions that run at one time; others wait in a queue.
  static constexpr std::uint32_t threads_max = 16;

 private:
  class Running;

  // Starts the clerk, and a worker if none is idle. Expects mutex_ held.
  void add_threads();
  void work(ServiceThread& self);
  bool take_waiting(Pending& call);
  void answer_disowned(ServiceThread& self);
  void answer(ServiceThread& self, const Pending& call, std::int64_t value);
  // Takes the calls of running functions from their threads. Expects mutex_ held.
  void disown(bool detached_too);

  const SetAsideParts parts_;
  SystemCalls* system_calls_;
  services::HostFunctions* functions_;
  std::mutex mutex_;  // Guards the members below, and the stages of running calls.
  std::condition_variable changed_;
  std::condition_variable for_clerk_;
  std::condition_variable settled_;
  RequestQueue waiting_;
  RequestQueue disowned_;     // Calls that the clerk must answer.
  Running* first_ = nullptr;  // Calls whose functions run, or whose memory a thread accesses.
  std::uint32_t threads_ = 0;
  std::uint32_t idle_ = 0;
  bool has_clerk_ = false;
  bool stopping_ = false;
};

}  // namespace k2k::server
