#pragma once
// Programs that are run with and without libk2k_io.so, in a folder of the test's own.
//
// Threading: the test's.

#include <gtest/gtest.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "base/command_fixture.hpp"

namespace k2k::shim {

struct Outcome : CommandOutcome {
  std::string error;
};

inline std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class Programs : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::current_path() / "shim_test_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] const std::string& folder() const { return folder_; }

  // `environment` in shell syntax: A=1 B=2. It is set for the command, not for the shell.
  [[nodiscard]] Outcome run(const std::string& environment, const std::string& command,
                            int seconds_max = 120) const {
    const std::string errors = folder_ + "/errors";
    const std::string line = "cd '" + folder_ + "' && exec env " + environment +
                             " timeout --foreground " + std::to_string(seconds_max) + " " +
                             command + " 2>'" + errors + "'";
    CommandOutcome outcome = run_command(line);
    return {std::move(outcome), text_of(errors)};
  }

  // A probe's scene, in a folder of its own.
  [[nodiscard]] Outcome play_in(const std::string& probe, const std::string& scene,
                                const std::string& environment) const {
    const std::string own = folder_ + "/scene";
    std::filesystem::remove_all(own);
    std::filesystem::create_directory(own);
    return run(environment, probe + " " + scene + " " + own);
  }

 private:
  std::string folder_;
};

// The number behind `name=` in the last line of the statistics.
inline long stat_of(const Outcome& outcome, const std::string& name) {
  const std::size_t at = outcome.error.rfind(" " + name + "=");
  return at == std::string::npos ? -1 : std::atol(outcome.error.c_str() + at + name.size() + 2);
}

}  // namespace k2k::shim
