// Standard output and standard error: all output of k2k passes through this file.

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "cli/command.hpp"

namespace k2k::cli {

namespace {

constexpr int exit_closed_pipe = 128 + SIGPIPE;

}  // namespace

void blank_control_characters(std::string& line) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(line[at]); };
  for (std::size_t at = 0; at < line.size(); ++at) {
    const bool pair =
        at + 1 < line.size() && byte(at) == 0xc2 && byte(at + 1) >= 0x80 && byte(at + 1) <= 0x9f;
    if (pair || byte(at) < ' ' || byte(at) == 0x7f) line[at] = ' ';
    if (pair) line[++at] = ' ';
  }
}

void keep_standard_descriptors() {
  // With the opposite access mode, read() of standard input and write() of the others fail with
  // EBADF.
  constexpr int flags[] = {O_WRONLY, O_RDONLY, O_RDONLY};
  for (int descriptor = 0; descriptor < 3; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    static_cast<void>(open("/dev/null", flags[descriptor]));  // Takes the lowest free number: this
                                                              // one.
  }
}

int print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EPIPE) _exit(exit_closed_pipe);  // Reached only if the parent ignores SIGPIPE.
    return complain(
        fmt::format("cannot write to standard output: {}; send it elsewhere with > FILE",
                    std::strerror(errno)));
  }
  return exit_ok;
}

int complain(const std::string& message, int status) {
  std::string line = "k2k: " + message;
  blank_control_characters(line);
  line += '\n';
  std::fputs(line.c_str(), stderr);
  return status;
}

int complain_config(const Error& error) {
  const bool system = error.code == ENOMEM || error.code == EAGAIN;
  return complain(error.message, system ? exit_failure : exit_usage);
}

}  // namespace k2k::cli
