#pragma once
// The same picture on the same screen by one thread of the host, with calls of libc: the
// counterpart on the CPU. It shares the judgement of files and the colours with the kernel, and
// walks the screen by a loop of its own.
//
// Threading: one thread.

#include "apps/display/job.hpp"

namespace k2k::display {

// `job.answers` and `job.outcome` are filled as by the kernel; job.maps counts as true.
void show_serially(const Job& job);

}  // namespace k2k::display
