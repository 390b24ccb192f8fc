#pragma once
// A work-item's own fault, SIGSEGV, SIGBUS or SIGFPE: prints one line that names the work-item,
// then continues as a process without K2K would.
//
//   fault ─▶ sent, in a demand region, or no work-item's ─▶ the handler before ours
//         └▶ a work-item's ─▶ one line on standard error ─▶ the same, or the default: the access
//                             is retried, so the core dump shows it
//
// SIGSEGV and SIGFPE run on the unit's alternate stack, because the fibre's stack may have
// overflowed. SIGBUS belongs to the handler of fault_signal.hpp, which leaves by a switch if a page
// is missing. One line per process, even with several concurrent faults, or with a handler that
// resolves them. Sanitizers report faults themselves: with them nothing is installed.
//
// Threading: CrashReports from anywhere, AlternateStack on its own thread. The handlers are
// async-signal-safe.
// are async-signal-safe.

#include <csignal>

#include "backend/cpu/pages.hpp"

namespace k2k::backend::cpu {

#if defined(K2K_TSAN) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool crashes_are_reported = false;
#else
inline constexpr bool crashes_are_reported = true;
#endif

// The handlers are installed while at least one of these exists. If a program installs a handler
// above ours, its handler stays, and so does ours below it.
class CrashReports {
 public:
  CrashReports();
  ~CrashReports();
  CrashReports(const CrashReports&) = delete;
  CrashReports& operator=(const CrashReports&) = delete;
};

// Prints the line if a work-item of this thread faulted and this is the first fault. Takes a
// handler's arguments.
void report_crash(int signal, const siginfo_t& info, const void* context);

// The calling thread's alternate stack, during this object's life. Expects a compute unit's thread
// without another one.
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
