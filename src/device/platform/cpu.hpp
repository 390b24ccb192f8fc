#pragma once
// The functions of the cpu backend that device code calls. backend/cpu defines them, so that
// kernels do not depend on the executor.
//
// A platform header for a GPU defines the same names by intrinsics. All functions are called from
// inside a kernel; a call from an ordinary thread ends the process with a message (K2K_EXPECT).

#include <cstddef>
#include <cstdint>

#include "base/api.hpp"
#include "device/platform/item.hpp"

#define K2K_PLATFORM_GATHERS 1  // gather() exists.

namespace k2k::device::platform {

// Lanes are fibres: a ballot switches through all of them, and slots are in the same memory. So
// lanes gather, and one lane submits for its wave (device/submit.hpp).
inline constexpr bool claims_side_by_side = false;

K2K_API const Item& current() noexcept;

// Waits for every work-item of the group; writes before are visible to the group after.
K2K_API void barrier() noexcept;

// Waits for every live lane of the wave; bit i is lane i's predicate.
K2K_API std::uint64_t ballot(bool predicate) noexcept;

// Waits for every live lane of the wave; returns `value` of `lane` (0 if that lane is not a
// member).
K2K_API std::uint64_t shuffle(std::uint64_t value, std::uint32_t lane) noexcept;

// Runs on the lane `me` for all lanes of a wave that gathered: lane i of `lanes` passed the address
// brought[i]. Returns the row in which it published a request for each of them, slot i for lane i,
// or nullptr.
using Lead = const protocol::Slot* (*)(const Item& me, const std::uint64_t* brought,
                                       std::uint64_t lanes);

// Waits for every live lane of the wave; one of them runs `lead` for all. With `polls`, the others
// return once their slot of the row is finished or the area is closed, as from wait(): they need
// not run in between.
K2K_API void gather(void* brought, Lead lead, bool polls) noexcept;

// True once in `part` calls, on average. Here always: what a GPU would read across its bus is in
// the cache.
inline bool now_and_then(std::uint32_t) noexcept { return true; }

// Lets others run. For loops that wait for another work-item or for the ring.
K2K_API void yield() noexcept;

// Returns once the slot's state is `finished`, or *area.closed is set and the state is not
// `finished`. Polling: the scheduler reads the slot in each round. Halted: the scheduler reads it
// only after the server resumed the wave.
K2K_API void wait(const protocol::Slot& slot, Wait how) noexcept;

// Call it after a doorbell: wakes a parked server. Costs nothing if the server is awake.
K2K_API void interrupt() noexcept;

// Memory of the work-group, zeroed per group: the same address for the same tag and group.
K2K_API void* local_memory(const void* tag, std::size_t bytes, std::size_t alignment) noexcept;

// May the host read and write these bytes in place? Always true, unless the device is strict
// (DeviceConfig::strict): then it is false for stacks, local memory and device allocations.
K2K_API bool host_visible(const void* address, std::size_t bytes) noexcept;

// Is this memory registered with the host, which then takes it by its address in reads and writes
// of files (Backend::set_registered())?
K2K_API bool is_registered(const void* address) noexcept;

// Low half of the clock that `stamp` carries; never 0. See base/clock.hpp, cycles().
K2K_API std::uint32_t stamp() noexcept;

// Decides at a call's beginning whether the call is timed, and how many calls its times represent.
K2K_API CallTiming begin_call(std::uint16_t number) noexcept;

// Records the times of an answered call, which represent the times of `calls` calls: stamps of its
// beginning and of its publication, and the host's cycles() at its end.
K2K_API void note_times(std::uint32_t begun, std::uint32_t published, std::uint64_t done,
                        std::uint32_t calls) noexcept;

// A violated precondition of device code: ends the process with the text and the work-item's name.
[[noreturn]] K2K_API void trap(const char* message) noexcept;

}  // namespace k2k::device::platform
