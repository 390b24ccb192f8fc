#pragma once
// Places calls that would wait. One thread makes all waits for descriptors and moments; few make
// the waits for words; another makes cold reads by a ring; functions of the host program have
// threads of their own; each other call gets a thread of the pool.
//
// Threading: from anywhere, a ServiceThread by itself. It has no state and no lock.

#include "base/clock.hpp"
#include "server/account/answers.hpp"
#include "server/core/host_desk.hpp"
#include "server/pool/descriptor_watch.hpp"
#include "server/pool/futex_watch.hpp"
#include "server/pool/service_thread.hpp"
#include "server/pool/system_calls.hpp"
#include "server/pool/thread_pool.hpp"
#include "server/reads/cold_reads.hpp"

namespace k2k::server {

class WaitingCalls {
 public:
  WaitingCalls(SystemCalls& system_calls, Answers& answers, DescriptorWatch& descriptors,
               FutexWatch& words, ColdReads& reads, HostDesk& functions, ThreadPool& pool)
      : system_calls_(&system_calls),
        answers_(&answers),
        descriptors_(&descriptors),
        words_(&words),
        reads_(&reads),
        functions_(&functions),
        pool_(&pool) {}

  // Returns false if the pool must make this call.
  bool watch(const Pending& call) {
    return descriptors_->take(call) || words_->take(call) || reads_->take(call) ||
           functions_->take(call);
  }
  // `call` was tried, or cannot be tried on its thread.
  void set_aside(const Pending& call) {
    if (!watch(call)) pool_->queue(call);
  }
  // Makes a call that may keep this thread, and answers it. A unit leaves it to the pool.
  void run(ServiceThread& self, Pending call) {
    if (self.is_unit) {
      set_aside(call);
      return;
    }
    if (services::is_host_call(call.request)) {
      if (!functions_->take(call)) functions_->run(self, call);
      return;
    }
    if (call.begun == 0) call.begun = cycles();
    const Nanoseconds before = thread_time();
    const std::int64_t value = system_calls_->wait(self, call);
    // Waiting is not service: the thread is charged for its CPU time only.
    self.charge(telemetry::Stage::service, cycles_in(thread_time() - before), call.request);
    const std::uint64_t done = cycles();
    answers_->answer_late(self.stats, call.request, value, {call.begun, done});
    self.charge(telemetry::Stage::completion, cycles() - done, call.request);
  }

 private:
  SystemCalls* system_calls_;
  Answers* answers_;
  DescriptorWatch* descriptors_;
  FutexWatch* words_;
  ColdReads* reads_;
  HostDesk* functions_;
  ThreadPool* pool_;
};

}  // namespace k2k::server
