#include "control/message.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <nlohmann/json.hpp>

namespace k2k::control {

namespace {

using nlohmann::ordered_json;
using Handling = ordered_json::error_handler_t;

constexpr int request_depth_max = 3;
constexpr int reply_depth_max = 8;
constexpr const char* permitted_requests = "permitted: show, set";

Error wrong(const std::string& what) { return {EINVAL, "control: " + what}; }

// One line, for any content.
std::string line_of(const ordered_json& object) {
  return object.dump(-1, ' ', false, Handling::replace) + "\n";
}

// Nothing is built deeper than this, so nothing has to be walked deeper.
ordered_json parse_bounded(std::string_view line, int depth_max) {
  bool deep = false;
  const auto callback = [&](int depth, ordered_json::parse_event_t event, ordered_json&) {
    using Event = ordered_json::parse_event_t;
    if ((event == Event::object_start || event == Event::array_start) && depth >= depth_max) {
      deep = true;
    }
    return !deep;
  };
  ordered_json object = ordered_json::parse(line, callback, false);
  return deep ? ordered_json(ordered_json::value_t::discarded) : object;
}

Status check_version(const ordered_json& object) {
  const auto version = object.find("version");
  if (version == object.end()) return wrong("a request without \"version\"");
  if (version->is_number_integer() && *version == message_version) return {};
  return wrong(fmt::format("version {}, this process speaks {}; use the k2k that belongs to it",
                           version->dump(-1, ' ', false, Handling::replace).substr(0, 20),
                           message_version));
}

Status take_values(const ordered_json& object, ControlRequest& request) {
  const auto values = object.find("values");
  if (values == object.end() || !values->is_object() || values->empty()) {
    return wrong("\"set\" wants \"values\", an object with at least one key");
  }
  if (values->size() > values_max) {
    return wrong(fmt::format("{} values at once; permitted are {}", values->size(), values_max));
  }
  for (const auto& [key, value] : values->items()) {
    if (!value.is_string()) {
      return wrong(fmt::format("the value of \"{}\" is no string", key.substr(0, 64)));
    }
    request.values.emplace_back(key, value.get<std::string>());
  }
  return {};
}

}  // namespace

Result<ControlRequest> parse_request(std::string_view line) {
  if (line.size() > request_bytes_max) {
    return wrong(fmt::format("a request of more than {} bytes", request_bytes_max));
  }
  const ordered_json object = parse_bounded(line, request_depth_max);
  if (!object.is_object()) return wrong("a request is one JSON object on a line, of little depth");
  if (Status status = check_version(object); !status) return status.error();
  for (const auto& [key, value] : object.items()) {
    if (key == "version" || key == "request" || key == "values" || key == "latency") continue;
    return wrong(fmt::format("unknown key \"{}\" in a request", key.substr(0, 64)));
  }
  const auto name = object.find("request");
  if (name == object.end() || !name->is_string()) {
    return wrong(fmt::format("no \"request\"; {}", permitted_requests));
  }
  ControlRequest request;
  const bool shows = *name == "show";
  if (!shows && *name != "set") {
    return wrong(fmt::format("no such request: \"{}\"; {}", name->get<std::string>().substr(0, 64),
                             permitted_requests));
  }
  request.kind = shows ? RequestKind::show : RequestKind::set;
  if (const auto latency = object.find("latency"); latency != object.end()) {
    if (!latency->is_boolean()) return wrong("\"latency\" is neither true nor false");
    request.latency = latency->get<bool>();
  }
  if (shows) return request;
  if (Status status = take_values(object, request); !status) return status.error();
  return request;
}

std::string request_line(const ControlRequest& request) {
  ordered_json object{{"version", message_version}};
  object["request"] = request.kind == RequestKind::show ? "show" : "set";
  if (request.latency) object["latency"] = true;
  for (const auto& [key, value] : request.values) object["values"][key] = value;
  return line_of(object);
}

std::string success_line(const ordered_json& result) {
  return line_of({{"version", message_version}, {"ok", true}, {"result", result}});
}

std::string failure_line(const Error& error) {
  return line_of({{"version", message_version},
                  {"ok", false},
                  {"errno", error.code},
                  {"error", error.message}});
}

Result<ordered_json> parse_reply(std::string_view line) {
  const Error strange{EPROTO,
                      "control: the answer is none of this k2k's; use the k2k that belongs to the "
                      "process"};
  const ordered_json object = parse_bounded(line, reply_depth_max);
  if (!object.is_object() || !object.contains("version") || object["version"] != message_version ||
      !object.contains("ok")) {
    return strange;
  }
  if (object["ok"] == true) {
    return object.contains("result") && object["result"].is_object()
               ? Result<ordered_json>(object["result"])
               : strange;
  }
  const auto code = object.find("errno");
  const auto message = object.find("error");
  if (code == object.end() || message == object.end() || !code->is_number_integer() ||
      !message->is_string()) {
    return strange;
  }
  return Error{code->get<int>(), message->get<std::string>()};
}

}  // namespace k2k::control
