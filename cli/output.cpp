// Standard output and standard error: every byte leaves k2k here.

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

int print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EPIPE) _exit(exit_closed_pipe);  // Only where the parent ignores SIGPIPE.
    return complain(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
  }
  return exit_ok;
}

int complain(const std::string& message, int status) {
  std::string line = "k2k: " + message;
  for (char& letter : line) {
    if (static_cast<unsigned char>(letter) < ' ') letter = ' ';  // One line, no escape sequences.
  }
  line += '\n';
  std::fputs(line.c_str(), stderr);
  return status;
}

int complain_config(const Error& error) {
  const bool system = error.code == ENOMEM || error.code == EAGAIN;
  return complain(error.message, system ? exit_failure : exit_usage);
}

}  // namespace k2k::cli
