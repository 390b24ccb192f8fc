#pragma once
// A value as error messages show it: the value may be a megabyte, and the message around it must
// stay visible.

#include <cstddef>
#include <string>
#include <string_view>

namespace k2k {

inline constexpr std::size_t shown_bytes_max = 100;

// `text`, or its first shown_bytes_max bytes and "...". Cuts between characters of UTF-8.
std::string shortened(std::string_view text);

}  // namespace k2k
