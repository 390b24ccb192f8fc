#pragma once
// What is said over a control socket: one JSON object a line each way.
//
//   {"version": 1, "request": "show", "latency": true}
//   {"version": 1, "request": "set", "values": {"cap": "5%", "bottom_half": "split"}}
//
//   {"version": 1, "ok": true, "result": {…}}
//   {"version": 1, "ok": false, "errno": 22, "error": "…"}
//
// Whoever is at the other end may be hostile: sizes are bounded, everything unknown is refused.
//
// Threading: pure functions.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace k2k::control {

inline constexpr int message_version = 1;
inline constexpr std::size_t request_bytes_max = 16 << 10;
inline constexpr std::size_t reply_bytes_max = 4 << 20;
inline constexpr std::size_t values_max = 64;  // Of one request.

enum class RequestKind : std::uint8_t { show, set };

struct ControlRequest {
  RequestKind kind = RequestKind::show;
  bool latency = false;  // show: with the histogram of request times.
  std::vector<std::pair<std::string, std::string>> values;  // set: in the order of their keys.
};

// Errors: EINVAL; what was wrong, and what is permitted.
Result<ControlRequest> parse_request(std::string_view line);

// A line each, with its newline.
std::string request_line(const ControlRequest& request);
std::string success_line(const nlohmann::ordered_json& result);
std::string failure_line(const Error& error);

// The result. Errors: what the other end refused, with its errno; EPROTO for no such line.
Result<nlohmann::ordered_json> parse_reply(std::string_view line);

}  // namespace k2k::control
