#pragma once
// The same picture on the same screen by the host, with calls of libc: the counterpart on the CPU.
// One thread shares the judgement of files and the colours with the kernel, and walks the screen by
// a loop of its own; several threads draw lines by the kernel's code.
//
// Threading: one thread, and those that draw.

#include "apps/common/part_threads.hpp"
#include "apps/display/job.hpp"

namespace k2k::display {

// `job.answers` and `job.outcome` are filled as by the kernel; job.maps counts as true. `threads`
// draw the lines; nullptr: the calling thread, by its own loop.
void show_on_host(const Job& job, apps::PartThreads* threads);

}  // namespace k2k::display
