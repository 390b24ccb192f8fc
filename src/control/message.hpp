#pragma once
// The messages on a control socket: one JSON object per line in each direction.
//
//   {"version": 1, "request": "show", "latency": true}
//   {"version": 1, "request": "set", "values": {"cap": "5%", "bottom_half": "split"}}
//
//   {"version": 1, "ok": true, "result": {…}}
//   {"version": 1, "ok": false, "errno": 22, "error": "…"}
//
// The peer may be hostile: sizes are bounded, and everything unknown is refused.
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
inline constexpr std::size_t values_max = 64;  // Per request.

enum class RequestKind : std::uint8_t { show, set };

struct ControlRequest {
  RequestKind kind = RequestKind::show;
  bool latency = false;  // show: include the histogram of request times.
  std::vector<std::pair<std::string, std::string>> values;  // set: in the order of their keys.
};

// Errors: EINVAL, with the mistake and the permitted values.
Result<ControlRequest> parse_request(std::string_view line);

// One line each, with its newline.
std::string request_line(const ControlRequest& request);
std::string success_line(const nlohmann::ordered_json& result);
std::string failure_line(const Error& error);

// Returns the result. Errors: the peer's refusal, with its errno; EPROTO for a malformed line.
Result<nlohmann::ordered_json> parse_reply(std::string_view line);

}  // namespace k2k::control
