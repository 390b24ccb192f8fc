#pragma once
// Options shared by laboratories: parsed strictly; an error message lists the permitted values.
//
// Threading: pure functions.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace k2k::labs {

// Parses a decimal number with no other characters. Returns false, and leaves `number` unchanged,
// otherwise.
bool read_number(std::string_view text, double& number);

// An empty text leaves `count` as it is. Errors: EINVAL.
Status read_count(const char* name, const std::string& text, std::uint32_t most,
                  std::uint32_t& count);

// An empty text leaves `seconds` as it is. Errors: EINVAL.
Status read_seconds(const std::string& text, double least, double most, double& seconds);

// "0.05" or "5%", a fraction of the CPU time of all cores. Errors: EINVAL.
Result<double> read_cap(const std::string& text);

// Real servers take caps in steps of 0.1 %. Errors: EINVAL.
Status check_real_cap(double cap);
// A cap for a real server. An empty text leaves `permille` as it is. Errors: EINVAL.
Status read_real_cap(const std::string& text, std::uint32_t& permille);

}  // namespace k2k::labs
