#include "server/core/role_service.hpp"

#include <algorithm>

#include "server/core/spot_calls.hpp"

namespace k2k::server {

namespace {

// Requests of each budget between two looks at the doorbells: other work-items may have rung.
constexpr std::size_t parked_at_once = services::faults_max;

// Returns true for two requests of one call and one tenant whose times are not measured.
bool alike(const services::Request& left, const services::Request& right) {
  return left.row == right.row && left.attributes.tenant == right.attributes.tenant &&
         is_untimed(left.attributes, left.stamp) && is_untimed(right.attributes, right.stamp);
}

}  // namespace

bool RoleService::serve(ServiceThread& self, Role& role) {
  role.batch.clear();
  role.batch_next = 0;
  return walk_bundle(self, role);
}

bool RoleService::serve_rest(ServiceThread& self, Role& role) {
  if (role.walking && !walk_bundle(self, role)) return false;
  return run_batch(self, role) && settle_waiting(self, role);
}

bool RoleService::walk_bundle(ServiceThread& self, Role& role) {
  self.answered.clear();
  SpotCalls calls(parts_, self, role);
  const std::uint64_t processed = parts_.bottom_half.process(
      role.bundle,
      {role.openness, role.trace, false, parts_.admission.by_tenant(), self.clock,
       SpotCalls::permitted(parts_.admission, role) ? &calls : nullptr},
      role.batch, self.answered, self.stats);
  const bool lost = processed == 0;
  if (!lost) {
    self.clock = processed;
    role.walking = false;
  }
  if (!self.answered.empty()) {
    parts_.backend.resume(self.answered.data(), self.answered.size());
    if (!lost) {
      self.clock = cycles();
      self.stats.ledger.charge(telemetry::Stage::completion, self.clock - processed);
    }
  }
  if (lost) {
    calls.answer_late();
    return false;
  }
  return role.batch.empty() || serve_accepted(self, role);
}

bool RoleService::serve_accepted(ServiceThread& self, Role& role) {
  if (parts_.admission.by_tenant()) park_faults(self, role);
  if (FaultDesk::take(self, role.batch)) {
    if (!parts_.faults.serve(self, &role)) return false;
    self.clock = cycles();
  }
  return run_batch(self, role) && settle_waiting(self, role);
}

bool RoleService::run_batch(ServiceThread& self, Role& role) {
  if (role.batch_next == role.batch.size()) return true;
  parts_.pool.begins_calls(role.calls_begun, ThreadPool::Writers::one);
  std::uint64_t mark = self.clock;
  std::uint64_t answering = 0;  // Cycles of answers since `mark`.
  std::uint64_t run = 0;        // Calls before this one since `mark`.
  std::uint32_t served = 0;
  while (role.batch_next < role.batch.size()) {
    // A unit serves the requests that it found even if a cap was set meanwhile: it cannot sleep for
    // budget.
    const bool passes = !self.is_unit || !parts_.admission.governed();
    if (!parts_.admission.by_tenant()) {
      if (passes && parts_.admission.pass(self.account, served)) {
        mark = cycles();
        answering = 0;  // Drops a few answers before a cap was set; the CPU clock counts them.
        run = 0;
      }
    } else if (!admits(self, role.batch[role.batch_next].request)) {
      if (park(self, role, role.batch[role.batch_next])) {
        ++role.batch_next;
        continue;
      }
    }
    served = 1;
    // Copied out: after a take-over the batch belongs to the taker.
    Pending pending = role.batch[role.batch_next++];
    const std::size_t left = role.batch.size() - role.batch_next;
    if (left == 1) role.top_half.prefetch_rings();
    if (left == 0 && role.batch.size() > 1) role.top_half.prefetch_slots();
    pending.begun = mark;
    self.call.begin();
    const services::Answer result = parts_.system_calls.attempt(self, pending);
    self.call.end();
    const bool kept = role.word.still_held_by(self.index);
    if (!kept) {
      parts_.system_calls.note_waited(pending.request);
      if (result.would_wait && result.readiness.exists()) {
        pending.readiness = result.readiness;
        parts_.waiting.set_aside(pending);
      } else if (result.would_wait) {
        parts_.waiting.run(self, pending);
      } else {
        parts_.answers.answer_late(self.stats, pending.request, result.value,
                                   {pending.begun, cycles()});
      }
      return false;
    }
    // A clock reading takes as long as an answer. If the next request has the same call and tenant
    // and neither is timed, both share one reading; not under a cap, when the next request may have
    // to wait.
    if (!result.would_wait && left != 0 && !parts_.admission.governed() &&
        alike(pending.request, role.batch[role.batch_next].request)) {
      parts_.answers.answer_untimed(self.stats, pending.request, result.value, mark);
      answering += self.answer_cycles;
      ++run;
      continue;
    }
    const std::uint64_t executed = cycles();
    // The answers may have taken less time than assumed.
    const std::uint64_t service = executed > mark + answering ? executed - mark - answering : 0;
    parts_.system_calls.note_service(pending.request, run + 1, service);
    run = 0;
    const std::size_t call = call_place(pending.request.row);
    const std::size_t tenant = tenant_place(pending.request.attributes);
    if (result.would_wait) {
      self.stats.ledger.charge_request(service, answering, call, tenant);
      mark = executed;
      answering = 0;
      pending.readiness = result.readiness;
      pending.keeps_role = result.keeps_role;
      role.waiting.push_back(pending);
      continue;
    }
    parts_.answers.answer(self.stats, pending.request, result.value, {pending.begun, executed});
    // Measured for the last answer of a batch; the other answers are assumed to cost as much.
    if (left == 0) self.answer_cycles = cycles() - executed;
    mark = executed + self.answer_cycles;
    self.stats.ledger.charge_request(service, answering + self.answer_cycles, call, tenant);
    answering = 0;
    if (self.stats.ledger.due(mark, settle_cycles_)) settle(self, role, mark);
  }
  self.clock = mark;
  return true;
}

bool RoleService::settle_waiting(ServiceThread& self, Role& role) {
  if (role.waiting.empty()) return true;
  parts_.admission.leave(
      self.account);  // The next holder of the role needs the rest of the grants.
  // Calls that wait for a disk are short: the poller stays if there are only such calls.
  bool may_go = !self.is_unit && !role.on_units.load(std::memory_order_relaxed);
  may_go = may_go && std::any_of(role.waiting.begin(), role.waiting.end(),
                                 [](const Pending& call) { return !call.keeps_role; });
  std::erase_if(role.waiting, [this](const Pending& call) { return parts_.waiting.watch(call); });
  Pending first;
  if (role.waiting.empty() ||
      !parts_.pool.queue_or_follow(self, role, role.waiting, may_go, first)) {
    return true;
  }
  self.stats.hand_offs.add();
  parts_.waiting.run(self, first);
  return false;
}

// --- Requests of tenants with budgets.

bool RoleService::admits(ServiceThread& self, const services::Request& request) {
  return parts_.admission.admits(self.account, tenant_of(request));
}

bool RoleService::park(const ServiceThread& self, Role& role, const Pending& call) {
  const std::uint32_t tenant = tenant_of(call.request);
  const auto added = role.parked.add(call, parts_.admission.budget_of(tenant),
                                     parts_.admission.retry_at(self.account, tenant));
  if (added == ParkedRequests::Added::dropped) parts_.places.note_dropped();
  return added != ParkedRequests::Added::no_memory;
}

void RoleService::park_faults(ServiceThread& self, Role& role) {
  std::erase_if(role.batch, [&](const Pending& call) {
    if (!services::is_fault(call.request) || admits(self, call.request)) return false;
    return park(self, role, call);
  });
}

bool RoleService::serve_parked(ServiceThread& self, Role& role) {
  role.batch.clear();
  role.batch_next = 0;
  // If tenants have no budgets any more, run_batch() asks for a grant as for any other batch.
  const bool by_tenant = parts_.admission.by_tenant();
  role.parked.take(
      cycles(), parked_at_once, role.batch,
      [&](const services::Request& request) { return !by_tenant || admits(self, request); },
      [&](const services::Request& request) {
        return parts_.admission.retry_at(self.account, tenant_of(request));
      });
  self.clock = cycles();
  return role.batch.empty() || serve_accepted(self, role);
}

// --- Accounting.

Adaptive::Counted RoleService::counted(const ServiceThread& self, const Role& role) const {
  Adaptive::Counted sum;
  if (!role.split) {
    sum.add(self.stats);
    return sum;
  }
  return parts_.threads.counted();
}

void RoleService::settle(ServiceThread& self, Role& role, std::uint64_t moment) const {
  self.settle(moment);
  if (!role.adaptive.due(moment) || !role.adaptive.look(counted(self, role), moment)) return;
  const governor::CoalesceSetting setting = role.adaptive.setting();
  role.top_half.hold(setting.window_us, setting.max);
}

}  // namespace k2k::server
