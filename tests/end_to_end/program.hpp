#pragma once
// For tests that look at what a sub-command prints: runs the binary that K2K_CLI names.
//
// Threading: none.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

namespace k2k::end_to_end {

struct Outcome {
  int status = -1;  // Of the exit; -1 where there was none.
  std::string out;
};

// Skips its tests where K2K_CLI names no program.
class Program : public testing::Test {
 protected:
  void SetUp() override {
    const char* const cli = std::getenv("K2K_CLI");
    if (cli == nullptr || access(cli, X_OK) != 0) GTEST_SKIP() << "K2K_CLI names no program";
    cli_ = cli;
  }

  // `arguments` as a shell would take them. Standard error goes where ours goes, unless it is
  // redirected.
  [[nodiscard]] Outcome run(const std::string& arguments) const {
    // In the foreground a signal sent to timeout reaches the program once, not once more by its
    // group.
    const std::string command = "timeout --foreground 120 '" + cli_ + "' " + arguments;
    std::FILE* const pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return {};
    Outcome outcome;
    std::array<char, 4096> piece{};
    while (const std::size_t count = std::fread(piece.data(), 1, piece.size(), pipe)) {
      outcome.out.append(piece.data(), count);
    }
    const int status = ::pclose(pipe);
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return outcome;
  }

 private:
  std::string cli_;
};

}  // namespace k2k::end_to_end
