// The times of an answered call, recorded by the unit that made it.
//
// Separate from hooks.cpp, because this file is instrumented for ThreadSanitizer: other threads
// read its counters.
//
// Threading: on a unit's thread.

#include "backend/cpu/simt/running.hpp"
#include "backend/cpu/simt/unit.hpp"
#include "base/clock.hpp"
#include "base/contract.hpp"
#include "device/platform/cpu.hpp"

namespace k2k::device::platform {

void note_times(std::uint32_t begun, std::uint32_t published, std::uint64_t done,
                std::uint32_t calls) noexcept {
  using telemetry::RequestPart;
  K2K_EXPECT(backend::cpu::running != nullptr);
  telemetry::RequestTimes& times = backend::cpu::running->unit->call_times();
  const std::uint64_t moment = cycles();
  times.record(RequestPart::initialisation, cycles_between(begun, published), calls);
  // The clocks of two cores may disagree a little.
  times.record(RequestPart::completion, moment > done ? moment - done : 0, calls);
  times.record(RequestPart::total, cycles_since(begun, moment), calls);
}

}  // namespace k2k::device::platform
