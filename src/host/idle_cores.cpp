#include "host/idle_cores.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>

namespace k2k::host {

namespace {
constexpr int fields_before = 3;  // The three averages.
}  // namespace

std::optional<std::uint32_t> runnable_of(std::string_view loadavg) {
  for (int field = 0; field < fields_before; ++field) {
    const std::size_t space = loadavg.find(' ');
    if (space == std::string_view::npos || space == 0) return {};
    loadavg.remove_prefix(space + 1);
  }
  std::uint32_t runnable = 0;
  const char* const last = loadavg.data() + loadavg.size();
  const auto [end, error] = std::from_chars(loadavg.data(), last, runnable);
  if (error != std::errc() || end == last || *end != '/') return {};
  return runnable;
}

Result<IdleCores> IdleCores::open(std::uint32_t usable, std::uint32_t online,
                                  const std::string& proc) {
  if (usable < online) {
    return Error{ENOTSUP,
                 fmt::format("this process may use {} of {} cores, and which of them are idle "
                             "cannot be seen; lift the restriction (taskset -p, cpuset)",
                             usable, online)};
  }
  Result<ProcFile> file = ProcFile::open(proc + "/loadavg");
  if (!file) return file.error();
  IdleCores cores(std::move(file).value(), online);
  if (const auto runnable = cores.runnable(); !runnable) return runnable.error();
  return cores;
}

Result<std::uint32_t> IdleCores::runnable() const {
  char line[line_bytes_max];
  const Result<std::string_view> text = file_.read(line);
  if (!text) return text.error();
  if (const auto count = runnable_of(text.value())) return *count;
  return Error{
      EBADMSG,
      fmt::format("{} is '{}', which is no line of load averages and running threads, such "
                  "as '0.20 0.18 0.12 3/80 11206'",
                  file_.path(), text.value().substr(0, text.value().find('\n')))};
}

bool IdleCores::all_busy(std::uint32_t serving) const {
  const Result<std::uint32_t> count = runnable();
  if (!count) return true;
  // Where no thread serves, the calling thread stands for the thread that would.
  return count.value() > (serving > 0 ? cores_ + 1 : cores_);
}

}  // namespace k2k::host
