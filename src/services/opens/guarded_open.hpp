#pragma once
// Opens files for kernels, but no file of procfs or of a cgroup for writing: a write there changes
// a process, a thread or a group of them, and one to /proc/PID/mem bypasses every check of
// addresses (decision 0072).
//
//   1. O_PATH opens the path: the descriptor permits neither reads nor writes
//   2. dup3 moves it to a number that is K2K's own for as long as the thread lives: no request can
//      put another file there
//   3. the file under this number is looked at
//   4. /proc/self/fd opens the same file as the request asked for
//
// A file that the open creates is none of these, and neither is a file in the mount of the root or
// of the working folder: opening these takes two calls.
//
// Threading: any thread. May wait for a disk, or for the peer of a FIFO.

#include <cstdint>
#include <optional>

#include "protocol/slot.hpp"

namespace k2k::services {

// The answer of open, openat, creat or openat2; nothing if the call is none of these, or cannot
// write. -EPERM: the file is of a process, or /proc is not there. -EMFILE: no number is left for
// step 2.
std::optional<std::int64_t> open_guarded(std::uint16_t number,
                                         const std::uint64_t (&word)[protocol::argument_count]);

}  // namespace k2k::services
