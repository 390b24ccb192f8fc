#pragma once
// Residencies as text: one request per line, one character per page, '1' cached, '0' not.
//
//   0001111100
//   11
//
// The newline after the last line may be missing. Threading: pure.

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace k2k::router {

// One vector per line, one byte per page, 0 or 1. Errors: EINVAL, no line, an empty line, a line of
// more than pages_max pages, another character; the message names line and column, counted from 1.
Result<std::vector<std::vector<std::uint8_t>>> residencies_of(std::string_view text);

}  // namespace k2k::router
