#pragma once
// Runs a shell command to its end. For tests; never installed.
//
// Threading: from anywhere.

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace k2k {

struct CommandOutcome {
  int status = -1;  // Exit status; -1 if the command did not exit.
  std::string out;
};

// Standard error is inherited, unless the command redirects it.
inline CommandOutcome run_command(const std::string& command) {
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  CommandOutcome outcome;
  std::array<char, 4096> piece{};
  while (const std::size_t count = std::fread(piece.data(), 1, piece.size(), pipe)) {
    outcome.out.append(piece.data(), count);
  }
  const int status = ::pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

}  // namespace k2k
