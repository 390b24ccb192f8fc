#pragma once
// Gives a console its mode back if this process dies while the console shows graphics: by SIGKILL,
// or by SIGBUS where the picture became shorter. Otherwise the console would show no text any more.
//
//   guard ─▶ fork ─▶ child: reads a socket ─┬─ a byte: release() ─▶ end
//                                           └─ its end: the process died, or gave nothing back
//                                                        ─▶ KDSETMODE ─▶ end
//
// Threading: made and ended on one thread. The child makes system calls alone.

#include <sys/types.h>

#include <string>

#include "base/descriptor.hpp"

namespace k2k::display {

class TerminalGuard {
 public:
  // Of the console at `terminal`, whose mode it reads. Guards nothing where this is no console, or
  // where Linux gives no child: the calls of the kernel report the console's errors.
  explicit TerminalGuard(const std::string& terminal);
  // Without release() the child sets the mode. Waits for its end.
  ~TerminalGuard();
  TerminalGuard(const TerminalGuard&) = delete;
  TerminalGuard& operator=(const TerminalGuard&) = delete;

  // The console has its mode back.
  void release();
  // 0: it guards nothing.
  [[nodiscard]] pid_t child() const { return child_; }

 private:
  Descriptor alive_;  // Closes with this process.
  pid_t child_ = 0;
};

}  // namespace k2k::display
