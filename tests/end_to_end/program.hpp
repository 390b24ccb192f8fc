#pragma once
// For tests of a sub-command's output: runs the binary named by K2K_CLI.
//
// Threading: none.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "base/command_fixture.hpp"

namespace k2k::end_to_end {

using Outcome = CommandOutcome;

// Skips its tests where K2K_CLI names no program.
class Program : public testing::Test {
 protected:
  void SetUp() override {
    const char* const cli = std::getenv("K2K_CLI");
    if (cli == nullptr || ::access(cli, X_OK) != 0) GTEST_SKIP() << "K2K_CLI names no program";
    cli_ = cli;
  }

  // `arguments` in shell syntax. Standard error is inherited, unless it is redirected.
  [[nodiscard]] Outcome run(const std::string& arguments) const {
    // In the foreground a signal sent to timeout reaches the program once, not once more by its
    // group.
    return run_command("timeout --foreground 120 '" + cli_ + "' " + arguments);
  }

 private:
  std::string cli_;
};

}  // namespace k2k::end_to_end
