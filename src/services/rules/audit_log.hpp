#pragma once
// One line for each call that a policy refuses, at most audit_lines_a_second of them; the
// lines that were left out are counted in the next second's first line.
//
// Threading: any thread, without a lock. Each line is one write(2).

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "services/request.hpp"

namespace k2k::services {

inline constexpr std::uint32_t audit_lines_a_second = 20;

class AuditLog {
 public:
  // Appends to the file; "" = standard error. Errors: as open(2).
  static Result<AuditLog> open(const std::string& path);
  AuditLog(AuditLog&& other) noexcept : file_(std::move(other.file_)) {}

  // `value` is the negative errno of the answer; `what` the reason, and may hold a kernel's text.
  void refused(const Request& request, std::int64_t value, std::string_view what);

 private:
  explicit AuditLog(Descriptor file) : file_(std::move(file)) {}

  Descriptor file_;  // Not open: standard error.
  std::atomic<std::int64_t> second_{0};
  std::atomic<std::uint32_t> lines_{0};     // Of this second.
  std::atomic<std::uint64_t> left_out_{0};  // Since the last line.
};

}  // namespace k2k::services
