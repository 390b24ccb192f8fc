#pragma once
// Prepares a policy for new limits: every step that can fail comes before the first change.
//
// Threading: a function of its arguments.

#include <memory>
#include <string>

#include "base/result.hpp"
#include "server/govern/effective_limits.hpp"
#include "server/govern/grants.hpp"
#include "server/govern/sensors.hpp"
#include "server/govern/waiting_threads.hpp"

namespace k2k::server {

struct PreparedRule {
  Grants::Rule rule;
  std::unique_ptr<Sensors> sensors;  // nullptr: the policy needs no thread.
};

// Returns an empty rule for the policy `none`. The sensors report to `grants` and wake `waiting`,
// which must outlive them, and read the files of `proc`.
// Errors: EINVAL as governor::validate() and parse_tenants(), and as Sensors::start().
Result<PreparedRule> prepare(const EffectiveLimits& limits, const ServerConfig& config,
                             const HostLimit& host, Instant now, Grants& grants,
                             WaitingThreads& waiting, const std::string& proc);

}  // namespace k2k::server
