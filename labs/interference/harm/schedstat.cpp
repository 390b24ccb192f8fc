#include "labs/interference/harm/schedstat.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include "base/units.hpp"
#include "host/canary.hpp"
#include "host/observer.hpp"
#include "host/proc_file.hpp"

namespace k2k::labs::harm {

namespace {

Error unreadable(const std::string& path, int code) {
  return {code, fmt::format("cannot read {}: {}; the run delay needs Linux' schedstat, and "
                            "/proc of the victim's user",
                            path, std::strerror(code))};
}

double seconds(Nanoseconds time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

Result<Schedstat> parse_schedstat(std::string_view line) {
  const std::optional<Nanoseconds> cpu = host::cpu_time_of(line);
  const std::optional<Nanoseconds> delay = host::run_delay_of(line);
  if (!cpu || !delay) {
    return Error{EIO, fmt::format("'{}' is no line of schedstat", line.substr(0, 60))};
  }
  return Schedstat{seconds(*cpu), seconds(*delay)};
}

Result<Schedstat> read_schedstat(const std::string& path) {
  const Result<host::ProcFile> file = host::ProcFile::open(path);
  if (!file) return unreadable(path, file.error().code);
  std::array<char, host::line_bytes_max> buffer{};
  const Result<std::string_view> text = file.value().read(buffer);
  if (!text) return unreadable(path, text.error().code);
  return parse_schedstat(text.value().substr(0, text.value().find('\n')));
}

Result<Schedstat> own_schedstat() { return read_schedstat("/proc/thread-self/schedstat"); }

}  // namespace k2k::labs::harm
