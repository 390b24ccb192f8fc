#include "backend/cpu/launches.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "backend/cpu/watchdog.hpp"
#include "backend/demand_pages.hpp"
#include "backend/futex.hpp"
#include "backend/limits.hpp"
#include "backend/sweep.hpp"
#include "base/clock.hpp"

namespace k2k::backend::cpu {

Result<LaunchReport> Launches::launch(const KernelImage& kernel, const LaunchShape& shape) {
  if (units_.forked()) {
    return Error{EPERM, "the k2k runtime was created before fork(); create a new one in the child"};
  }
  if (const Status fits = check(kernel, shape); !fits) return fits.error();
  const std::lock_guard lock(launching_);
  LaunchState& state = units_.launch();
  const std::uint32_t units = std::min(state.unit_count, shape.groups);
  if (const Status started = units_.start_threads(units); !started) return started.error();

  const KernelRuns runs;
  const Instant started = now();
  begin(kernel, shape, units);
  // Without a core to spare, a poller would only take one from a unit.
  if (units_.take_all_cores(units)) {
    parking_.launch_begins_silently();
  } else {
    parking_.launch_begins();
  }
  release_edge(state.begun);
  units_.start(units);
  await_units();
  acquire_edge(state.ended);

  if (abandoned() && on_abandon_) on_abandon_();
  LaunchReport report;
  report.unredeemed_tickets = sweep(area_);
  parking_.launch_ended();
  report.elapsed = now() - started;
  report.fibre_switches = units_.switches();
  const auto stop = static_cast<int>(state.stop.load(std::memory_order_acquire));
  if (stop == 0) return report;
  if (stop == ECANCELED) {
    return Error{ECANCELED, "kernel '" + std::string(kernel.name) + "' was cancelled"};
  }
  return Error{stop, state.failure};
}

void Launches::cancel() noexcept {
  LaunchState& state = units_.launch();
  std::uint32_t running_on = 0;
  state.stop.compare_exchange_strong(running_on, ECANCELED);
  state.wake_units();
}

Status Launches::check(const KernelImage& kernel, const LaunchShape& shape) const {
  // Made where something is wrong: a launch needs no memory.
  const auto name = [&] { return "kernel '" + std::string(kernel.name) + "': "; };
  if (kernel.protocol_version != protocol::version || kernel.layout_hash != protocol::layout_hash) {
    return Error{EINVAL, name() + "built for protocol " + std::to_string(kernel.protocol_version) +
                             " layout " + std::to_string(kernel.layout_hash) +
                             ", this runtime has protocol " + std::to_string(protocol::version) +
                             " layout " + std::to_string(protocol::layout_hash) +
                             "; rebuild the kernel against this release"};
  }
  if (shape.groups == 0) {
    return Error{EINVAL, name() + "a launch has at least 1 work-group, not 0"};
  }
  if (shape.group_items == 0 || shape.group_items > info_.group_items_max) {
    return Error{EINVAL, name() + "a work-group has 1 to " + std::to_string(info_.group_items_max) +
                             " work-items, not " + std::to_string(shape.group_items)};
  }
  return shape.tenant < protocol::tenants_max ? Status() : check_tenant(name(), shape.tenant);
}

void Launches::begin(const KernelImage& kernel, const LaunchShape& shape, std::uint32_t units) {
  for (device::platform::KernelSite& site : sites_) site = {};
  LaunchState& state = units_.launch();
  state.entry = kernel.entry;
  state.closure = kernel.closure;
  state.name = kernel.name;
  state.groups = shape.groups;
  state.group_items = shape.group_items;
  state.tenant = shape.tenant;
  state.units_used = units;
  state.sites = sites_;
  state.next_group.store(0, std::memory_order_relaxed);
  state.failed.store(0, std::memory_order_relaxed);
  state.stop.store(0, std::memory_order_relaxed);
  state.units_running.store(units, std::memory_order_relaxed);
}

void Launches::await_units() {
  LaunchState& state = units_.launch();
  Watchdog watchdog(state, watchdog_, now());
  while (true) {
    // Pairs with thread_main().
    const std::uint32_t left = state.units_running.load(std::memory_order_acquire);
    if (left == 0) return;
    if (!watchdog.enabled()) {
      futex_wait(state.units_running, left);
      continue;
    }
    futex_wait(state.units_running, left, watchdog.period());
    if (watchdog.check(units_.progress(), now())) report_stall(watchdog.text());
  }
}

void Launches::report_stall(const std::string& text) const {
  if (stall_report_) return stall_report_(text);
  std::fprintf(stderr, "%s\n", text.c_str());
}

}  // namespace k2k::backend::cpu
