#pragma once
// Restrictions of Linux (walls) for the threads that make the calls of kernels: should a fault of
// K2K let a request pass, Linux refuses the calls that the policy refuses.
//
//   create() ─▶ a thread tries the walls and ends ─▶ enclose() on each service thread
//
// A thread leaves its walls only by its end, and the threads that it starts are behind them, too.
//
// Threading: immutable; enclose() acts on the calling thread alone.

#include <memory>
#include <string>

#include "base/result.hpp"
#include "services/policy.hpp"
#include "services/walls/call_filter.hpp"
#include "services/walls/file_walls.hpp"
#include "services/walls/wall_kernel.hpp"

namespace k2k::services {

class CallRules;

class Walls {
 public:
  struct Wanted {
    Openness openness = Openness::any;
    const CallRules* rules = nullptr;  // Of a policy file.
    bool strict = false;               // A missing wall is an error; otherwise it is left out.
  };

  // Errors: ENOTSUP, strict and Linux lacks a wall; EAGAIN, no thread for the trial; of Landlock's
  // rules. The message names the wall, the reason and the remedy.
  static Result<std::shared_ptr<const Walls>> create(const Wanted& wanted,
                                                     WallKernel kernel = WallKernel::of_linux());

  // Puts the calling thread behind the walls, for ever; not twice. Returns 0 or an errno, after
  // which the thread must not serve.
  [[nodiscard]] int enclose() const;
  // Is the calling thread behind these walls? The threads that it starts then call inherit().
  [[nodiscard]] bool enclose_this_thread() const;
  void inherit() const;

  // A part of a sentence for each wall that is left out; "" = none is.
  [[nodiscard]] const std::string& missing() const { return missing_; }

 private:
  struct Trial {
    int filter_error = 0;
    int files_error = 0;
  };

  Walls(FilterProgram program, WallKernel kernel);

  // For the roots of `rules`. Errors: of Landlock's rules.
  Status build_file_wall(const CallRules& rules);
  [[nodiscard]] int restrict_files() const;
  // On a thread of its own. Errors: EAGAIN.
  [[nodiscard]] Result<Trial> tried() const;
  void leave_out(const Trial& trial);
  void misses(const std::string& sentence);

  FilterProgram program_;  // Empty: left out.
  FileWall files_;         // Not open: left out, or the policy has no roots.
  WallKernel kernel_;
  std::string missing_;
};

}  // namespace k2k::services
