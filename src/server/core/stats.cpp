// The statistics of the whole server.

#include <chrono>

#include "server/account/calibration.hpp"
#include "server/core/core.hpp"

namespace k2k::server {

Stats Server::Core::stats() const {
  // Before the locks: the first call measures.
  const double interrupt_s = std::chrono::duration<double>(calibrated_costs().interrupt).count();
  Stats stats;
  threads_.add_to(stats);
  stats.coalescing_changes = roles_.coalescing_changes();
  stats.interrupt_seconds = static_cast<double>(stats.wakes) * interrupt_s;
  stats.times.merge(backend_->call_report());
  stats.governor = admission_.stats();
  stats.faults = backend_->fault_report();
  stats.detached_errors = answers_.errors().list();
  return stats;
}

std::vector<telemetry::Event> Server::Core::events() const { return threads_.events(); }

}  // namespace k2k::server
