#pragma once
// One launch, shared by the compute units: the kernel, the remaining work-groups, the state.
//
// The object lives as long as the device, so that cancel() may be called at any time, also from a
// signal handler; begin() prepares it for the next launch.
//
// Threading: launch() writes plain members while no unit runs, and units read them; atomics from
// anywhere, fail() too. The failure text belongs to the thread that wins fail().

#include <atomic>
#include <cstdint>
#include <cstdio>

#include "backend/cpu/fibre/sanitizers.hpp"
#include "device/platform/cpu.hpp"

namespace k2k::backend::cpu {

class Unit;

struct LaunchState {
  // Are the work-items to be abandoned?
  [[nodiscard]] K2K_ALWAYS_INLINE bool stopped() const {
    return stop.load(std::memory_order_relaxed) != 0;
  }
  // Ends the launch with this error, unless it ends already.
  void fail(int code, const char* format, ...) __attribute__((format(printf, 3, 4)));
  // Every unit looks again at the slots that it waits for. Async-signal-safe.
  void wake_units() const noexcept;

  // Set by launch().
  void (*entry)(const void* closure) = nullptr;
  const void* closure = nullptr;
  const char* name = "";
  std::uint32_t groups = 0;
  std::uint32_t group_items = 0;
  std::uint16_t tenant = 0;
  std::uint32_t units_used = 0;
  device::platform::KernelSite* sites = nullptr;

  // Fixed for the device.
  Unit* const* units = nullptr;
  std::uint32_t unit_count = 0;

  alignas(64) std::atomic<std::uint32_t> next_group{0};
  std::atomic<std::uint32_t> units_running{0};  // Futex: launch() waits for 0.

  // 0, or the reason to abandon the work-items: a positive errno.
  alignas(64) std::atomic<std::uint32_t> stop{0};
  std::atomic<std::uint32_t> failed{0};  // 1 once a thread owns `failure`.
  char failure[2048] = {};

  // A stall report goes from a unit to launch(): see Watchdog.
  std::atomic<std::uint32_t> stall{0};
  char stall_text[2048] = {};

  EdgeToken begun = 0;  // launch() → every work-item.
  EdgeToken ended = 0;  // Every work-item → launch().
};

enum Stall : std::uint32_t { stall_none, stall_requested, stall_writing, stall_written };

}  // namespace k2k::backend::cpu
