#pragma once
// The policy file of a runtime: server.policy = "path.toml" (docs/design/security.md has its keys).
//
// Threading: any thread.

#include <memory>
#include <string>

#include "base/result.hpp"

namespace k2k::services {
class CallRules;
}

namespace k2k {

// Errors, with one line that names path, line and column, and what is expected there: EINVAL
// (malformed, or contradictory), and those of reading the file, its roots and its audit log.
Result<std::shared_ptr<services::CallRules>> read_policy_file(const std::string& path);

}  // namespace k2k
