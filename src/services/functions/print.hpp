#pragma once
// The text of k2k::print(), formatted by the host.
//
// Threading: pure.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "calls/print.hpp"
#include "services/functions/host_function.hpp"

namespace k2k::services {

// Appends the formatted text. `texts`: those of the arguments, in their order. 0, or -EINVAL: the
// format does not suit the arguments, or these do not suit `texts`.
std::int64_t format_print(std::string& text, std::string_view format,
                          std::span<const calls::PrintValue> values,
                          std::span<const HostSpan> texts);

}  // namespace k2k::services
