#include "host/cpu_pressure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>

namespace k2k::host {

namespace {

constexpr std::size_t text_bytes_max = 512;
constexpr std::string_view total_key = "total=";
constexpr std::int64_t total_us_max = Nanoseconds::max().count() / 1000;

// The line that begins with "some ".
std::string_view some_line(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with("some ")) return line;
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return {};
}

}  // namespace

std::optional<Nanoseconds> some_total_of(std::string_view pressure) {
  const std::string_view line = some_line(pressure);
  const std::size_t at = line.rfind(' ');
  if (at == std::string_view::npos) return {};
  std::string_view number = line.substr(at + 1);
  if (!number.starts_with(total_key)) return {};
  number.remove_prefix(total_key.size());
  std::int64_t total_us = 0;
  const char* const last = number.data() + number.size();
  const auto [end, error] = std::from_chars(number.data(), last, total_us);
  if (error != std::errc() || end != last || total_us < 0 || total_us > total_us_max) return {};
  return std::chrono::microseconds(total_us);
}

Result<CpuPressure> CpuPressure::open(Instant now, const std::string& proc) {
  Result<ProcFile> file = ProcFile::open(proc + "/pressure/cpu");
  if (!file) return file.error();
  CpuPressure pressure(std::move(file).value(), now);
  const Result<Nanoseconds> total = pressure.total();
  if (!total) return total.error();
  pressure.last_total_ = total.value();
  return pressure;
}

Result<Nanoseconds> CpuPressure::total() const {
  char text[text_bytes_max];
  const Result<std::string_view> read = file_.read(text);
  if (!read) return read.error();
  if (const auto total = some_total_of(read.value())) return *total;
  return Error{EBADMSG, fmt::format("{} has no line such as 'some avg10=0.00 avg60=0.00 "
                                    "avg300=0.00 total=0'",
                                    file_.path())};
}

double CpuPressure::since_last(Instant now) {
  const Result<Nanoseconds> total = this->total();
  if (!total || now <= last_) return -1;
  const auto waited = static_cast<double>((total.value() - last_total_).count());
  const double part = waited / static_cast<double>((now - last_).count());
  last_ = now;
  last_total_ = total.value();
  return std::clamp(part, 0.0, 1.0);
}

}  // namespace k2k::host
