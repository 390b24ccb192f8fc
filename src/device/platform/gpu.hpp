#pragma once
// The platform functions of device code on a GPU: the names of cpu.hpp, implemented by the
// intrinsics in `vendor`. Only cuda.hpp and hip.hpp include it; other compilers see an empty file.
//
//   run_kernel(context, body)   the launching kernel: every kernel of K2K is an instance of it
//     begin_group()             item 0 stores the context where all of the group find it
//     body()
//
// A group's state lies in its local memory, so no symbol has to be set from outside, and every
// translation unit is self-contained.

#if defined(__CUDACC__) || defined(__CUDACC_RTC__) || defined(__HIP__)

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "device/platform/foreign_context.hpp"
#include "device/platform/item.hpp"
#include "device/platform/launch_context.hpp"
#include "protocol/area.hpp"

namespace k2k::device::platform {

inline constexpr std::uint32_t group_items_limit = 1024;

// A wait. Each look crosses the bus, takes 1 to 2 us, and delays the looks of all others: thousands
// of waiting lanes would fill the bus. So the pause between two looks grows with the time already
// waited, to an eighth of it; halting, which no host can end (DeviceInfo::halts is false), to half.
inline constexpr std::uint32_t looks_between_checks = 128;  // For the end of launch or runtime.
inline constexpr std::uint32_t ticks_a_ns = 2;              // About; of the clock of a unit.
inline constexpr std::uint32_t poll_part = 8;
inline constexpr std::uint32_t poll_ns_min = 64;  // A shorter pause is left out.
inline constexpr std::uint32_t poll_ns_max = 16384;
inline constexpr std::uint32_t halt_part = 2;
inline constexpr std::uint32_t halt_ns_min = 1024;
inline constexpr std::uint32_t halt_ns_max = 32768;
inline constexpr std::uint32_t yield_ns = 256;
// Calls of yield() between two looks for the end of the launch, on average.
inline constexpr std::uint32_t yields_between_looks = 4096;

// Slots are across the bus, and a ballot is one instruction: in a wave-wide call each lane accesses
// its own slot (device/submit.hpp).
inline constexpr bool claims_side_by_side = true;

// A group's state in its local memory.
struct GroupState {
  LaunchContext context;
  std::int64_t scratch[2];
};

K2K_DEVICE inline GroupState& group_state() {
  __shared__ std::uint64_t state[(sizeof(GroupState) + 7) / 8];  // No constructor runs here.
  return *reinterpret_cast<GroupState*>(state);
}

K2K_DEVICE inline void begin_group(const LaunchContext& context) {
  if (vendor::rank() == 0) group_state().context = context;
  vendor::group_barrier();
}

// The same for a kernel that another library launched (device/foreign.hpp).
K2K_DEVICE inline void begin_foreign(ForeignContext& given) {
  if (vendor::rank() == 0) {
    if (given.compiled_for != foreign_layout) vendor::trap();
    LaunchContext& context = group_state().context;
    context = given.launch;
    const std::uint32_t group = protocol::device_add(&given.groups_begun, std::uint32_t{1});
    context.launch = (given.launch.launch + group) & 0x7fffffffu;
  }
  vendor::group_barrier();
}

K2K_DEVICE inline Item current() {
  GroupState& state = group_state();
  const std::uint32_t items = vendor::group_items();
  const std::uint32_t rank = vendor::rank();
  const std::uint32_t lanes_left = items - rank / vendor::wave_lanes * vendor::wave_lanes;
  Item me;
  me.group = vendor::group();
  me.groups = vendor::groups();
  me.rank = rank;
  me.group_items = items;
  me.wave = vendor::hardware_wave(state.context.area.wave_count);
  me.lane = vendor::lane();
  me.wave_lanes = vendor::wave_lanes;
  me.wave_members = lanes_left >= 64 || lanes_left >= vendor::wave_lanes
                        ? ~std::uint64_t{0} >> (64 - vendor::wave_lanes)
                        : (std::uint64_t{1} << lanes_left) - 1;
  me.tenant = state.context.tenant;
  me.area = &state.context.area;
  me.sites = state.context.sites;
  me.scratch = state.scratch;
  return me;
}

K2K_DEVICE inline void barrier() { vendor::group_barrier(); }

K2K_DEVICE inline std::uint64_t ballot(bool predicate) {
  return vendor::vote(current().wave_members, predicate);
}

K2K_DEVICE inline std::uint64_t shuffle(std::uint64_t value, std::uint32_t lane) {
  const std::uint64_t members = current().wave_members;
  const std::uint64_t live = vendor::vote(members, true);
  const auto low = vendor::shuffle_word(members, static_cast<std::uint32_t>(value), lane);
  const auto high = vendor::shuffle_word(members, static_cast<std::uint32_t>(value >> 32), lane);
  const bool there = lane < vendor::wave_lanes && (live >> lane & 1) != 0;
  return there ? static_cast<std::uint64_t>(high) << 32 | low : 0;
}

// A cancelled launch ends where its work-items wait, as on the cpu backend.
K2K_DEVICE inline void leave_if_cancelled() {
  const std::uint32_t* const cancel = group_state().context.cancel;
  if (protocol::load_hint(cancel) != 0) vendor::leave();
}

// True once in `part` calls (a power of two), on average: a hash of the clock decides, so that no
// lane counts.
K2K_DEVICE inline bool now_and_then(std::uint32_t part) {
  return (static_cast<std::uint32_t>(vendor::clock()) * 0x9e3779b1u >> 8) % part == 0;
}

// Idle work-items yield in a loop, and the word they look for is across the bus.
K2K_DEVICE inline void yield() {
  vendor::sleep_ns(yield_ns);
  if (now_and_then(yields_between_looks)) leave_if_cancelled();
}

K2K_DEVICE inline void wait(const protocol::Slot& slot, Wait how) {
  const std::uint32_t* const closed = group_state().context.area.closed;
  const bool halts = how == Wait::halted;
  const std::uint64_t ticks_a_part = ticks_a_ns * (halts ? halt_part : poll_part);
  const std::uint64_t pause_min = halts ? halt_ns_min : 0;
  const std::uint64_t pause_max = halts ? halt_ns_max : poll_ns_max;
  const std::uint64_t begin = vendor::clock();
  for (std::uint32_t look = 1;; ++look) {
    // A hint, because an acquire empties the unit's cache; the caller reads the slot again.
    if (observe_hint(slot).state == protocol::SlotState::finished) return;
    if (look % looks_between_checks == 0) {
      if (protocol::load_hint(closed) != 0) return;
      leave_if_cancelled();
    }
    std::uint64_t pause = (vendor::clock() - begin) / ticks_a_part;
    if (pause < pause_min) pause = pause_min;
    if (pause > pause_max) pause = pause_max;
    if (pause >= poll_ns_min) vendor::sleep_ns(static_cast<std::uint32_t>(pause));
  }
}

// No GPU can interrupt its host from a running kernel: the server polls.
K2K_DEVICE inline void interrupt() {}

// Device memory and unknown memory are copied: a copy works wherever the device can address the
// bytes.
K2K_DEVICE inline bool host_visible(const void* address, std::size_t bytes) {
  if (!vendor::is_global(address)) return false;
  const LaunchContext& context = group_state().context;
  const auto first = reinterpret_cast<std::uint64_t>(address);
  for (std::uint32_t index = 0; index < context.range_count; ++index) {
    const SharedRange& range = context.ranges[index];
    if (first >= range.begin && first < range.end) return bytes <= range.end - first;
  }
  return false;
}

// Memory that was registered with the host when the launch began.
K2K_DEVICE inline bool is_registered(const void* address) {
  if (!vendor::is_global(address)) return false;
  const LaunchContext& context = group_state().context;
  const auto first = reinterpret_cast<std::uint64_t>(address);
  for (std::uint32_t index = 0; index < context.registered_count; ++index) {
    const SharedRange& range = context.ranges[context.range_count + index];
    if (first >= range.begin && first < range.end) return true;
  }
  return false;
}

// Calls are not timed: the clocks of host and device are not comparable.
K2K_DEVICE inline std::uint32_t stamp() { return 0; }
K2K_DEVICE inline CallTiming begin_call(std::uint16_t) { return {}; }
K2K_DEVICE inline void note_times(std::uint32_t, std::uint32_t, std::uint64_t, std::uint32_t) {}

[[noreturn]] K2K_DEVICE inline void trap(const char*) { vendor::trap(); }

// --- Local memory, zeroed for each group, because the hardware keeps the last group's values.
// `owner` names the group and launch for which it was zeroed; the first work-item to arrive zeroes
// it.

template <class Type>
struct LocalCell {
  static constexpr std::size_t words = (sizeof(Type) + 7) / 8;
  alignas(alignof(Type) < 16 ? 16 : alignof(Type)) std::uint64_t memory[words];
  std::uint64_t owner;
};

template <class Type>
K2K_DEVICE inline Type* claim_local(LocalCell<Type>& cell) {
  const std::uint64_t busy = static_cast<std::uint64_t>(group_state().context.launch) << 33 |
                             static_cast<std::uint64_t>(vendor::group()) << 1;
  const std::uint64_t ready = busy | 1;
  while (true) {
    const std::uint64_t seen = protocol::device_load(&cell.owner);
    if (seen == ready) break;
    // The winner does its work inside the loop, because lanes of its wave may run in step with it.
    if (seen != busy && protocol::device_compare_exchange(&cell.owner, seen, busy)) {
      for (std::size_t word = 0; word < LocalCell<Type>::words; ++word) cell.memory[word] = 0;
      protocol::device_store(&cell.owner, ready);  // Pairs with the load above.
    }
  }
  return reinterpret_cast<Type*>(cell.memory);
}

// --- The launching kernel.

template <class Kernel>
__global__ void K2K_LAUNCH_BOUNDS(group_items_limit)
    run_kernel(const LaunchContext context, const Kernel body) {
  begin_group(context);
  body();
}

}  // namespace k2k::device::platform

#define K2K_PLATFORM_LOCAL(Type, name)                             \
  __shared__ ::k2k::device::platform::LocalCell<Type> name##_cell; \
  auto& name = *::k2k::device::platform::claim_local(name##_cell)

#endif
