#pragma once
// What one service thread counts. Written by that thread alone, read by Server::stats().

#include <array>
#include <cstdint>

#include "calls/rows.hpp"
#include "telemetry/counter.hpp"
#include "telemetry/event_ring.hpp"
#include "telemetry/histogram.hpp"
#include "telemetry/ledger.hpp"
#include "telemetry/mark.hpp"

namespace k2k::server {

// Calls without a row share the last place.
inline constexpr std::size_t call_places = calls::row_count + 1;

struct CallCounters {
  telemetry::Counter count;
  telemetry::Counter errors;
  telemetry::Histogram latency_cycles;
};

struct ThreadStats {
  // Inside while an answer may be out whose books are not made: the device does not wait for them.
  telemetry::Mark booking;
  std::array<CallCounters, call_places> calls;
  telemetry::StageLedger ledger;
  telemetry::Counter doorbells;
  telemetry::Counter bundles;
  telemetry::Counter accepted;
  telemetry::Counter answered;
  telemetry::Counter rescued;
  telemetry::Counter refused;
  telemetry::Counter hand_offs;
  telemetry::Counter takeovers;
  telemetry::Counter parks;
  telemetry::Counter fault_ranges;
  telemetry::EventRing events;
};

}  // namespace k2k::server
