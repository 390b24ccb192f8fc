#pragma once
// The counters of one service thread. Written by that thread alone, read by Server::stats().

#include <sched.h>

#include <array>
#include <cstdint>
#include <vector>

#include "base/cores.hpp"
#include "calls/rows.hpp"
#include "protocol/slot.hpp"
#include "telemetry/counter.hpp"
#include "telemetry/event_ring.hpp"
#include "telemetry/histogram.hpp"
#include "telemetry/ledger.hpp"
#include "telemetry/mark.hpp"
#include "telemetry/request_times.hpp"
#include "telemetry/sampler.hpp"

namespace k2k::server {

// A place takes 4 KiB of each thread, so calls that are not basic share the last one.
inline constexpr std::size_t call_places = calls::basic_count + 1;

constexpr std::size_t call_place(std::int16_t row) {
  return calls::is_basic(row) ? static_cast<std::size_t>(row) : call_places - 1;
}
// The device writes the slot, so the number may be invalid: it then counts as tenant 0.
constexpr std::size_t tenant_place(const protocol::Attributes& attributes) {
  return attributes.tenant < protocol::tenants_max ? attributes.tenant : 0;
}

struct CallCounters {
  telemetry::Counter count;
  telemetry::Counter errors;
  telemetry::Histogram latency_cycles;
};

struct ThreadStats {
  // Set while an answer may be published but not yet counted: the device does not wait for the
  // count.
  telemetry::Mark counting;
  std::array<CallCounters, call_places> calls;
  std::array<telemetry::Counter, protocol::tenants_max> tenant_requests;
  telemetry::CpuLedger ledger{call_places, protocol::tenants_max, possible_cores()};
  telemetry::RequestTimes times;      // Scheduling and processing; the device measures the rest.
  telemetry::Sampler bundle_sampler;  // Selects the bundles whose processing is timed.
  telemetry::Counter doorbells;
  telemetry::Counter bundles;
  telemetry::Counter accepted;
  telemetry::Counter answered;
  telemetry::Counter rescued;
  telemetry::Counter refused;
  telemetry::Counter hand_offs;
  telemetry::Counter takeovers;
  telemetry::Counter parks;
  telemetry::Counter wakes;             // Sleeps that a doorbell ended.
  telemetry::Counter preprocess_wakes;  // Of the stage of a staged bottom half,
  telemetry::Counter preprocessed;      // and the requests that it accepted.
  telemetry::Counter fault_ranges;
  telemetry::EventRing events;

  // Requests of one call and tenant that were answered together: scratch data that AnswerCounts
  // fills and charge_shares() reads when their duration is known.
  struct Share {
    std::size_t call = 0;
    std::size_t tenant = 0;
    std::uint64_t requests = 0;
  };
  std::vector<Share> shares;
};

// The core that the calling thread runs on, as the ledger numbers them.
inline std::size_t this_core() {
  const int core = sched_getcpu();
  return core < 0 ? 0 : static_cast<std::size_t>(core);
}

}  // namespace k2k::server
