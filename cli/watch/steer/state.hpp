#pragma once
// The file that remembers how threads were before `k2k watch --steer` or `--cap`.
//
//            plan                     apply                    undo
//   no file ──────▶ file, all planned ──────▶ file, all changed ──────▶ no file
//                        │  crash                  │  crash        some refused: file, these alone
//                        └──────── undo ───────────┘
//
// The file is whole before the first change, so an undo after a crash finds every thread that may
// have been changed; to restore an unchanged thread changes nothing. A file of an earlier boot
// describes threads that are gone.
//
// Threading: from anywhere.

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/watch/steer/scheduling.hpp"

namespace k2k::watch {

inline constexpr const char* state_path_default = "/run/k2k-watch.json";

// A thread, and what it had before.
struct Change {
  int thread = 0;
  std::uint64_t start_ticks = 0;  // With the number it names the thread.
  std::string name;
  std::optional<std::vector<int>> cores;
  std::optional<Policy> policy;

  bool operator==(const Change&) const = default;
};

struct State {
  std::string boot;  // /proc/sys/kernel/random/boot_id
  std::vector<Change> changes;
};

std::string boot_of(const Roots& roots);

std::string state_text(const State& state);
// Errors: EBADMSG, another text; `path` is for the message.
Result<State> parse_state(const std::string& text, const std::string& path);

// Empty: there is no file. Errors: of reading it; EPERM, it belongs to another user, or others may
// write it; EBADMSG, it is no state of this version.
Result<std::optional<State>> load_state(const std::string& path);

}  // namespace k2k::watch
