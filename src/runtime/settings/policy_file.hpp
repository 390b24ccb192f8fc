#pragma once
// The policy of a runtime in TOML: server.policy = "path.toml", or the text itself
// (docs/design/security.md has its keys).
//
// Threading: any thread.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace k2k::services {
class CallRules;
}

namespace k2k {

inline constexpr std::string_view policy_file_ending = ".toml";

// A policy as `any`, but refusals leave no lines: for programs that expect them.
inline constexpr const char* any_without_a_log =
    "default = \"any\"\n[audit]\nfile = \"/dev/null\"\n";

// Is the setting the text of a policy? A path ends with policy_file_ending.
bool is_policy_text(std::string_view setting);

// `setting`: a path, or a text. Errors, with one line that names path (of a text: server.policy),
// line and column, and what is expected there: EINVAL (malformed, or contradictory), and those of
// reading the file, its roots and its audit log.
Result<std::shared_ptr<services::CallRules>> read_policy(const std::string& setting);

// What a policy says of memory.
struct PolicyMemory {
  struct Range {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
  };
  bool is_confined = false;  // The policy has memory.ranges, perhaps an empty list.
  bool of_kernels = false;
  std::vector<Range> ranges{};  // Those that the program names.
};
// As read_policy(), but opens no audit log.
Result<PolicyMemory> memory_of_policy(const std::string& setting);

}  // namespace k2k
