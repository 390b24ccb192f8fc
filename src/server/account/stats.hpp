#pragma once
// The statistics of a running server: plain numbers, cheap to copy. Counters of one copy may be
// read at slightly different moments.

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
  double cpu_seconds = 0;  // Of service threads, including its part of polling and waking.
};

// The requests of one tenant: LaunchShape::tenant.
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

// One budget of server.tenants; unnamed tenants share the budget of tenant 0.
struct BudgetStats {
  std::uint32_t tenant = 0;
  double part = 0;  // Fraction of all cores' CPU time, without time that other budgets lend.
  double throttled_seconds = 0;
  std::uint64_t waits = 0;
};

// The effects of the cap; all zero without a cap.
struct GovernorStats {
  double cap = 0;                // In force; fraction of the CPU time of all cores.
  double throttled_seconds = 0;  // Waiting time that the governor ordered.
  std::uint64_t waits = 0;       // Timers armed.
  std::uint64_t forced = 0;      // Requests served in debt, because every wait is bounded.
  // All CPU time that was held against the cap: of service threads, of their wake-ups, and the
  // parts below but `free_seconds`.
  double charged_seconds = 0;
  // The sensors of `displaced` and `auto`, and their readings.
  std::string sensors;  // "idle cores"; "canary, pressure", or why one is missing.
  // CPU time of the sensors' thread, of the ticker of `backoff`, and of the limit keeper under a
  // cap; not part of Stats::thread_seconds, which is compared with the ledger of the service
  // threads.
  double sensor_seconds = 0;
  // Charged for the possible work of kernel threads for calls like fsync: the time that service
  // threads waited for such calls. Not part of any other sum.
  double kernel_thread_seconds = 0;
  // Charged for interrupts behind requests, at `interrupt_us` each (interrupt_cost.hpp). Not part
  // of any other sum.
  double request_interrupt_seconds = 0;
  double interrupt_us = 0;
  // How Linux accounts for interrupts: "measured", "sampled", or "" where it is not known (yet).
  std::string interrupts;
  double free_seconds = 0;         // `displaced`: CPU time that no program wanted; not charged.
  std::uint64_t masked_rests = 0;  // `displaced`: rests in which no doorbell could wake a core.
  double loss = 0;                 // `auto`: loss of CPU programs at the last sample; a fraction.
  // The machine's limit (host/share.hpp) and this runtime's part of it; all zero without a host
  // limit.
  double host_limit = 0;
  double host_part = 0;
  std::uint32_t host_holders = 0;    // Runtimes that share it now, including this one.
  std::vector<BudgetStats> budgets;  // Empty unless tenants have budgets.
  // Guarantees of tenants that the cap does not allow, with the missing share and the remedy.
  std::vector<std::string> conflicts;
};

// The control socket of the runtime (control/listener.hpp), filled in by the façade: the server has
// none.
struct ControlStats {
  std::string socket;            // Its path; "" if there is no socket,
  std::string absent;            // and then the reason.
  double cpu_seconds = 0;        // Of its thread; not part of any sum of the server.
  std::string device_file = {};  // Its path; "" without control.device_file.
};

// The device and its launches, filled in by the façade.
struct DeviceStats {
  std::string platform;
  std::uint32_t compute_units = 0;
  std::uint32_t wave_lanes = 0;
  std::uint32_t resident_waves = 0;  // Of all units together.
  std::uint32_t group_items_max = 0;
  std::uint64_t local_bytes_max = 0;  // Of a work-group.
  std::uint64_t area_bytes = 0;       // Shared with the host for system calls.
  std::uint64_t launches = 0;         // That have ended, with an error or without.
  std::uint32_t launching = 0;        // That run, or wait for the one that runs.
};

struct Stats {
  // Statistics of the router, filled in by the façade; zeros without a router.
  router::ReaderStats files;
  DeviceStats device;
  std::vector<CallStats> calls;  // Calls made at least once, most frequent first.
  std::uint64_t requests = 0;
  std::uint64_t doorbells = 0;  // Entries taken from the rings.
  std::uint64_t bundles = 0;    // requests / bundles = mean bundle size.
  std::uint64_t rescued = 0;    // Found by the rescan instead of a doorbell.
  std::uint64_t refused = 0;    // By policy or validation.
  std::uint64_t hand_offs = 0;  // Polling handed to another thread before a wait.
  std::uint64_t takeovers = 0;  // Polling taken from a thread whose call took long.
  std::uint64_t parks = 0;      // Times a poller went to sleep.
  std::uint64_t wakes =
      0;  // Times a doorbell woke a poller: interrupts. doorbells - wakes = saved.
  // Staged bottom half: wake-ups of its pre-processing thread, and the requests that it accepted.
  std::uint64_t preprocess_wakes = 0;
  std::uint64_t preprocessed = 0;
  std::uint64_t in_flight = 0;  // Accepted and not yet answered.
  std::uint32_t threads = 0;
  std::uint64_t coalescing_changes = 0;  // Times that adaptive coalescing chose another setting.
  std::array<double, telemetry::stage_count> stage_seconds{};  // As the ledger has it.
  std::vector<TenantStats> tenants;                            // Tenants with requests, by number.
  std::vector<CoreStats> cores;    // Cores on which service threads ran, by number.
  double idle_seconds = 0;         // The ledger's time without requests. Tenants have the rest.
  double thread_seconds = 0;       // The observer's: CPU clocks of all service threads.
  double interrupt_seconds = 0;    // In neither sum: CPU time of waking threads, at measured cost.
  telemetry::RequestReport times;  // All answered requests, page faults included.
  GovernorStats governor;
  ControlStats control;
  telemetry::RequestReport faults;  // Page faults of kernels.
  std::uint64_t fault_ranges = 0;   // Ranges of neighbouring pages that were resolved together.
  std::vector<DetachedError> detached_errors;  // Since the last drain().
};

}  // namespace k2k::server
