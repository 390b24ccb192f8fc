#pragma once
// Runs an application of apps/ as a process of its own, with --json, and reads its result.
//
// Threading: any thread; each run is one process.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace k2k::bench {

class AppRun {
 public:
  // The program of the build tree beside k2k: apps/FOLDER/k2k-NAME. Errors: ENOENT, with the
  // command that builds it.
  static Result<AppRun> find(const std::string& folder, const std::string& name);

  // One run. Errors: as posix_spawn(3); ETIMEDOUT after a minute; EIO (it failed, or printed no
  // JSON object), with what it printed.
  [[nodiscard]] Result<nlohmann::ordered_json> run(std::vector<std::string> arguments) const;
  // A run without --json, for work without a result. Errors: the same.
  [[nodiscard]] Status run_plainly(std::vector<std::string> arguments) const;
  [[nodiscard]] const std::string& program() const { return program_; }

 private:
  explicit AppRun(std::string program) : program_(std::move(program)) {}
  // What it printed on standard output.
  [[nodiscard]] Result<std::string> output_of(std::vector<std::string> arguments) const;

  std::string program_;
};

}  // namespace k2k::bench
