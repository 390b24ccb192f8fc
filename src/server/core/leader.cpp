#include "server/core/leader.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "base/clock.hpp"
#include "base/naps.hpp"
#include "server/poll/poll_ladder.hpp"

namespace k2k::server {

namespace {

// Polls between two clock readings: few enough for the ladder, enough to make the readings cheap.
constexpr int polls_per_clock = 32;
// A leader charges its CPU time before it sleeps, unless the last charge is more recent than this.
constexpr std::uint32_t settle_asleep_us = 200;
// A poller looks again this often although no kernel runs.
constexpr auto no_launch_max = std::chrono::milliseconds(100);
// While looks find nothing, a thread that stands by looks more and more rarely, down to every
// eighth rescan_us. If all cores are busy, each look interrupts a unit.
constexpr std::uint32_t looks_stretch_max = 8;

// The time until a parked request may be served.
std::uint32_t parked_us(const Role& role) {
  constexpr std::uint32_t longest = 1'000'000;
  const std::uint64_t due = role.parked.due();
  if (due == ParkedRequests::never) return longest;
  const std::uint64_t moment = cycles();
  if (due <= moment) return 0;
  const double us = static_cast<double>(due - moment) * nanoseconds_per_cycle() / 1000;
  return us < longest ? static_cast<std::uint32_t>(us) + 1 : longest;
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

Leader::Leader(const Parts& parts) : parts_(parts) {}

bool Leader::lead(ServiceThread& self, Role& role) {
  take_from_units(self, role);
  place(self, role);
  self.clock = cycles();
  // A predecessor whose call lasted too long has left requests.
  if (!parts_.service.serve_rest(self, role)) return false;

  std::uint64_t mark = cycles();  // The time of the last charge.
  const bool hands_out = hands_bundles_out(parts_.config.bottom_half);
  PollLadder ladder(parts_.config, mark);
  const std::uint64_t settle_period = parts_.service.settle_cycles();
  const std::uint64_t settle_period_asleep = cycles_of(settle_asleep_us);
  int polls = 0;
  bool slept = false;
  bool woken = false;  // It was woken before the end of its sleep.
  if (role.adaptive.on()) role.adaptive.begin(parts_.service.counted(self, role), mark);
  bool looks_behind = false;  // Look after a masked rest.
  while (parts_.roles.wanted(role)) {
    if (parts_.service.units_serve(role)) {
      stand_by(self, role);
      mark = cycles();
      ladder.restart(mark);
      continue;
    }
    if (parts_.admission.pass(self.account, 0)) {
      mark = cycles();
      continue;  // The state may have changed meanwhile.
    }
    if (role.parked.count() != 0 && cycles() >= role.parked.due()) {
      if (!parts_.service.serve_parked(self, role)) return false;
      mark = cycles();
    }
    role.bundle.clear();
    if (!role.top_half.collect(role.bundle, self.stats)) {
      if (++polls < polls_per_clock) continue;
      polls = 0;
      relax();
      if (parts_.backend.advance()) continue;
      const std::uint64_t moment = cycles();
      if (self.stats.ledger.due(moment, settle_period)) {
        self.stats.ledger.charge(telemetry::Stage::polling, moment - mark);
        mark = moment;
        parts_.service.settle(self, role, moment);
      }
      if (moment >= role.top_half.rescan_due() && !parts_.split_queue.bundles_wait()) {
        const std::uint64_t idle = ladder.idle(moment);
        if (role.top_half.rescan(role.bundle, self.stats, moment, idle) == 0) continue;
      } else {
        // Under a cap the budget pays for spinning, so do not spin.
        const PollLadder::Step step =
            parts_.admission.governed() ? PollLadder::Step::sleep : ladder.next(moment);
        if (step == PollLadder::Step::sleep) {
          self.stats.ledger.charge(telemetry::Stage::polling, moment - mark);
          if (self.stats.ledger.due(moment, settle_period_asleep))
            parts_.service.settle(self, role, moment);
          // Look once after each masked rest, then wait for the doorbell.
          if (looks_behind) {
            parts_.admission.leave(self.account);
          } else if (parts_.admission.rest_masked(self.account)) {
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
          const bool launched = rest(self, role, parts_.config.notify, longest_us);
          parts_.admission.woken(self.account);
          slept = true;
          mark = cycles();
          woken = mark - moment < cycles_of(longest_us);
          if (launched) ladder.restart(mark);
        } else if (step == PollLadder::Step::offer || parts_.backend.waits_for_this_core()) {
          sched_yield();
        }
        continue;  // Read the rings first, so that no doorbell rung meanwhile is lost.
      }
    }
    const std::uint64_t found = cycles();
    self.clock = found;
    ladder.found(found);
    looks_behind = false;
    self.stats.ledger.charge(telemetry::Stage::polling, found - mark);
    if (slept) self.stats.wakes.add();
    slept = false;
    if (self.stats.ledger.due(found, settle_period)) parts_.service.settle(self, role, found);
    if (hands_out) {
      parts_.split.hand_out(self, role.bundle);
      self.clock = cycles();
      self.stats.ledger.charge(telemetry::Stage::top_half, self.clock - found);
    } else if (!parts_.service.serve(self, role)) {
      return false;
    }
    mark = self.clock;
    ladder.served(mark);
  }
  parts_.pool.leave(self, role);
  return true;
}

void Leader::stand_by(ServiceThread& self, Role& role) {
  std::array<std::uint64_t, protocol::ring_count_max> positions;
  positions.fill(backend::any_position);  // Units move the positions of their rings.
  bool held = true;
  std::uint32_t stretch = 1;
  while (parts_.roles.wanted(role) && parts_.service.units_serve(role)) {
    const Look look = held ? look_after(self, role) : Look::lost;
    if (look != Look::lost) role.word.vacate(self.index);
    self.settle(cycles());
    self.stats.parks.add();
    if (parts_.backend.wait_launch(positions.data(), no_launch_max) ==
        backend::LaunchWait::in_progress) {
      stretch = look == Look::served ? 1 : std::min(stretch * 2, looks_stretch_max);
      parts_.pool.stand_by(role, std::chrono::microseconds(parts_.config.rescan_us) * stretch);
    } else {
      stretch = 1;
    }
    held = role.word.take(self.index);
  }
  if (!held) take_from_units(self, role);
}

// Waits until the unit, or the thread that rescues the role from a stuck unit, has vacated the
// role.
void Leader::take_from_units(const ServiceThread& self, Role& role) {
  if (!role.on_units.load(std::memory_order_relaxed)) return;
  Naps naps(std::chrono::microseconds(10), std::chrono::milliseconds(1));
  while (role.word.view().holder != self.index && !role.word.take(self.index)) naps.take();
}

Leader::Look Leader::look_after(ServiceThread& self, Role& role) {
  Look look = Look::nothing;
  while (parts_.roles.wanted(role)) {
    role.bundle.clear();
    self.clock = cycles();
    if (!role.top_half.collect(role.bundle, self.stats) &&
        (self.clock < role.top_half.rescan_due() ||
         role.top_half.rescan(role.bundle, self.stats, self.clock) == 0)) {
      if (!role.top_half.pass_holes(self.clock, true)) return look;
      continue;
    }
    if (!parts_.service.serve(self, role)) return Look::lost;
    look = Look::served;
  }
  return look;
}

void Leader::rescue(ServiceThread& self, Role& role) {
  self.clock = cycles();
  parts_.pool.end_rescue(self, role, parts_.service.serve_rest(self, role));
}

bool Leader::rest(ServiceThread& self, const Role& role, Notify notify, std::uint32_t longest_us) {
  self.stats.parks.add();
  const auto longest = std::chrono::microseconds(longest_us);
  const auto positions = parts_.roles.positions(role);
  if (notify == Notify::interrupt) {
    parts_.backend.wait_doorbell(positions.data(), longest);
    return false;
  }
  const backend::LaunchWait launch = parts_.backend.wait_launch(positions.data(), no_launch_max);
  if (launch == backend::LaunchWait::in_progress) std::this_thread::sleep_for(longest);
  return launch == backend::LaunchWait::began;
}

// Top half i of n gets every n-th core, starting with core i; one core if there are more top halves
// than cores.
void Leader::place(ServiceThread& self, const Role& role) const {
  const ServerConfig& config = parts_.config;
  if (config.steering == Steering::spread) return placement_.put(self, cores_of({}));
  const std::size_t step = std::min<std::size_t>(config.top_halves, config.cores.size());
  placement_.put(self, step == 0 ? cores_of({}) : cores_of(config.cores, role.index % step, step));
}

}  // namespace k2k::server
