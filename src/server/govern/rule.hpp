#pragma once
// A policy made ready for the limits that are to be in force: everything that can fail, before
// anything changes.
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
  std::unique_ptr<Sensors> sensors;  // Nothing: the policy needs no thread.
};

// For the policy `none`: an empty rule. The sensors report to `grants` and wake `waiting`, which
// outlive them, and read the files of `proc`.
// Errors: EINVAL as of governor::validate() and parse_tenants(), and Sensors::start()'s.
Result<PreparedRule> prepare(const EffectiveLimits& limits, const ServerConfig& config,
                             const HostLimit& host, Instant now, Grants& grants,
                             WaitingThreads& waiting, const std::string& proc);

}  // namespace k2k::server
