#pragma once
// k2k watch --steer, --cap and --undo.
//
// Threading: the main thread.

#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/watch/rules.hpp"
#include "cli/watch/steer/state.hpp"

namespace k2k::cli {

struct SteerOptions {
  std::string cores;  // "2-3"; empty: not wanted.
  std::string cap;    // "5" or "5%", of one core; empty: not wanted.
  bool undo = false;
  std::vector<std::string> parts;
  std::string state = watch::state_path_default;

  [[nodiscard]] bool any() const { return undo || !cores.empty() || !cap.empty(); }
};

// Returns the exit status, after messages: exit_failure if a thread was left as it was.
int run_steering(const Context& context, const SteerOptions& options, const watch::Rules& rules);

}  // namespace k2k::cli
