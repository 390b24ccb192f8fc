// What the holder of a role does: poll, serve, hand off, rest.

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <new>
#include <tuple>

#include "base/clock.hpp"
#include "server/core/core.hpp"
#include "server/core/spot_reads.hpp"
#include "server/poll/poll_ladder.hpp"

namespace k2k::server {

namespace {

// Polls between two looks at the clock: short enough for the ladder, long enough to be free.
constexpr int polls_per_clock = 32;
// A leader settles its books before it sleeps unless it did a moment ago.
constexpr std::uint32_t settle_asleep_us = 200;
// A poller looks again this often although no kernel runs.
constexpr auto no_launch_max = std::chrono::milliseconds(100);

// Until a parked request may be served.
std::uint32_t parked_us(const Role& role) {
  constexpr std::uint32_t longest = 1'000'000;
  const std::uint64_t due = role.parked.due();
  if (due == ParkedRequests::never) return longest;
  const std::uint64_t moment = cycles();
  if (due <= moment) return 0;
  const double us = static_cast<double>(due - moment) * nanoseconds_per_cycle() / 1000;
  return us < longest ? static_cast<std::uint32_t>(us) + 1 : longest;
}

// Requests of one call and one tenant, whose times are not measured.
bool alike(const services::Request& left, const services::Request& right) {
  return left.row == right.row && left.attributes.tenant == right.attributes.tenant &&
         is_untimed(left.attributes, left.stamp) && is_untimed(right.attributes, right.stamp);
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

bool Server::Core::lead(ServiceThread& self, Role& role) {
  take_from_units(self, role);
  place(self, role);
  self.clock = cycles();
  // A predecessor whose call lasted too long left its bundle and its accepted requests behind.
  if (role.walking && !walk_bundle(self, role)) return false;
  if (!run_batch(self, role) || !settle_waiting(self, role)) return false;

  std::uint64_t mark = cycles();  // Up to here, time is charged.
  // No copy of the whole configuration: its texts would need memory. It stays while a role is held.
  const auto [notify, split, first_ladder] = [&] {
    const std::lock_guard lock(mutex_);
    return std::tuple(config_.notify, config_.bottom_half == BottomHalfMode::split,
                      PollLadder(config_, mark));
  }();
  PollLadder ladder = first_ladder;
  const std::uint64_t settle_period = settle_cycles_;
  const std::uint64_t settle_period_asleep = cycles_of(settle_asleep_us);
  int polls = 0;
  bool slept = false;
  bool woken = false;  // Before its time.
  if (role.adaptive.on()) role.adaptive.begin(counted(self, role), mark);
  bool looks_behind = false;  // A masked rest.
  while (roles_.wanted(role)) {
    if (units_serve(role)) {
      stand_by(self, role);
      mark = cycles();
      ladder.restart(mark);
      continue;
    }
    if (admission_.pass(self.account, 0)) {
      mark = cycles();
      continue;  // Much may have changed meanwhile.
    }
    if (role.parked.count() != 0 && cycles() >= role.parked.due()) {
      if (!serve_parked(self, role)) return false;
      mark = cycles();
    }
    role.bundle.clear();
    if (!role.top_half.collect(role.bundle, self.stats)) {
      if (++polls < polls_per_clock) continue;
      polls = 0;
      relax();
      if (backend_->advance()) continue;
      const std::uint64_t moment = cycles();
      if (self.stats.ledger.due(moment, settle_period)) {
        self.stats.ledger.charge(telemetry::Stage::polling, moment - mark);
        mark = moment;
        settle(self, role, moment);
      }
      if (moment >= role.top_half.rescan_due() && !split_.bundles_wait()) {
        const std::uint64_t idle = ladder.idle(moment);
        if (role.top_half.rescan(role.bundle, self.stats, idle) == 0) continue;
      } else {
        // Under a cap CPU time is too dear to spin.
        const PollLadder::Step step =
            admission_.governed() ? PollLadder::Step::sleep : ladder.next(moment);
        if (step == PollLadder::Step::sleep) {
          self.stats.ledger.charge(telemetry::Stage::polling, moment - mark);
          if (self.stats.ledger.due(moment, settle_period_asleep)) settle(self, role, moment);
          // One look behind each masked rest, and then the doorbell.
          if (looks_behind) {
            admission_.leave(self.account);
          } else if (admission_.rest_masked(self.account)) {
            looks_behind = true;
            mark = cycles();
            continue;
          }
          looks_behind = false;
          if (role.top_half.pass_holes(moment, slept && woken)) {
            mark = moment;
            continue;
          }
          const std::uint32_t longest_us = std::min(ladder.sleep_us(moment), parked_us(role));
          const bool launched = rest(self, role, notify, longest_us);
          admission_.woken(self.account);
          slept = true;
          mark = cycles();
          woken = mark - moment < cycles_of(longest_us);
          if (launched) ladder.restart(mark);
        } else if (step == PollLadder::Step::offer || backend_->waits_for_this_core()) {
          sched_yield();
        }
        continue;  // To the rings first: what was rung meanwhile is no lost doorbell.
      }
    }
    const std::uint64_t found = cycles();
    self.clock = found;
    ladder.found(found);
    looks_behind = false;
    self.stats.ledger.charge(telemetry::Stage::polling, found - mark);
    if (slept) self.stats.wakes.add();
    slept = false;
    if (self.stats.ledger.due(found, settle_period)) settle(self, role, found);
    if (split) {
      hand_out(self, role.bundle);
      self.clock = cycles();
      self.stats.ledger.charge(telemetry::Stage::top_half, self.clock - found);
    } else if (!serve(self, role)) {
      return false;
    }
    mark = self.clock;
    ladder.served(mark);
  }
  pool_.leave(self, role);
  return true;
}

// Split mode. Without memory for the queue its requests are accepted here, and others serve them.
void Server::Core::hand_out(ServiceThread& self, const Bundle& bundle) {
  if (split_.add(bundle)) {
    pool_.wake_one();
  } else {
    accept_bundle(self, bundle);
  }
}

bool Server::Core::serve(ServiceThread& self, Role& role) {
  role.batch.clear();
  role.batch_next = 0;
  return walk_bundle(self, role);
}

bool Server::Core::walk_bundle(ServiceThread& self, Role& role) {
  self.answered.clear();
  SpotReads reads(*this, self, role);
  const std::uint64_t processed =
      bottom_half_.process(role.bundle,
                           {role.openness, role.trace, false, admission_.by_tenant(), self.clock,
                            SpotReads::permitted(*this, role) ? &reads : nullptr},
                           role.batch, self.answered, self.stats);
  const bool lost = processed == 0;
  if (!lost) {
    self.clock = processed;
    role.walking = false;
  }
  if (!self.answered.empty()) {
    backend_->resume(self.answered.data(), self.answered.size());
    if (!lost) {
      self.clock = cycles();
      self.stats.ledger.charge(telemetry::Stage::completion, self.clock - processed);
    }
  }
  if (lost) {
    reads.answer_late();
    return false;
  }
  return role.batch.empty() || serve_accepted(self, role);
}

bool Server::Core::serve_accepted(ServiceThread& self, Role& role) {
  if (admission_.by_tenant()) park_faults(self, role);
  if (FaultDesk::take(self, role.batch)) {
    if (!faults_.serve(self, &role)) return false;
    self.clock = cycles();
  }
  return run_batch(self, role) && settle_waiting(self, role);
}

bool Server::Core::run_batch(ServiceThread& self, Role& role) {
  if (role.batch_next == role.batch.size()) return true;
  pool_.begins_calls(role.calls_begun);
  std::uint64_t mark = self.clock;
  std::uint64_t answering = 0;  // Since then, what answers took.
  std::uint64_t run = 0;        // Since then, calls before this one.
  std::uint32_t served = 0;
  while (role.batch_next < role.batch.size()) {
    // A unit serves what it found although a cap has just come: it cannot sleep for a budget.
    const bool passes = !self.is_unit || !admission_.governed();
    if (!admission_.by_tenant()) {
      if (passes && admission_.pass(self.account, served)) {
        mark = cycles();
        answering = 0;  // Of the few before a cap was set, whose books the CPU clock makes good.
        run = 0;
      }
    } else if (!admits(self, role.batch[role.batch_next].request)) {
      if (park(self, role, role.batch[role.batch_next])) {
        ++role.batch_next;
        continue;
      }
    }
    served = 1;
    // Copied out: once the role is taken over, the batch is the taker's.
    Pending pending = role.batch[role.batch_next++];
    const std::size_t left = role.batch.size() - role.batch_next;
    if (left == 1) role.top_half.prefetch_rings();
    if (left == 0 && role.batch.size() > 1) role.top_half.prefetch_slots();
    pending.begun = mark;
    self.call.begin();
    const services::Answer result = system_calls_.attempt(self, pending);
    self.call.end();
    const bool kept = role.word.still_held_by(self.index);
    if (!kept) {
      system_calls_.note_waited(pending.request);
      if (result.would_wait && result.readiness.descriptor >= 0) {
        pending.readiness = result.readiness;
        set_aside(pending);
      } else if (result.would_wait) {
        run_call(self, pending);
      } else {
        answers_.answer_late(self.stats, pending.request, result.value, {pending.begun, cycles()});
      }
      return false;
    }
    // A look at the clock takes as long as an answer. Where the next request is of the same call
    // and tenant and neither is timed, one look is taken for both; not under a cap, where the next
    // may have to wait.
    if (!result.would_wait && left != 0 && !admission_.governed() &&
        alike(pending.request, role.batch[role.batch_next].request)) {
      answers_.answer_untimed(self.stats, pending.request, result.value, mark);
      answering += self.answer_cycles;
      ++run;
      continue;
    }
    const std::uint64_t executed = cycles();
    // The answers may have taken less than was thought.
    const std::uint64_t service = executed > mark + answering ? executed - mark - answering : 0;
    system_calls_.note_service(pending.request, run + 1, service);
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
    answers_.answer(self.stats, pending.request, result.value, {pending.begun, executed});
    // Measured behind the last of a batch; the others are taken to cost what that did.
    if (left == 0) self.answer_cycles = cycles() - executed;
    mark = executed + self.answer_cycles;
    self.stats.ledger.charge_request(service, answering + self.answer_cycles, call, tenant);
    answering = 0;
    if (self.stats.ledger.due(mark, settle_cycles_)) settle(self, role, mark);
  }
  self.clock = mark;
  return true;
}

bool Server::Core::settle_waiting(ServiceThread& self, Role& role) {
  if (role.waiting.empty()) return true;
  admission_.leave(self.account);  // The next holder of the role needs the rest of the grants.
  // A call that waits for a disk is short: for such calls alone the poller stays.
  bool may_go = !self.is_unit && !role.on_units.load(std::memory_order_relaxed);
  may_go = may_go && std::any_of(role.waiting.begin(), role.waiting.end(),
                                 [](const Pending& call) { return !call.keeps_role; });
  std::erase_if(role.waiting, [this](const Pending& call) { return descriptors_.take(call); });
  Pending first;
  if (role.waiting.empty() || !pool_.queue_or_follow(self, role, role.waiting, may_go, first)) {
    return true;
  }
  self.stats.hand_offs.add();
  run_call(self, first);
  return false;
}

bool Server::Core::rest(ServiceThread& self, const Role& role, Notify notify,
                        std::uint32_t longest_us) {
  self.stats.parks.add();
  const auto longest = std::chrono::microseconds(longest_us);
  const auto positions = roles_.positions(role);
  if (notify == Notify::interrupt) {
    backend_->wait_doorbell(positions.data(), longest);
    return false;
  }
  const backend::LaunchWait launch = backend_->wait_launch(positions.data(), no_launch_max);
  if (launch == backend::LaunchWait::in_progress) std::this_thread::sleep_for(longest);
  return launch == backend::LaunchWait::began;
}

// Top half i of n gets every n-th of the cores, from the i-th on; with more halves than cores, one.
void Server::Core::place(ServiceThread& self, const Role& role) {
  cpu_set_t cores = home_cores_;
  {
    const std::lock_guard lock(mutex_);
    if (config_.steering == Steering::steered && !config_.cores.empty()) {
      CPU_ZERO(&cores);
      const std::size_t count = config_.cores.size();
      const std::size_t step = std::min<std::size_t>(config_.top_halves, count);
      for (std::size_t at = role.index % step; at < count; at += step) {
        CPU_SET(config_.cores[at], &cores);
      }
    } else if (!self.placed) {
      return;
    }
  }
  if (self.placed && CPU_EQUAL(&cores, &self.cores) != 0) return;
  // A core that went offline meanwhile: the thread stays where it is, and keeps serving.
  if (pthread_setaffinity_np(pthread_self(), sizeof(cores), &cores) != 0) return;
  self.cores = cores;
  self.placed = true;
}

}  // namespace k2k::server
