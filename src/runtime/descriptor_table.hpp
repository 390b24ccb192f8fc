#pragma once
// Room in the process's table of descriptors.
//
// Linux begins with room for 64 descriptors, or for as many as the parent had, and doubles it when
// a higher number is needed. While the process has one thread this takes microseconds. With
// several, Linux waits for an RCU grace period (fs/file.c, expand_fdtable()): 5 to 20 ms were
// measured, in which all threads that open a file wait. A kernel whose work-items each open a file
// meets this two or three times.

#include <cstdint>

namespace k2k {

// A soft RLIMIT_NOFILE is seldom higher.
inline constexpr std::uint32_t descriptors_with_room = 1024;

// Makes room for the descriptors 0 to `count` - 1, or for as many as RLIMIT_NOFILE permits. Does
// nothing once the process has had a second thread: then the wait would come now, and perhaps for
// nothing. Best effort: errors change nothing.
void make_room_for_descriptors(std::uint32_t count);

}  // namespace k2k
