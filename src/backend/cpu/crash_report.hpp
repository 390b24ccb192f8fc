#pragma once
// A work-item's own fault, SIGSEGV, SIGBUS or SIGFPE: one line that names it, then what would have
// come without us.
//
//   fault ─▶ sent, in a demand region, or no work-item's ─▶ the handler before ours
//         └▶ a work-item's ─▶ one line on standard error ─▶ the same, or the default: the access
//                             is retried, so the core shows it
//
// SIGSEGV and SIGFPE run on the unit's alternate stack, because the fibre's may be what is used up.
// SIGBUS is the handler's of fault_signal.hpp, which leaves it by a switch where a page is missing.
// One line a process: of several faults at the same time, and of a handler that mends them.
// Sanitizers tell of faults themselves: there nothing is installed.
//
// Threading: CrashReports from anywhere, AlternateStack on the thread that it is for. The handlers
// are async-signal-safe.

#include <csignal>

#include "backend/cpu/pages.hpp"

namespace k2k::backend::cpu {

#if defined(K2K_TSAN) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool crashes_are_reported = false;
#else
inline constexpr bool crashes_are_reported = true;
#endif

// The handlers are there while one of these is. Who puts a handler above ours keeps it, and ours
// then stays below.
class CrashReports {
 public:
  CrashReports();
  ~CrashReports();
  CrashReports(const CrashReports&) = delete;
  CrashReports& operator=(const CrashReports&) = delete;
};

// The line, if a work-item of this thread faulted and it is the first. From a handler's arguments.
void report_crash(int signal, const siginfo_t& info, const void* context);

// Of the calling thread, for as long as it lives; the thread is a compute unit's and has no other.
class AlternateStack {
 public:
  AlternateStack();
  ~AlternateStack();
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;

 private:
  Pages pages_;
};

}  // namespace k2k::backend::cpu
