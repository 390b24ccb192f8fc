#pragma once
// Replaces the header of LLVM libc of the same name. Here all lanes of a wave run on one CPU
// thread.
//
// LLVM's own replacement for a CPU has one lane. Here a client opens a port as a wave of
// `wave_lanes`, and then processes the packet lane by lane, as LLVM's server does. So `step` is the
// size of a wave while a port is opened, and 1 while its packet is filled or read.

#include <cstdint>

#include "src/__support/macros/attributes.h"
#include "src/__support/macros/config.h"

namespace LIBC_NAMESPACE_DECL {
namespace gpu {

inline thread_local std::uint32_t step = 1;
inline thread_local std::uint64_t lanes = 1;

inline std::uint32_t get_lane_size() { return step; }
inline std::uint32_t get_lane_id() { return 0; }
inline std::uint64_t get_lane_mask() { return lanes; }
inline std::uint32_t get_cluster_id() { return 0; }
inline std::uint32_t broadcast_value(std::uint64_t, std::uint32_t value) { return value; }
// All lanes vote alike, because they are one thread.
inline std::uint64_t ballot(std::uint64_t mask, bool vote) { return vote ? mask : 0; }
inline bool is_first_lane(std::uint64_t) { return true; }
inline void sync_lane(std::uint64_t) {}

}  // namespace gpu
}  // namespace LIBC_NAMESPACE_DECL
