#include "cli/screen.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "base/clock.hpp"
#include "cli/command.hpp"

namespace k2k::cli {

namespace {

constexpr const char* alternate_screen = "\x1b[?1049h\x1b[?25l";
constexpr const char* usual_screen = "\x1b[?25h\x1b[?1049l";
constexpr const char* top_left = "\x1b[H";
constexpr const char* clear_line = "\x1b[K";
constexpr const char* clear_below = "\x1b[J";

winsize window() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) {
    size.ws_row = 24;
    size.ws_col = 80;
  }
  return size;
}

// The beginning of a line that fits into `columns`; colour sequences take no columns, and are
// closed.
std::string cut(std::string_view line, std::size_t columns) {
  std::string fits;
  std::size_t width = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '\x1b') {
      const std::size_t end = line.find('m', at);
      if (end == std::string_view::npos) break;
      fits += line.substr(at, end + 1 - at);
      at = end;
    } else {
      const bool begins = (static_cast<unsigned char>(line[at]) & 0xc0) != 0x80;  // Of a UTF-8
                                                                                  // character.
      if (begins) ++width;
      if (width <= columns) fits += line[at];
    }
  }
  return fits;
}

}  // namespace

Screen::Screen(bool live) : live_(live && isatty(STDOUT_FILENO) == 1) {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&wanted, number);
  if (live_) {
    sigaddset(&wanted, SIGWINCH);
    sigaddset(&wanted, SIGTSTP);
  }
  sigprocmask(SIG_BLOCK, &wanted, &mask_before_);
  signals_ = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
  if (live_) enter();
}

Screen::~Screen() {
  leave();
  // One Ctrl-C may arrive as two signals (timeout(1) sends one to its child and one to the group);
  // the second must not kill a process that is ending in order.
  signalfd_siginfo again{};
  while (signals_ >= 0 && ::read(signals_, &again, sizeof(again)) > 0) {
  }
  if (signals_ >= 0) ::close(signals_);
  sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

void Screen::enter() {
  has_terminal_ = isatty(STDIN_FILENO) == 1 && tcgetattr(STDIN_FILENO, &terminal_before_) == 0;
  if (has_terminal_) {
    termios quiet = terminal_before_;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON);
    tcsetattr(STDIN_FILENO, TCSANOW, &quiet);
  }
  static_cast<void>(print(alternate_screen));
  entered_ = true;
}

void Screen::leave() {
  if (!entered_) return;
  entered_ = false;
  static_cast<void>(print(usual_screen));
  if (has_terminal_) tcsetattr(STDIN_FILENO, TCSANOW, &terminal_before_);
}

int Screen::show(const std::string& text) {
  if (!live_) return print(text);
  const winsize size = window();
  std::string picture = top_left;
  std::string_view left = text;
  for (std::size_t row = 0; row < size.ws_row && !left.empty(); ++row) {
    const std::size_t end = std::min(left.find('\n'), left.size());
    // A newline behind the last row would scroll.
    if (row > 0) picture += "\r\n";
    picture += cut(left.substr(0, end), size.ws_col) + clear_line;
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return print(picture + clear_below);
}

Screen::Woken Screen::take_signal() {
  signalfd_siginfo signal{};
  if (::read(signals_, &signal, sizeof(signal)) != sizeof(signal)) return Woken::time;
  if (signal.ssi_signo == SIGWINCH) return Woken::size;
  if (signal.ssi_signo != SIGTSTP) return Woken::quit;
  leave();
  raise(SIGSTOP);  // Continues here after fg.
  enter();
  return Woken::size;
}

Screen::Woken Screen::wait(Nanoseconds longest) {
  const Instant end = now() + longest;
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - now()).count();
    if (left <= 0) return Woken::time;
    pollfd waits[] = {{signals_, POLLIN, 0},
                      {live_ && has_terminal_ ? STDIN_FILENO : -1, POLLIN, 0}};
    const int ready = ::poll(waits, std::size(waits), static_cast<int>(std::min(left, 3'600'000l)));
    if (ready < 0 && errno != EINTR) return Woken::quit;
    if (ready <= 0) continue;
    if (waits[0].revents != 0) return take_signal();
    char key = 0;
    if (waits[1].revents != 0 && (::read(STDIN_FILENO, &key, 1) != 1 || key == 'q')) {
      return Woken::quit;
    }
  }
}

}  // namespace k2k::cli
