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

constexpr bool is_pointer(calls::Kind kind) {
  return kind != calls::Kind::none && kind != calls::Kind::value && kind != calls::Kind::length &&
         kind != calls::Kind::descriptor && kind != calls::Kind::address;
}

// Bit i: parameter i points to something.
constexpr std::array<std::uint8_t, calls::row_count> pointers_of_row = [] {
  std::array<std::uint8_t, calls::row_count> masks{};
  for (std::size_t row = 0; row < masks.size(); ++row) {
    for (unsigned index = 0; index < calls::parameters_max; ++index) {
      if (is_pointer(calls::shapes[row].parameters[index].kind)) {
        masks[row] = static_cast<std::uint8_t>(masks[row] | 1u << index);
      }
    }
  }
  return masks;
}();

// As calls::certain_bytes() measures.
Admission::Pointer pointer_of(const calls::Shape& row, std::uint8_t index) {
  using Size = Admission::Size;
  const calls::Extent& extent = row.parameters[index];
  Admission::Pointer pointer{.index = index, .counted_by = extent.size_from};
  if (calls::is_one_of(extent.kind, calls::Kind::in_bytes, calls::Kind::out_bytes)) {
    const bool is_int = row.parameters[extent.size_from].kind == calls::Kind::length;
    pointer.size = is_int ? Size::counted_int : Size::counted;
  } else if (calls::is_measured(extent.kind) ||
             calls::is_one_of(extent.kind, calls::Kind::in_struct, calls::Kind::out_struct,
                              calls::Kind::inout_struct, calls::Kind::opaque)) {
    pointer.bytes = static_cast<std::uint16_t>(calls::certain_bytes(extent, 0));
  } else {
    pointer.size = Size::by_request;
  }
  return pointer;
}

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

std::int64_t admit_arguments(const Request& request, const backend::Backend& backend) {
  if (calls::answers_an_address(request.number) && !backend.info().reaches_host_pages) {
    return -ENOTSUP;
  }
  // The answer would be about the service thread.
  constexpr auto thread_usage = static_cast<int>(RUSAGE_THREAD);
  if (request.number == SYS_getrusage && static_cast<int>(request.arguments[0]) == thread_usage) {
    return -EPERM;
  }
  return 0;
}

Admission admission_of(std::uint16_t number, std::int16_t row, Openness openness,
                       bool hides_memory) {
  if (openness == Openness::known_only && !calls::is_basic(row)) return {.refusal = -ENOSYS};
  Admission admission{.by_arguments = arguments_decide(number)};
  if (!calls::is_open(row)) {
    if (number >= call_number_end) return {.refusal = -ENOSYS};
    if (refusal_of(number) != nullptr) return {.refusal = -EPERM};
    return admission;
  }
  if (!hides_memory) return admission;
  for (unsigned left = pointers_of_row[static_cast<std::size_t>(row)]; left != 0;
       left &= left - 1) {
    const auto index = static_cast<std::uint8_t>(std::countr_zero(left));
    admission.pointers[admission.count++] = pointer_of(calls::shapes[row], index);
  }
  return admission;
}

std::int64_t admit_hidden(const Request& request, const void* memory, std::uint64_t bytes,
                          const router::Files& files) {
  const bool taken = calls::takes_registered_memory(request.number) && files.takes(memory, bytes);
  return taken ? 0 : -EFAULT;
}

}  // namespace k2k::services
