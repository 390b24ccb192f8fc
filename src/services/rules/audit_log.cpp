#include "services/rules/audit_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.hpp"
#include "calls/rows.hpp"
#include "calls/table.hpp"

namespace k2k::services {

namespace {

constexpr std::size_t reason_bytes_max = 400;

// A kernel's text cannot end the line, or look like another.
std::string printable(std::string_view text) {
  std::string shown;
  for (const char letter : text.substr(0, reason_bytes_max)) {
    const bool plain = letter >= ' ' && letter <= '~';
    shown += plain ? std::string(1, letter)
                   : fmt::format("\\x{:02x}", static_cast<unsigned char>(letter));
  }
  if (text.size() > reason_bytes_max) shown += "...";
  return shown;
}

std::string name_of_call(std::uint16_t number) {
  const calls::Entry* const entry = calls::entry_of(number);
  if (entry != nullptr) return entry->name;
  const int row = calls::find(number);  // Of K2K's own calls.
  return row >= 0 ? calls::shapes[row].name : fmt::format("call {}", number);
}

}  // namespace

Result<AuditLog> AuditLog::open(const std::string& path) {
  if (path.empty()) return AuditLog(Descriptor());
  Descriptor file(::open(path.c_str(),
                         O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600));
  if (file.open()) return AuditLog(std::move(file));
  return Error{errno, fmt::format("{}: {}", path, std::strerror(errno))};
}

void AuditLog::refused(const Request& request, std::int64_t value, std::string_view what) {
  const std::int64_t second =
      std::chrono::duration_cast<std::chrono::seconds>(now().time_since_epoch()).count();
  std::int64_t before = second_.load(std::memory_order_relaxed);
  if (before != second && second_.compare_exchange_strong(before, second)) lines_.store(0);
  if (lines_.fetch_add(1) >= audit_lines_a_second) {
    left_out_.fetch_add(1);
    return;
  }
  std::string line;
  if (const std::uint64_t left_out = left_out_.exchange(0); left_out != 0) {
    line = fmt::format("k2k audit: {} more calls were refused\n", left_out);
  }
  const char* const code = ::strerrorname_np(static_cast<int>(-value));
  line += fmt::format("k2k audit: wave {} lane {}: {}: {}: {}\n", request.wave, request.lane,
                      name_of_call(request.number), code == nullptr ? "?" : code, printable(what));
  static_cast<void>(
      ::write(file_.open() ? file_.number() : STDERR_FILENO, line.data(), line.size()));
}

}  // namespace k2k::services
