#pragma once
// How requests are served. All of it may be changed while the server runs (Server::reconfigure).

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "governor/policy.hpp"

namespace k2k::server {

enum class Steering : std::uint8_t {
  spread,  // The operating system places top halves.
  // `cores` are divided among the top halves. With more top halves than cores, top half i runs on
  // cores[i % cores.size()].
  steered,
};

enum class Coalescing : std::uint8_t {
  fixed,     // coalesce_window_us and coalesce_max apply.
  adaptive,  // The cheapest of a ladder of settings, by trials (governor/coalescer.hpp).
};

enum class BottomHalfMode : std::uint8_t {
  monolithic,  // Runs right behind the top half, on its thread.
  split,       // Runs on another thread, woken by the top half.
  // The paper's path: one thread pre-processes the bundles of the top halves, several requests a
  // wake-up, and wakes workers, which make the calls.
  staged,
  // Both halves run on the device's units, between work-items, if units are threads of the host.
  // Calls that may sleep are left to service threads, and under a cap all calls are.
  on_unit,
};

// Returns true if the top half hands its bundles to other threads.
constexpr bool hands_bundles_out(BottomHalfMode mode) {
  return mode == BottomHalfMode::split || mode == BottomHalfMode::staged;
}

// How a sleeping poller learns of a doorbell.
enum class Notify : std::uint8_t {
  interrupt,  // The device wakes it.
  polling,    // It looks periodically, because the device cannot wake it: every GPU so far.
};

// Which calls device code may make.
enum class CallPolicy : std::uint8_t {
  io,          // Files, sockets, own memory, time, queries (services::io_rules()).
  any,         // Every call that would not harm the host process (services/policy.hpp).
  known_only,  // Only the basic calls (calls/rows.hpp).
  file,        // As ServerConfig::policy_file says (services/rules/call_rules.hpp).
};

// Whether Linux, too, refuses the calls that the policy refuses, for service threads
// (services/walls/walls.hpp).
enum class WallMode : std::uint8_t {
  off,
  on,      // As far as Linux can.
  strict,  // Or the server does not start.
};

struct ServerConfig {
  std::uint32_t top_halves = 1;  // 1 to the number of doorbell rings.
  Steering steering = Steering::spread;
  std::vector<std::uint32_t> cores;      // For Steering::steered; online CPUs.
  std::uint32_t coalesce_window_us = 0;  // 0 = off; at most 10,000.
  std::uint32_t coalesce_max = 64;       // Requests a bundle; 1 to 4096.
  Coalescing coalescing = Coalescing::fixed;
  // Adaptive: the mean time that requests may wait for service; 10 to 10,000.
  std::uint32_t coalesce_delay_us = 200;
  BottomHalfMode bottom_half = BottomHalfMode::monolithic;
  // For a staged bottom half with Steering::steered; online CPUs. Without preprocess_cores the
  // pre-processing thread runs on `cores`; without worker_cores the operating system places the
  // workers.
  std::vector<std::uint32_t> preprocess_cores;
  std::vector<std::uint32_t> worker_cores;
  // Service threads, started as needed; 3 to 256. One more waits for descriptors.
  std::uint32_t threads_max = 16;
  Notify notify = Notify::interrupt;
  std::uint32_t spin_us = 50;         // Poll ladder: spin this long after the last request,
  std::uint32_t yield_us = 0;         // then offer the core to others this long,
  std::uint32_t sleep_us = 10'000;    // then sleep until a doorbell, at most this long. >= 50.
  std::uint32_t rescan_us = 1'000;    // Period of the rescans of a slice of the slots. >= 100.
  std::uint32_t takeover_us = 250;    // A top half held by one call this long is taken over. >= 50.
  std::uint32_t shutdown_ms = 1'000;  // Grace for calls in flight when the runtime ends.
  CallPolicy policy = CallPolicy::io;
  std::string policy_file;         // Or its text. For CallPolicy::file; read once, at the start.
  WallMode walls = WallMode::off;  // Stays as the server started, and the policy with it.
  // Share of the CPU time of all online cores that service threads may take; 0 = no cap; 1 to 1000.
  std::uint32_t cap_permille = 0;
  // How the cap is kept (governor/config.hpp). With the policy `none` it is not kept.
  governor::Policy governor = governor::Policy::budget;
  // CPU programs lose at most this part of their work by serving: 1 to 1000. The policy `auto`
  // chooses the cap for it, cap_permille at most.
  std::uint32_t loss_max_permille = 50;
  // Budgets of tenants under the cap (tenants.hpp): "1:weight=3 2:guarantee=2%,rate=500".
  std::string tenants;
  bool trace = false;  // Record events (telemetry/event_ring.hpp).
};

// Checks every value against its range. `rings` bounds the top halves.
// Errors: EINVAL naming key, value and range.
Status validate(const ServerConfig& config, std::uint32_t rings);

}  // namespace k2k::server
