#pragma once
// HIP: the intrinsics for gpu.hpp, as clang's builtins for AMD GPUs, without a header of HIP. Other
// compilers see an empty file.
//
// Compiled for gfx90a and gfx942 (./dev check --only hip), never run on a device. Lanes of a wave
// run in step on these devices: a lane that spins on another lane of its own wave hangs, where a
// CUDA device continues.

#if defined(__HIP__)

#include <cstdint>

#include "base/attributes.hpp"

#define K2K_LAUNCH_BOUNDS(items) __attribute__((amdgpu_flat_work_group_size(1, items)))

namespace k2k::device::platform::vendor {

inline constexpr const char* name = "hip";
inline constexpr std::uint32_t wave_lanes = 64;

K2K_DEVICE inline std::uint32_t group() { return __builtin_amdgcn_workgroup_id_x(); }
K2K_DEVICE inline std::uint32_t rank() { return __builtin_amdgcn_workitem_id_x(); }
K2K_DEVICE inline std::uint32_t group_items() { return __builtin_amdgcn_workgroup_size_x(); }
K2K_DEVICE inline std::uint32_t groups() {
  return __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x();
}
K2K_DEVICE inline std::uint32_t lane() {
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
}

// No single method reads the place in the hardware on all devices, so groups and waves are numbered
// in turn. A hint (founding decision 5).
K2K_DEVICE inline std::uint32_t hardware_wave(std::uint32_t waves) {
  const std::uint32_t waves_of_group = (group_items() + wave_lanes - 1) / wave_lanes;
  return (group() * waves_of_group + rank() / wave_lanes) % waves;
}

K2K_DEVICE inline void group_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
K2K_DEVICE inline std::uint64_t vote(std::uint64_t members, bool predicate) {
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
  constexpr int not_equal = 33;  // ICMP_NE
  return __builtin_amdgcn_uicmp(predicate ? 1u : 0u, 0u, not_equal) & members;
}
K2K_DEVICE inline std::uint32_t shuffle_word(std::uint64_t, std::uint32_t value,
                                             std::uint32_t from) {
  return static_cast<std::uint32_t>(
      __builtin_amdgcn_ds_bpermute(static_cast<int>(from * 4), static_cast<int>(value)));
}

// s_sleep counts 64 cycles and takes a constant: about 50 ns, at most 1 us per call.
K2K_DEVICE inline void sleep_ns(std::uint32_t nanoseconds) {
  for (std::uint32_t slept = 0; slept < nanoseconds && slept < 1000; slept += 50) {
    __builtin_amdgcn_s_sleep(1);
  }
}
K2K_DEVICE inline std::uint64_t clock() { return __builtin_amdgcn_s_memtime(); }

K2K_DEVICE inline bool is_global(const void* address) {
  using Generic = const __attribute__((address_space(0))) void*;
  return !__builtin_amdgcn_is_shared((Generic)address) &&
         !__builtin_amdgcn_is_private((Generic)address);
}

K2K_DEVICE inline void leave() { __builtin_amdgcn_endpgm(); }
[[noreturn]] K2K_DEVICE inline void trap() { __builtin_trap(); }

}  // namespace k2k::device::platform::vendor

#include "device/platform/gpu.hpp"

#endif
