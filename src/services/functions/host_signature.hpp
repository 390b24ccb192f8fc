#pragma once
// The signature of a host function as text: "f64(i32,in f32,out u8)" (calls/host_call.hpp).
//
// Threading: pure.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "calls/host_call.hpp"

namespace k2k::services {

struct HostParameter {
  bool is_buffer = false;
  calls::Direction direction = calls::Direction::in;  // Of a buffer.
  std::size_t bytes = 0;                              // Of the value, or of an element.
};

struct HostSignature {
  std::string text;  // Without spaces, except behind a direction.
  std::uint64_t id = 0;
  calls::HostLayout layout;
  std::vector<HostParameter> parameters;
};

// Spaces are permitted around types. Errors: EINVAL, with the place and the text that was expected;
// EMSGSIZE if arguments and reply take more than calls::host_frame_bytes_max.
Result<HostSignature> parse_host_signature(std::string_view text);

}  // namespace k2k::services
