#pragma once
// A terminal's screen for a live picture, or plain output otherwise.
//
// On a terminal: the alternate screen, no cursor, no echo. All are restored at the end, on Ctrl-C,
// on q, and during a Ctrl-Z. Each picture uses the window's current size.
//
// Threading: the main thread; signals are blocked in it while a Screen lives.

#include <termios.h>

#include <csignal>
#include <cstdint>
#include <string>

#include "base/units.hpp"

namespace k2k::cli {

class Screen {
 public:
  // Live if `live` is true and standard output is a terminal.
  explicit Screen(bool live);
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  [[nodiscard]] bool live() const { return live_; }
  // Replaces the last picture, or prints a further block if not live. Lines beyond the window are
  // left out. Returns as print().
  int show(const std::string& text);

  enum class Woken : std::uint8_t { time, size, quit };
  // Waits until the time is over, the window's size changes, or the user wants to end.
  Woken wait(Nanoseconds longest);

 private:
  void enter();
  void leave();
  Woken take_signal();

  bool live_ = false;
  bool entered_ = false;
  int signals_ = -1;
  sigset_t mask_before_{};
  termios terminal_before_{};
  bool has_terminal_ = false;
};

}  // namespace k2k::cli
