#include "cli/watch/steer/state.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

namespace k2k::watch {

namespace {

using nlohmann::ordered_json;

constexpr int state_schema = 1;

ordered_json policy_json(const Policy& policy) {
  return {{"policy", policy.policy},
          {"flags", policy.flags},
          {"nice", policy.nice},
          {"priority", policy.priority},
          {"runtime_ns", policy.runtime_ns},
          {"deadline_ns", policy.deadline_ns},
          {"period_ns", policy.period_ns}};
}

// These two throw nlohmann's exceptions for another structure.
Policy policy_from(const ordered_json& json) {
  Policy policy;
  json.at("policy").get_to(policy.policy);
  json.at("flags").get_to(policy.flags);
  json.at("nice").get_to(policy.nice);
  json.at("priority").get_to(policy.priority);
  json.at("runtime_ns").get_to(policy.runtime_ns);
  json.at("deadline_ns").get_to(policy.deadline_ns);
  json.at("period_ns").get_to(policy.period_ns);
  return policy;
}

Change change_from(const ordered_json& json) {
  Change change;
  json.at("thread").get_to(change.thread);
  json.at("start_ticks").get_to(change.start_ticks);
  json.at("name").get_to(change.name);
  if (json.contains("cores")) change.cores = json.at("cores").get<std::vector<int>>();
  if (json.contains("policy")) change.policy = policy_from(json.at("policy"));
  return change;
}

}  // namespace

std::string boot_of(const Roots& roots) {
  return line_of_file(roots.proc + "/sys/kernel/random/boot_id");
}

std::string state_text(const State& state) {
  ordered_json changes = ordered_json::array();
  for (const Change& change : state.changes) {
    ordered_json json = {
        {"thread", change.thread}, {"start_ticks", change.start_ticks}, {"name", change.name}};
    if (change.cores) json["cores"] = *change.cores;
    if (change.policy) json["policy"] = policy_json(*change.policy);
    changes.push_back(json);
  }
  const ordered_json all = {{"schema", state_schema}, {"boot", state.boot}, {"changes", changes}};
  // A thread's name may be no UTF-8; it only serves messages.
  return all.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Result<State> parse_state(const std::string& text, const std::string& path) {
  try {
    const ordered_json all = ordered_json::parse(text);
    if (all.at("schema") == state_schema) {
      State state;
      all.at("boot").get_to(state.boot);
      for (const ordered_json& json : all.at("changes")) {
        state.changes.push_back(change_from(json));
      }
      return state;
    }
  } catch (const nlohmann::json::exception&) {
    // The message below says all that a user can do.
  }
  return Error{EBADMSG, fmt::format("{} is no state of this k2k watch; look at it, restore its "
                                    "threads by hand and remove it",
                                    path)};
}

Result<std::optional<State>> load_state(const std::string& path) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) {
    const int error = errno;
    if (error == ENOENT) return std::optional<State>();
    return Error{error, fmt::format("cannot read {}: {}", path, std::strerror(error))};
  }
  if ((facts.st_uid != 0 && facts.st_uid != ::geteuid()) || (facts.st_mode & 022) != 0) {
    return Error{EPERM, fmt::format("{} belongs to user {} and has mode {:04o}, so others could "
                                    "have written it; look at it and remove it",
                                    path, facts.st_uid, facts.st_mode & 07777)};
  }
  const Result<std::string> text = read_text(path);
  if (!text) return text.error();
  Result<State> state = parse_state(text.value(), path);
  if (!state) return state.error();
  return std::optional<State>(std::move(state).value());
}

}  // namespace k2k::watch
