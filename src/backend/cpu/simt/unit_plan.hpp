#pragma once
// The facts that all units of a device share.
//
// Threading: constant once the device is made, except the atomics.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "backend/backend.hpp"
#include "backend/cpu/server_parking.hpp"
#include "backend/cpu/simt/pollers.hpp"
#include "backend/device_config.hpp"
#include "protocol/area.hpp"
#include "telemetry/request_times.hpp"

namespace k2k::backend::cpu {

struct UnitPlan {
  DeviceConfig config;
  std::uint32_t items_max = 0;   // Resident in a unit.
  std::size_t stack_bytes = 0;   // A work-item.
  std::size_t local_stride = 0;  // A group: scratch and local memory.
  std::uint64_t spin_cycles = 0;
  PollerPace poller_pace;
  const protocol::AreaView* area = nullptr;
  ServerParking* parking = nullptr;
  std::atomic<int> server_cpu{-1};  // Where the server last answered from.
  std::atomic<telemetry::RequestTimes*> fault_times{nullptr};  // One a unit.
  std::atomic<InlineService*> inline_service{nullptr};  // nullptr: the server's threads serve.
};

}  // namespace k2k::backend::cpu
