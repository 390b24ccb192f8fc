#include "server/core/inline_service.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <new>

#include "base/clock.hpp"
#include "base/naps.hpp"

namespace k2k::server {

namespace {
// Bundles that a unit serves before it looks at its own work-items again.
constexpr int bundles_max = 4;
// The longest sleep of a thread that stands by while no kernel runs.
constexpr auto no_launch_max = std::chrono::milliseconds(100);
// A unit that sleeps settles its accounts, unless the last settlement is more recent than this.
constexpr std::uint32_t settle_at_rest_us = 200;
}  // namespace

backend::InlineService::Found Server::Core::OnUnits::serve(std::uint32_t unit,
                                                           Reach reach) noexcept {
  ServiceThread& self = *units[unit];
  const std::uint32_t roles = core_->roles_.wanted();
  Found found = Found::nothing;
  const std::uint32_t steps = reach == Reach::own ? std::min(roles, 1u) : roles;
  for (std::uint32_t step = 0; step < steps; ++step) {
    Role& role = core_->roles_.at((unit + step) % roles);
    if (!role.word.take(self.index)) {
      if (found == Found::nothing) found = Found::busy;
      continue;
    }
    // stand_by() waits for a vacant role, so the unit gives the role back at once.
    if (!core_->roles_.wanted(role) || !core_->units_serve(role)) {
      role.word.vacate(self.index);
      continue;
    }
    if (serve_role(self, role)) found = Found::served;
  }
  return found;
}

bool Server::Core::OnUnits::serve_role(ServiceThread& self, Role& role) {
  telemetry::CpuLedger& ledger = self.stats.ledger;
  bool served = false;
  for (int bundle = 0; bundle < bundles_max; ++bundle) {
    role.bundle.clear();
    const std::uint64_t begun = served ? self.clock : 0;
    if (!role.top_half.collect(role.bundle, self.stats)) break;
    self.clock = cycles();
    if (!self.ledger_begun) {
      ledger.begin_part(self.clock, thread_time());
      self.ledger_begun = true;
    }
    if (served) ledger.charge(telemetry::Stage::top_half, self.clock - begun);
    served = true;
    if (!core_->serve(self, role)) return true;
  }
  role.word.vacate(self.index);
  if (served && ledger.due(self.clock, core_->settle_cycles_)) self.settle(cycles());
  return served;
}

void Server::Core::OnUnits::rest(std::uint32_t unit) noexcept {
  ServiceThread& self = *units[unit];
  const std::uint64_t moment = cycles();
  if (self.ledger_begun && self.stats.ledger.due(moment, cycles_of(settle_at_rest_us))) {
    self.settle(moment);
  }
}

bool Server::Core::begin_inline() {
  {
    const std::lock_guard lock(mutex_);
    if (config_.bottom_half != BottomHalfMode::on_unit) return true;
    const std::uint32_t units = backend_->info().compute_units;
    try {
      if (on_units_ == nullptr) on_units_ = std::make_unique<OnUnits>(*this);
      on_units_->units.reserve(units);
      while (on_units_->units.size() < units) on_units_->units.push_back(&threads_.add_unit());
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  backend_->serve_inline(on_units_.get());
  return true;
}

void Server::Core::end_inline() {
  if (on_units_ != nullptr) backend_->serve_inline(nullptr);
}

void Server::Core::stand_by(ServiceThread& self, Role& role) {
  std::array<std::uint64_t, protocol::ring_count_max> positions;
  positions.fill(backend::any_position);  // Units move the positions of their rings.
  bool held = true;
  while (roles_.wanted(role) && units_serve(role)) {
    if (held) look_after(self, role, held);
    if (held) role.word.vacate(self.index);
    held = false;
    self.settle(cycles());
    self.stats.parks.add();
    if (backend_->wait_launch(positions.data(), no_launch_max) ==
        backend::LaunchWait::in_progress) {
      pool_.stand_by(role, std::chrono::microseconds(config_.rescan_us));
    }
    held = role.word.take(self.index);
  }
  if (!held) take_from_units(self, role);
}

// Waits until the unit, or the thread that rescues the role from a stuck unit, has given it back.
void Server::Core::take_from_units(const ServiceThread& self, Role& role) {
  if (!role.on_units.load(std::memory_order_relaxed)) return;
  Naps naps(std::chrono::microseconds(10), std::chrono::milliseconds(1));
  while (role.word.view().holder != self.index && !role.word.take(self.index)) naps.take();
}

void Server::Core::look_after(ServiceThread& self, Role& role, bool& held) {
  while (roles_.wanted(role)) {
    role.bundle.clear();
    self.clock = cycles();
    if (!role.top_half.collect(role.bundle, self.stats) &&
        (self.clock < role.top_half.rescan_due() ||
         role.top_half.rescan(role.bundle, self.stats) == 0)) {
      if (!role.top_half.pass_holes(self.clock, true)) return;
      continue;
    }
    held = serve(self, role);
    if (!held) return;
  }
}

void Server::Core::rescue(ServiceThread& self, Role& role) {
  self.clock = cycles();
  const bool held = (!role.walking || walk_bundle(self, role)) && run_batch(self, role) &&
                    settle_waiting(self, role);
  pool_.end_rescue(self, role, held);
}

}  // namespace k2k::server
