#include "runtime/settings/shortened.hpp"

namespace k2k {

std::string shortened(std::string_view text) {
  if (text.size() <= shown_bytes_max) return std::string(text);
  std::size_t end = shown_bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // Inside UTF-8.
  return std::string(text.substr(0, end)) + "...";
}

}  // namespace k2k
