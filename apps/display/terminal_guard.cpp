#include "apps/display/terminal_guard.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "apps/display/abi.hpp"

namespace k2k::display {

namespace {

// In the child. Ctrl-C and a closed terminal end the process, and the child only after it: no
// signal interrupts its read.
[[noreturn]] void watch(int socket, int terminal, int mode) {
  ::setsid();
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  char byte = 0;
  if (::read(socket, &byte, 1) == 0) {
    ::ioctl(terminal, abi::set_mode, static_cast<unsigned long>(mode));
  }
  ::_exit(0);
}

}  // namespace

TerminalGuard::TerminalGuard(const std::string& terminal) {
  const Descriptor console(::open(terminal.c_str(), O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  int mode = 0;
  if (!console.open() || ::ioctl(console.number(), abi::get_mode, &mode) != 0) return;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  const Descriptor childs(ends[0]);
  Descriptor ours(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[1]);
    watch(ends[0], console.number(), mode);
  }
  if (child < 0) return;
  child_ = child;
  alive_ = std::move(ours);
}

TerminalGuard::~TerminalGuard() {
  if (child_ == 0) return;
  alive_ = Descriptor();
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void TerminalGuard::release() {
  if (child_ == 0) return;
  [[maybe_unused]] const ssize_t sent = ::send(alive_.number(), "", 1, MSG_NOSIGNAL);
}

}  // namespace k2k::display
