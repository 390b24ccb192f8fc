#pragma once
// Options that laboratories share: read strictly, refused with what is permitted.
//
// Threading: pure functions.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace k2k::labs {

// Decimal, and nothing else around it. False, and `number` as it was.
bool read_number(std::string_view text, double& number);

// An empty text leaves `count` as it is. Errors: EINVAL.
Status read_count(const char* name, const std::string& text, std::uint32_t most,
                  std::uint32_t& count);

// "0.05" or "5%", a fraction of the CPU time of all cores. Errors: EINVAL.
Result<double> read_cap(const std::string& text);

// Real servers keep caps in steps of 0.1 %. Errors: EINVAL.
Status check_real_cap(double cap);

}  // namespace k2k::labs
