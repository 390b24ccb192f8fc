#pragma once
// The seccomp program of a service thread: the policy once more, by call number, in Linux.
//
// A refused number is answered by EPERM; no number ends the thread. The program finds the number's
// range in a balanced tree of comparisons, so a call passes about eight instructions; Linux keeps
// the answer for numbers that pass whatever their arguments are.
//
// Threading: pure functions.

#include <linux/filter.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace k2k::services {

using FilterProgram = std::vector<sock_filter>;

// The program passes each number for which `refuses` returns false, and the calls that K2K itself
// needs (own_calls.hpp), in the process `own`. It refuses numbers from call_number_end on, and the
// numbers of other architectures.
FilterProgram filter_program(const std::function<bool(std::uint16_t)>& refuses, pid_t own);

}  // namespace k2k::services
