#pragma once
// For tests of an application of apps/: runs its program, which the build puts beside the binary
// named by K2K_CLI, in a folder of its own.
//
// Threading: none.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "base/command_fixture.hpp"

namespace k2k::end_to_end {

// Skips its tests where there is no such program.
class Application : public testing::Test {
 protected:
  Application(const std::string& folder, const std::string& name)
      : place_(folder + "/k2k-" + name) {}
  ~Application() override {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }

  void SetUp() override {
    const char* const cli = std::getenv("K2K_CLI");
    if (cli == nullptr) GTEST_SKIP() << "K2K_CLI names no program";
    const auto build = std::filesystem::path(cli).parent_path().parent_path();
    program_ = (build / "apps" / place_).string();
    if (::access(program_.c_str(), X_OK) != 0) GTEST_SKIP() << program_ << " was not built";
    std::string pattern = (std::filesystem::temp_directory_path() / "k2k-app-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    std::filesystem::permissions(folder_, std::filesystem::perms(0755));
  }

  [[nodiscard]] const std::string& program() const { return program_; }
  // `arguments` in shell syntax; the folder is the working directory.
  [[nodiscard]] CommandOutcome app(const std::string& arguments) const {
    return in_folder("timeout --foreground 120 '" + program_ + "' " + arguments);
  }
  // The same as an ordinary user: as nobody if this process is root's.
  [[nodiscard]] CommandOutcome as_user(const std::string& arguments) const {
    const std::string user =
        ::getuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
    return in_folder("HOME=/nonexistent " + user + "timeout --foreground 120 '" + program_ + "' " +
                     arguments);
  }
  // The object that the program prints; an empty one after a failure.
  [[nodiscard]] nlohmann::json json_of(const std::string& arguments) const {
    const CommandOutcome outcome = app("--json " + arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.out;
    nlohmann::json object = nlohmann::json::parse(outcome.out, nullptr, false);
    EXPECT_TRUE(object.is_object()) << outcome.out;
    return object.is_object() ? object : nlohmann::json::object();
  }
  // Ctrl-C, early and late, leaves the folder of a generator with both files whole, or none.
  // `judge` gets the size of the files.
  void generates_both_files_or_no_folder(const std::string& sizes,
                                         const std::function<void(std::uintmax_t)>& judge) const {
    const std::filesystem::path made = folder_ / "interrupted";
    for (const char* seconds : {"0.01", "0.03", "0.1"}) {
      const CommandOutcome outcome = in_folder(std::string("timeout -s INT ") + seconds + " '" +
                                               program_ + "' --generate interrupted " + sizes);
      std::error_code ignored;
      if (std::filesystem::exists(made)) {
        const std::uintmax_t bytes = std::filesystem::file_size(made / "sorted", ignored);
        judge(bytes);
        EXPECT_EQ(std::filesystem::file_size(made / "unsorted", ignored), bytes);
      } else {
        EXPECT_EQ(outcome.status, 124);
      }
      std::filesystem::remove_all(made, ignored);
    }
  }
  [[nodiscard]] CommandOutcome in_folder(const std::string& command) const {
    return run_command("cd '" + folder_.string() + "' && " + command);
  }

  std::filesystem::path folder_;

 private:
  std::string place_;
  std::string program_;
};

}  // namespace k2k::end_to_end
