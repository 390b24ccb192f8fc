#pragma once
// CUDA: the intrinsics for gpu.hpp. nvcc and NVRTC predeclare everything used here; other compilers
// see an empty file.
//
// Needs compute capability 7.0, for independent progress of a wave's lanes, and for __nanosleep.

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)

#include <cstdint>

#include "base/attributes.hpp"

// A group of this many work-items always fits: at most 64 registers each.
#define K2K_LAUNCH_BOUNDS(items) __launch_bounds__(items, 1)

namespace k2k::device::platform::vendor {

inline constexpr const char* name = "cuda";
inline constexpr std::uint32_t wave_lanes = 32;

#if defined(K2K_FOREIGN_KERNELS)
// Another library launches: blocks and grids of any shape.
K2K_DEVICE inline std::uint32_t group() {
  return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
}
K2K_DEVICE inline std::uint32_t groups() { return gridDim.x * gridDim.y * gridDim.z; }
K2K_DEVICE inline std::uint32_t rank() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
K2K_DEVICE inline std::uint32_t group_items() { return blockDim.x * blockDim.y * blockDim.z; }
#else
K2K_DEVICE inline std::uint32_t group() { return blockIdx.x; }
K2K_DEVICE inline std::uint32_t groups() { return gridDim.x; }
K2K_DEVICE inline std::uint32_t rank() { return threadIdx.x; }
K2K_DEVICE inline std::uint32_t group_items() { return blockDim.x; }
#endif
K2K_DEVICE inline std::uint32_t lane() {
  std::uint32_t lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

// The wave's current place in the hardware. The wave may move, so this is a hint (founding decision
// 5). Below `waves`.
K2K_DEVICE inline std::uint32_t hardware_wave(std::uint32_t waves) {
  std::uint32_t unit;
  std::uint32_t units;
  std::uint32_t wave;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(unit));
  asm volatile("mov.u32 %0, %%nsmid;" : "=r"(units));
  asm volatile("mov.u32 %0, %%warpid;" : "=r"(wave));
  // The numbers of units may have gaps. Neighbouring waves are placed on different units first.
  return (unit + wave * units) % waves;
}

K2K_DEVICE inline void group_barrier() { __syncthreads(); }
// Also orders memory between the lanes, which the vote alone does not guarantee.
K2K_DEVICE inline std::uint64_t vote(std::uint64_t members, bool predicate) {
  const auto lanes = static_cast<std::uint32_t>(members);
  __syncwarp(lanes);
  return __ballot_sync(lanes, predicate ? 1 : 0);
}
K2K_DEVICE inline std::uint32_t shuffle_word(std::uint64_t members, std::uint32_t value,
                                             std::uint32_t from) {
  return __shfl_sync(static_cast<std::uint32_t>(members), value, static_cast<int>(from));
}

// Sleeps for about that time; the hardware guarantees nothing.
K2K_DEVICE inline void sleep_ns(std::uint32_t nanoseconds) {
  asm volatile("nanosleep.u32 %0;" ::"r"(nanoseconds));
}
K2K_DEVICE inline std::uint64_t clock() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(now));
  return now;
}

// False for local memory and stacks, which have no address outside of their group.
K2K_DEVICE inline bool is_global(const void* address) {
  std::uint32_t answer;
  asm("{ .reg .pred global; isspacep.global global, %1; selp.u32 %0, 1, 0, global; }"
      : "=r"(answer)
      : "l"(address));
  return answer != 0;
}

// Barriers of the group no longer wait for a work-item that left.
K2K_DEVICE inline void leave() { asm volatile("exit;"); }
[[noreturn]] K2K_DEVICE inline void trap() {
  asm volatile("trap;");
  __builtin_unreachable();
}

}  // namespace k2k::device::platform::vendor

#include "device/platform/gpu.hpp"

#endif
