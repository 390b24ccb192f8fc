#pragma once
// Finds the running processes that k2k ctl and k2k top connect to, by the word that the user types.
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
// From /proc/PID/comm; "?" if it cannot be read.
std::string command_name(pid_t process);
// Text of another process, with spaces instead of control characters.
std::string harmless(std::string text);

// The runtimes of process "1234", or the single runtime "1234-2".
// Errors: EINVAL, malformed word; ESRCH, no such process or none of its runtimes listens; EPERM, it
// belongs to another user. Each message contains the remedy.
Result<std::vector<control::Endpoint>> find_running(std::string_view word);

// The names of all runtimes that the caller may see: "1234", "1234-2".
std::vector<std::string> running_names();

// The message if no runtime is found, with advice.
std::string nobody_runs();

// The answer to "show", extended by the process's name, user and command.
Result<nlohmann::ordered_json> look_at(const control::Endpoint& endpoint, bool latency);

}  // namespace k2k::cli
