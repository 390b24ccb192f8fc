#include "server/core/inline_units.hpp"

#include <unistd.h>

#include <algorithm>
#include <new>

#include "base/clock.hpp"

namespace k2k::server {

namespace {
// Bundles that a unit serves before it returns to its own work-items.
constexpr int bundles_max = 4;
// A unit charges its CPU time before it sleeps, unless the last charge is more recent than this.
constexpr std::uint32_t settle_at_rest_us = 200;
}  // namespace

backend::InlineService::Found InlineUnits::serve(std::uint32_t unit, Reach reach) noexcept {
  ServiceThread& self = *units_[unit];
  const std::uint32_t roles = parts_.roles.wanted();
  Found found = Found::nothing;
  const std::uint32_t steps = reach == Reach::own ? std::min(roles, 1u) : roles;
  for (std::uint32_t step = 0; step < steps; ++step) {
    Role& role = parts_.roles.at((unit + step) % roles);
    if (!role.word.take(self.index)) {
      if (found == Found::nothing) found = Found::busy;
      continue;
    }
    // stand_by() waits for a vacant role, so the unit gives the role back at once.
    if (!parts_.roles.wanted(role) || !parts_.service.units_serve(role)) {
      role.word.vacate(self.index);
      continue;
    }
    if (serve_role(self, role)) found = Found::served;
  }
  return found;
}

bool InlineUnits::serve_role(ServiceThread& self, Role& role) {
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
      self.system_thread.store(::gettid(), std::memory_order_release);
    }
    if (served) ledger.charge(telemetry::Stage::top_half, self.clock - begun);
    served = true;
    if (!parts_.service.serve(self, role)) return true;
  }
  role.word.vacate(self.index);
  if (served && ledger.due(self.clock, parts_.service.settle_cycles())) self.settle(cycles());
  return served;
}

void InlineUnits::rest(std::uint32_t unit) noexcept {
  ServiceThread& self = *units_[unit];
  const std::uint64_t moment = cycles();
  if (self.ledger_begun && self.stats.ledger.due(moment, cycles_of(settle_at_rest_us))) {
    self.settle(moment);
  }
}

bool InlineUnits::begin(const ServerConfig& config) {
  if (config.bottom_half != BottomHalfMode::on_unit) return true;
  const std::uint32_t units = parts_.backend.info().compute_units;
  try {
    units_.reserve(units);
    while (units_.size() < units) units_.push_back(&parts_.threads.add_unit());
  } catch (const std::bad_alloc&) {
    return false;
  }
  began_ = true;
  parts_.backend.serve_inline(this);
  return true;
}

void InlineUnits::end() {
  if (began_) parts_.backend.serve_inline(nullptr);
  began_ = false;
}

}  // namespace k2k::server
