#pragma once
// A thread that serves requests: a thread of the pool, another service thread, or a unit of the
// device.
//
// Threading: members belong to the thread itself, unless their comments say otherwise. `call` and
// the counters of `stats` may be read from anywhere.

#include <sched.h>
#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "server/account/thread_stats.hpp"
#include "server/govern/service_account.hpp"
#include "server/poll/bottom_half.hpp"
#include "server/waits/sleeping_calls.hpp"
#include "services/fault.hpp"
#include "telemetry/mark.hpp"

namespace k2k::server {

// The most requests that a role's holder serves at once: coalesce_max, or the requests that a
// rescan finds, plus the doorbell that exceeds the limit; or the parked requests that are served
// together.
inline constexpr std::size_t bundle_requests_max =
    std::max<std::size_t>(4'096, services::faults_max* protocol::tenants_max) +
    protocol::wave_lanes_max;

struct ServiceThread {
  std::uint32_t index = 0;  // From 1; 0 in a RoleWord means vacant.
  std::thread thread;       // Owned by ServiceThreads.
  telemetry::Mark call;     // Set while it is in a call and holds a role.
  ThreadStats stats;
  ServiceAccount account;
  bool is_unit = false;             // A unit of the device, which serves between its work-items.
  std::uint64_t clock = 0;          // This thread's last reading of cycles().
  std::uint64_t answer_cycles = 0;  // Duration of its last measured answer.
  std::vector<std::uint32_t> answered;  // Rows to resume; scratch.
  std::vector<Pending> batch;           // Split mode; scratch.
  std::vector<services::Fault> faults;  // Scratch.
  cpu_set_t cores{};                    // The cores on which it may run, once it is placed.
  bool placed = false;
  bool ledger_begun = false;            // Of a unit, whose first request begins its ledger.
  std::atomic<pid_t> system_thread{0};  // Of a unit that has served: its number in the system.
  enum class Enclosure : std::uint8_t { pending, inherited, done, failed };
  std::atomic<Enclosure> enclosure{Enclosure::done};  // For the thread that starts this one.
  SleepingCalls::Sleeper sleeper;                     // The call that may keep it.
  bool ended = false;                                 // Under the lock of ServiceThreads.
  std::int64_t cpu_ns = 0;                            // Likewise: its CPU time once it ended.

  // Reserves room for the largest bundle, so that serving allocates no memory.
  void reserve() {
    answered.reserve(bundle_requests_max);
    batch.reserve(bundle_requests_max);
    faults.reserve(bundle_requests_max);
    stats.shares.reserve(bundle_requests_max);
  }

  // Charges CPU time to the ledger (telemetry/ledger.hpp).
  void charge(telemetry::Stage stage, std::uint64_t cycles, const services::Request& request) {
    stats.ledger.charge(stage, cycles, call_place(request.row), tenant_place(request.attributes));
  }
  void settle(std::uint64_t moment) {
    if (is_unit) {
      stats.ledger.settle_part(moment, thread_time(), nanoseconds_per_cycle(), this_core());
    } else {
      stats.ledger.settle(moment, thread_time(), nanoseconds_per_cycle(), this_core());
    }
  }
};

// The tenant that owns a request.
inline std::uint32_t tenant_of(const services::Request& request) {
  return static_cast<std::uint32_t>(tenant_place(request.attributes));
}

}  // namespace k2k::server
