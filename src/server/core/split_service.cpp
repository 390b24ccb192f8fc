#include "server/core/split_service.hpp"

#include "base/clock.hpp"
#include "calls/rows.hpp"

namespace k2k::server {

namespace {
// Of accepted requests. With budgets of tenants they wait among the attempts.
bool needs_no_worker(const Pending& call) {
  const std::int16_t row = call.request.row;
  return services::is_fault(call.request) ||
         (row >= 0 && calls::shapes[row].blocking == calls::Blocking::never);
}
}  // namespace

void SplitService::hand_out(ServiceThread& self, const Bundle& bundle) {
  switch (parts_.queue.add(bundle)) {
    case SplitQueue::Added::for_stage:
      return;
    case SplitQueue::Added::for_pool:
      return parts_.pool.wake_one();
    case SplitQueue::Added::no_memory:
      accept(self, bundle, parts_.admission.by_tenant());
      if (parts_.queue.needs_worker()) parts_.pool.wake_one();
      return;
  }
}

void SplitService::run_bundle(ServiceThread& self, const Bundle& bundle) {
  accept(self, bundle, parts_.admission.by_tenant());
  if (!self.batch.empty()) run_attempts(self);
}

void SplitService::accept_without_workers(ServiceThread& self) {
  parts_.admission.pass(self.account, 0);
  Bundle bundle;
  while (parts_.queue.take_bundle(bundle)) accept(self, bundle, false);
  if (parts_.queue.needs_worker()) parts_.pool.wake_one();
  self.batch.clear();
  parts_.queue.take_attempts(needs_no_worker, self.batch);
  if (FaultDesk::take(self, self.batch)) parts_.faults.serve(self, nullptr);
  for (Pending& call : self.batch) run_attempt(self, call);
}

void SplitService::run_stage(ServiceThread& self) {
  placement_.put(self, parts_.queue.stage_cores());
  while (true) {
    parts_.admission.pass(self.account, 0);
    Bundle bundle;
    const SplitQueue::Found found = parts_.queue.next_bundle(bundle);
    if (found == SplitQueue::Found::end) return;
    if (found == SplitQueue::Found::bundle) {
      const std::uint64_t before = self.stats.accepted.value();
      accept(self, bundle, parts_.admission.by_tenant());
      self.stats.preprocessed.add(self.stats.accepted.value() - before);
      if (parts_.queue.needs_worker()) parts_.pool.wake_one();
      continue;
    }
    parts_.admission.leave(self.account);
    self.settle(cycles());
    if (parts_.queue.rest()) self.stats.preprocess_wakes.add();
  }
}

void SplitService::accept(ServiceThread& self, const Bundle& bundle, bool defer) {
  self.batch.clear();
  self.answered.clear();
  const services::Openness openness = openness_of(parts_.config.policy);
  const std::uint64_t processed = parts_.bottom_half.process(
      bundle, {openness, parts_.config.trace, true, defer}, self.batch, self.answered, self.stats);
  if (!self.answered.empty()) {
    parts_.backend.resume(self.answered.data(), self.answered.size());
    self.stats.ledger.charge(telemetry::Stage::completion, cycles() - processed);
  }
  const bool faults = !defer && FaultDesk::take(self, self.batch);
  parts_.queue.accept(self.batch);
  if (faults) parts_.faults.serve(self, nullptr);
  if (self.batch.empty()) return;
  parts_.pool.begins_calls(parts_.queue.attempts_begun, ThreadPool::Writers::several);
}

// One at a time: while an attempt keeps this thread, the watcher finds the others in the queue.
void SplitService::run_attempts(ServiceThread& self) {
  placement_.put(self, parts_.queue.begin_work());
  for (std::uint32_t served = 0;; served = 1) {
    parts_.admission.pass(self.account, served);
    Pending pending;
    while (!take_attempt(self, pending)) {
      if (!wait_for_parked(self) && parts_.queue.end_work()) return;
    }
    if (services::is_fault(pending.request)) {
      self.faults.assign(1, {pending.request, {}});
      parts_.faults.serve(self, nullptr);
    } else {
      run_attempt(self, pending);
    }
    parts_.queue.end_attempt();
  }
}

void SplitService::run_attempt(ServiceThread& self, Pending& pending) {
  pending.begun = cycles();
  const services::Answer result = parts_.system_calls.attempt(self, pending);
  const std::uint64_t done = cycles();
  parts_.system_calls.note_service(pending.request, 1, done - pending.begun);
  self.charge(telemetry::Stage::service, done - pending.begun, pending.request);
  if (result.would_wait) {
    pending.readiness = result.readiness;
    parts_.waiting.set_aside(pending);
    return;
  }
  parts_.answers.answer_late(self.stats, pending.request, result.value, {pending.begun, done});
  self.charge(telemetry::Stage::completion, cycles() - done, pending.request);
}

bool SplitService::take_attempt(ServiceThread& self, Pending& attempt) {
  return parts_.queue.take_attempt(attempt, [&](const services::Request& request) {
    return !parts_.admission.by_tenant() ||
           parts_.admission.admits(self.account, tenant_of(request));
  });
}

// One thread waits for all parked attempts; other threads serve new attempts.
bool SplitService::wait_for_parked(ServiceThread& self) {
  // This thread may ask at once for a tenant for which another thread was refused.
  const auto due = parts_.queue.keep_parked([&](const services::Request& request) {
    return parts_.admission.retry_at(self.account, tenant_of(request));
  });
  if (!due) return false;
  parts_.admission.sleep_until(self.account, *due);
  parts_.queue.give_back_parked();
  return true;
}

}  // namespace k2k::server
