#include "router/plan/residency_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "router/plan/model.hpp"

namespace k2k::router {

namespace {

constexpr const char* form = "each line is a request, each character a page: 1 cached, 0 not";

std::string shown(char character) {
  const auto byte = static_cast<unsigned char>(character);
  return byte > ' ' && byte < 0x7f ? fmt::format("'{}'", character)
                                   : fmt::format("the byte 0x{:02x}", byte);
}

}  // namespace

Result<std::vector<std::vector<std::uint8_t>>> residencies_of(std::string_view text) {
  if (text.empty()) return Error{EINVAL, fmt::format("no line; {}", form)};
  std::vector<std::vector<std::uint8_t>> all;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::size_t number = all.size() + 1;
    if (line.empty()) return Error{EINVAL, fmt::format("line {} is empty; {}", number, form)};
    if (line.size() > pages_max) {
      return Error{EINVAL, fmt::format("line {} has {} pages; at most {} (2 GiB) make a request",
                                       number, line.size(), pages_max)};
    }
    const std::size_t wrong = line.find_first_not_of("01");
    if (wrong != line.npos) {
      return Error{EINVAL, fmt::format("line {}, column {}: {}; {}", number, wrong + 1,
                                       shown(line[wrong]), form)};
    }
    std::vector<std::uint8_t>& pages = all.emplace_back(line.size());
    std::transform(line.begin(), line.end(), pages.begin(),
                   [](char character) { return static_cast<std::uint8_t>(character == '1'); });
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return all;
}

}  // namespace k2k::router
