#include "services/policy.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>

#include "calls/commands.hpp"
#include "calls/reach.hpp"
#include "calls/rows.hpp"
#include "calls/table.hpp"
#include "router/door/files.hpp"

namespace k2k::services {

namespace {

// 0, or the errno for a call that is open but for these arguments.
std::int64_t admit_arguments(const Request& request, const backend::Backend& backend) {
  if (answers_an_address(request.number) && !backend.info().reaches_host_pages) return -ENOTSUP;
  // The answer would be about the service thread.
  constexpr auto thread_usage = static_cast<int>(RUSAGE_THREAD);
  if (request.number == SYS_getrusage && static_cast<int>(request.arguments[0]) == thread_usage) {
    return -EPERM;
  }
  return 0;
}

constexpr bool is_pointer(calls::Kind kind) {
  return kind != calls::Kind::none && kind != calls::Kind::value && kind != calls::Kind::length &&
         kind != calls::Kind::descriptor && kind != calls::Kind::address;
}

// A bit beyond those of the parameters: arguments decide whether the call is open.
constexpr unsigned conditional = 1u << calls::parameters_max;

// Bit i: parameter i points to something; and `conditional`.
constexpr std::array<std::uint8_t, calls::row_count> checks_of_row = [] {
  std::array<std::uint8_t, calls::row_count> masks{};
  for (std::size_t row = 0; row < masks.size(); ++row) {
    if (arguments_decide(calls::shapes[row].number)) masks[row] = conditional;
    for (unsigned index = 0; index < calls::parameters_max; ++index) {
      if (is_pointer(calls::shapes[row].parameters[index].kind)) {
        masks[row] = static_cast<std::uint8_t>(masks[row] | 1u << index);
      }
    }
  }
  return masks;
}();

}  // namespace

calls::Extent extent_of(const calls::Shape& row, std::size_t index, const Request& request) {
  const calls::Extent& parameter = row.parameters[index];
  if (parameter.kind != calls::Kind::by_command) return parameter;
  return calls::extent_of(row.number, static_cast<int>(index), request.arguments);
}

std::uint64_t reach_of(const calls::Shape& row, std::size_t index, const Request& request) {
  return reach_of(row, row.parameters[index], index, request);
}

std::uint64_t reach_of(const calls::Shape& row, const calls::Extent& parameter, std::size_t index,
                       const Request& request) {
  if (parameter.kind == calls::Kind::by_command) {
    return reach_of(row, extent_of(row, index, request), index, request);
  }
  const std::uint64_t number = calls::number_in(row.parameters[parameter.size_from].kind,
                                                request.arguments[parameter.size_from]);
  return calls::certain_bytes(parameter, number);
}

const char* refusal_of(std::uint16_t number) {
  const calls::Entry* const entry = calls::entry_of(number);
  return entry != nullptr && entry->access == calls::Access::refused ? entry->reason : nullptr;
}

std::int64_t admit(const Request& request, Openness openness, const backend::Backend& backend,
                   const router::Files& files) {
  if (openness == Openness::known_only && !calls::is_basic(request.row)) return -ENOSYS;
  if (!calls::is_open(request.row)) {
    if (request.number >= call_number_end) return -ENOSYS;
    if (refusal_of(request.number) != nullptr) return -EPERM;
    return admit_arguments(request, backend);
  }
  const calls::Shape& row = calls::shapes[request.row];
  unsigned checks = checks_of_row[static_cast<std::size_t>(request.row)];
  if ((checks & conditional) != 0) [[unlikely]] {
    if (const std::int64_t error = admit_arguments(request, backend); error != 0) return error;
    checks &= ~conditional;
  }
  for (; checks != 0; checks &= checks - 1) {
    const auto index = static_cast<std::size_t>(std::countr_zero(checks));
    const std::uint64_t address = request.arguments[index];
    const std::uint64_t bytes = reach_of(row, index, request);
    if (address == 0 || bytes == 0) continue;
    const auto* const memory = reinterpret_cast<const void*>(address);
    if (backend.host_may_access(memory, bytes)) continue;
    if (!calls::takes_registered_memory(request.number) || !files.takes(memory, bytes))
      return -EFAULT;
  }
  return 0;
}

}  // namespace k2k::services
