#include "cli/running.hpp"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"

namespace k2k::cli {

namespace {

using nlohmann::ordered_json;

Result<pid_t> process_of(std::string_view word) {
  pid_t process = 0;
  const std::string_view digits = word.substr(0, word.find('-'));
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), process);
  if (error == std::errc() && end == digits.data() + digits.size() && process > 0) return process;
  return Error{EINVAL,
               fmt::format("'{}' is not a process; use a number that 'k2k ctl' lists", word)};
}

Error nothing_there(std::string_view word, pid_t process) {
  struct stat facts{};
  if (::stat(fmt::format("/proc/{}", process).c_str(), &facts) != 0) {
    return {ESRCH,
            fmt::format("no process {}; 'k2k ctl' lists the processes that use K2K", process)};
  }
  if (facts.st_uid != ::geteuid() && ::geteuid() != 0) {
    return {EPERM,
            fmt::format(
                "process {} belongs to {}; only its owner and root have access: sudo k2k ctl {}",
                process, user_name(facts.st_uid), word)};
  }
  return {ESRCH, fmt::format("no K2K answers in process {} ({}): it has no runtime, or one with "
                             "control.socket = false, or another K2K_CONTROL_DIR; 'k2k ctl' lists "
                             "the processes that answer",
                             word, command_name(process))};
}

}  // namespace

std::string user_name(uid_t user) {
  const passwd* const entry = getpwuid(user);
  return entry == nullptr ? std::to_string(user) : entry->pw_name;
}

std::string harmless(std::string text) {
  blank_control_characters(text);
  return text;
}

std::string command_name(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/comm", process));
  std::string name;
  std::getline(file, name);
  return name.empty() ? "?" : harmless(name);
}

Result<std::vector<control::Endpoint>> find_running(std::string_view word) {
  const Result<pid_t> process = process_of(word);
  if (!process) return process.error();
  const bool exact = word.find('-') != std::string_view::npos;
  std::vector<control::Endpoint> found;
  for (control::Endpoint& one : control::endpoints()) {
    if (exact ? one.name == word : one.process == process.value()) found.push_back(std::move(one));
  }
  if (found.empty()) return nothing_there(word, process.value());
  return found;
}

std::vector<std::string> running_names() {
  std::vector<std::string> names;
  for (const control::Endpoint& one : control::endpoints()) names.push_back(one.name);
  return names;
}

std::string nobody_runs() {
  return fmt::format(
      "no process {} uses K2K now; start one (k2k bench throughput, say), and leave "
      "control.socket on; {}",
      ::geteuid() == 0 ? "here" : "of yours",
      ::geteuid() == 0 ? "'k2k doctor' says where sockets go" : "root sees those of all users");
}

Result<ordered_json> look_at(const control::Endpoint& endpoint, bool latency) {
  Result<ordered_json> shown = control::ask(endpoint, {control::RequestKind::show, latency, {}});
  if (!shown) return shown.error();
  ordered_json all = {{"name", endpoint.name},
                      {"pid", endpoint.process},
                      {"user", user_name(endpoint.user)},
                      {"command", command_name(endpoint.process)}};
  // Linux' information on the process takes precedence over the process's own.
  for (const auto& [key, value] : shown.value().items()) {
    if (!all.contains(key)) all[key] = value;
  }
  return all;
}

}  // namespace k2k::cli
