#pragma once
// The statistics of a running server: plain numbers, a consistent-enough copy, cheap to take.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "router/read/reader_stats.hpp"
#include "telemetry/snapshots.hpp"

namespace k2k::server {

struct CallStats {
  std::string name;  // "read"; "call 321" for one without a row.
  std::uint16_t number = 0;
  std::uint64_t count = 0;
  std::uint64_t errors = 0;  // Answers that were a negative errno.
  // Nanoseconds from the device's publication to the host's answer.
  telemetry::HistogramSnapshot latency_cycles;
  double p50_us = 0;
  double p99_us = 0;
  double cpu_seconds = 0;  // Of service threads, with its part of polling, sleeping and waking.
};

// Of the requests of one tenant: LaunchShape::tenant.
struct TenantStats {
  std::uint32_t tenant = 0;
  std::uint64_t requests = 0;
  double cpu_seconds = 0;  // As CallStats.
};

struct CoreStats {
  std::uint32_t core = 0;
  double cpu_seconds = 0;
};

struct DetachedError {
  std::string name;  // Of the call.
  int error = 0;     // A positive errno.
  std::uint64_t count = 0;
};

// One budget of server.tenants; tenants that are not named there share the budget of tenant 0.
struct BudgetStats {
  std::uint32_t tenant = 0;
  double part = 0;  // Of all cores' CPU time: its own, without time that others leave it.
  double throttled_seconds = 0;
  std::uint64_t waits = 0;
};

// The effects of the cap; all zero without one.
struct GovernorStats {
  double cap = 0;                // In force; fraction of the CPU time of all cores.
  double throttled_seconds = 0;  // Time ordered to be waited.
  std::uint64_t waits = 0;       // Timers armed.
  std::uint64_t forced = 0;      // Requests served in debt, because none may wait for ever.
  // The sensors of `displaced` and `auto`, and their readings.
  std::string sensors;  // "idle cores"; "canary, pressure", or why one is missing.
  // CPU time of their thread, of the ticker of `backoff`, and under a cap of the limit keeper; not
  // in Stats::thread_seconds, which is compared with the ledger of the service threads.
  double sensor_seconds = 0;
  // Charged for the possible work of kernel threads for calls like fsync: the time that
  // service threads waited for them. In no other sum.
  double kernel_thread_seconds = 0;
  double free_seconds = 0;         // `displaced`: CPU time that no program wanted; not charged.
  std::uint64_t masked_rests = 0;  // `displaced`: rests in which no doorbell could wake a core.
  double loss = 0;                 // `auto`: of CPU programs, at the last sample; a fraction.
  // The machine's limit (host/share.hpp) and the part of it that this runtime has; all zero where
  // there is none.
  double host_limit = 0;
  double host_part = 0;
  std::uint32_t host_holders = 0;    // That share it now, this runtime among them.
  std::vector<BudgetStats> budgets;  // Where tenants have their own.
  // Guarantees of tenants that the cap does not allow, with the missing share and the remedy.
  std::vector<std::string> conflicts;
};

// The control socket of the runtime (control/listener.hpp), told by the façade: the server has
// none.
struct ControlStats {
  std::string socket;      // Its path; "" if there is none,
  std::string absent;      // and then why.
  double cpu_seconds = 0;  // Of its thread; in none of the server's sums.
};

struct Stats {
  // Of the router of file data, told by the façade; zeros without one.
  router::ReaderStats files;
  std::vector<CallStats> calls;  // Those made at least once, most frequent first.
  std::uint64_t requests = 0;
  std::uint64_t doorbells = 0;  // Entries taken from the rings.
  std::uint64_t bundles = 0;    // requests / bundles = how many were coalesced.
  std::uint64_t rescued = 0;    // Found by the rescan instead of a doorbell.
  std::uint64_t refused = 0;    // By policy or validation.
  std::uint64_t hand_offs = 0;  // Polling handed to another thread before a wait.
  std::uint64_t takeovers = 0;  // Polling taken from a thread whose call took long.
  std::uint64_t parks = 0;      // Times a poller went to sleep.
  std::uint64_t wakes = 0;      // Times a doorbell woke it: interrupts. doorbells - wakes = saved.
  std::uint64_t in_flight = 0;  // Accepted and not yet answered.
  std::uint32_t threads = 0;
  std::uint64_t coalescing_changes = 0;  // Times that adaptive coalescing chose another setting.
  std::array<double, telemetry::stage_count> stage_seconds{};  // The ledger's view.
  std::vector<TenantStats> tenants;                            // Tenants with requests, by number.
  std::vector<CoreStats> cores;    // Those on which service threads ran, by number.
  double idle_seconds = 0;         // Of the ledger's: without requests. Tenants have the rest.
  double thread_seconds = 0;       // The observer's: CPU clocks of all service threads.
  double interrupt_seconds = 0;    // Beside both: CPU time of waking threads, at measured cost.
  telemetry::RequestReport times;  // All that were answered, page faults included.
  GovernorStats governor;
  ControlStats control;
  telemetry::RequestReport faults;  // Page faults of kernels.
  std::uint64_t fault_ranges = 0;   // Ranges that they were resolved as: neighbours are one.
  std::vector<DetachedError> detached_errors;  // Since the last drain().
};

}  // namespace k2k::server
