#pragma once
// The running processes that k2k ctl and k2k top speak to, found by what a person types.
//
// Threading: the main thread.

#include <sys/types.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "control/client.hpp"

namespace k2k::cli {

std::string user_name(uid_t user);
// Of /proc/PID/comm; "?" where it is not to be read.
std::string command_name(pid_t process);
// What another process said, with spaces for control characters.
std::string harmless(std::string text);

// The runtimes of "1234", or the one that is called "1234-2".
// Errors: EINVAL, no such word; ESRCH, no process or none of its runtimes listens; EPERM, it is
// another user's. Each says what to do.
Result<std::vector<control::Endpoint>> find_running(std::string_view word);

// The names of all that the caller may see: "1234", "1234-2".
std::vector<std::string> running_names();

// Nobody is there: what to do about it.
std::string nobody_runs();

// The answer to "show", with what is known of the process: name, user, command.
Result<nlohmann::ordered_json> look_at(const control::Endpoint& endpoint, bool latency);

}  // namespace k2k::cli
