#pragma once
// A thread that serves requests: of the pool, beside it, or a unit of the device.
//
// Threading: members belong to the thread itself, except where they say otherwise. `call` and the
// counters of `stats` may be read from anywhere.

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

// The most requests that a role's holder works on at once: coalesce_max, or the requests that a
// rescan finds, and the doorbell that exceeds it; or the parked requests that are served together.
inline constexpr std::size_t bundle_requests_max =
    std::max<std::size_t>(4'096, services::faults_max* protocol::tenants_max) +
    protocol::wave_lanes_max;

struct ServiceThread {
  std::uint32_t index = 0;  // From 1; 0 in a RoleWord means vacant.
  std::thread thread;       // Of ServiceThreads.
  telemetry::Mark call;     // Is it in a call, holding a role?
  ThreadStats stats;
  ServiceAccount account;
  bool is_unit = false;             // A unit of the device, which serves between its work-items.
  std::uint64_t clock = 0;          // cycles(), as this thread last read them.
  std::uint64_t answer_cycles = 0;  // The time that its last measured answer took.
  std::vector<std::uint32_t> answered;  // Rows to resume; scratch.
  std::vector<Pending> batch;           // Split mode; scratch.
  std::vector<services::Fault> faults;  // Scratch.
  cpu_set_t cores{};                    // The cores on which it may run, once it was placed.
  bool placed = false;
  bool ledger_begun = false;            // Of a unit, whose first request begins its ledger.
  std::atomic<pid_t> system_thread{0};  // Of a unit that has served: its number in the system.
  enum class Enclosure : std::uint8_t { pending, inherited, done, failed };
  std::atomic<Enclosure> enclosure{Enclosure::done};  // For the thread that starts this one.
  SleepingCalls::Sleeper sleeper;                     // The call that may keep it.
  bool ended = false;                                 // Under the lock of ServiceThreads.
  std::int64_t cpu_ns = 0;                            // Likewise: its CPU time once it ended.

  // Room for all that one bundle can fill, so that serving it needs no memory.
  void reserve() {
    answered.reserve(bundle_requests_max);
    batch.reserve(bundle_requests_max);
    faults.reserve(bundle_requests_max);
    stats.shares.reserve(bundle_requests_max);
  }

  // The books of CPU time (telemetry/ledger.hpp).
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

// The tenant whose account a request is on.
inline std::uint32_t tenant_of(const services::Request& request) {
  return static_cast<std::uint32_t>(tenant_place(request.attributes));
}

}  // namespace k2k::server
