#include "labs/interference/options.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cmath>

namespace k2k::labs {

namespace {
template <class Number>
bool read(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}
}  // namespace

bool read_number(std::string_view text, double& number) { return read(text, number); }

Status read_count(const char* name, const std::string& text, std::uint32_t most,
                  std::uint32_t& count) {
  if (text.empty()) return {};
  if (read(text, count) && count >= 1 && count <= most) return {};
  return Error{EINVAL, fmt::format("{} is '{}'; permitted are 1 to {}", name, text, most)};
}

Status read_seconds(const std::string& text, double least, double most, double& seconds) {
  double value = 0;
  if (text.empty()) return {};
  if (read(text, value) && value >= least && value <= most) {
    seconds = value;
    return {};
  }
  return Error{EINVAL,
               fmt::format("--seconds is '{}'; permitted are {:g} to {:g}", text, least, most)};
}

Result<double> read_cap(const std::string& text) {
  const bool percent = text.ends_with('%');
  double value = 0;
  const bool number =
      read(std::string_view(text).substr(0, text.size() - (percent ? 1 : 0)), value);
  if (percent) value /= 100;
  if (number && value >= 0.0001 && value <= 1) return value;
  return Error{EINVAL, fmt::format("--cap is '{}'; permitted is a fraction of the CPU time of all "
                                   "cores, 0.0001 to 1, or 0.01% to 100%; --policy none has no cap",
                                   text)};
}

Status check_real_cap(double cap) {
  const double permille = cap * 1000;
  if (permille >= 0.999 && std::abs(permille - std::round(permille)) < 1e-6) return {};
  return Error{EINVAL,
               fmt::format("--cap is {:g} %; on real threads it is in steps of 0.1 %", cap * 100)};
}

Status read_real_cap(const std::string& text, std::uint32_t& permille) {
  if (text.empty()) return {};
  const Result<double> cap = read_cap(text);
  if (!cap) return cap.error();
  if (Status status = check_real_cap(cap.value()); !status) return status;
  permille = static_cast<std::uint32_t>(std::lround(cap.value() * 1000));
  return {};
}

}  // namespace k2k::labs
