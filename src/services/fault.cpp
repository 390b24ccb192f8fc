#include "services/fault.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/clock.hpp"
#include "calls/reach.hpp"
#include "calls/rows.hpp"
#include "services/nested.hpp"
#include "services/policy.hpp"
#include "services/raw.hpp"

namespace k2k::services {

namespace {

// Linux 5.18; <sys/mman.h> of Debian 12 has it.
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

constexpr std::size_t page = backend::demand_page_bytes;
constexpr std::size_t staging_bytes = 16 * page;

struct Range {
  std::uintptr_t begin = 0;  // Whole pages.
  std::uintptr_t end = 0;
};

Range range_of(const Request& request) {
  const std::uint64_t count = std::min<std::uint64_t>(request.arguments[1], calls::fault_bytes_max);
  const std::uintptr_t begin = request.arguments[0] / page * page;
  const std::uintptr_t last = request.arguments[0] + (count == 0 ? 0 : count - 1);
  // Beyond the last address there is no region: an error, not a range that wraps.
  return {begin,
          last < begin || last > UINTPTR_MAX - page ? begin + page : (last / page + 1) * page};
}

// What Linux will do with the memory behind a parameter.
backend::PageAccess access_of(calls::Kind kind) {
  using calls::Kind;
  // Of vectors, the elements; their pieces have an access of their own.
  const bool reads = calls::is_one_of(
      kind, Kind::path, Kind::in_bytes, Kind::in_struct, Kind::in_sized, Kind::text, Kind::in_array,
      Kind::in_letter, Kind::in_nodes, Kind::in_handle, Kind::in_self_sized, Kind::in_pieces,
      Kind::out_pieces, Kind::in_piece, Kind::in_content, Kind::out_content, Kind::in_message);
  return reads ? backend::PageAccess::read : backend::PageAccess::write;
}

bool for_writing(const Request& request) { return request.arguments[2] != 0; }

Answer answer_of(const Request& request, std::uintptr_t there, int error) {
  const std::uint64_t count = std::min<std::uint64_t>(request.arguments[1], calls::fault_bytes_max);
  if (count == 0) return {0, false, {}};
  if (there > request.arguments[0]) {
    return {static_cast<std::int64_t>(std::min(count, there - request.arguments[0])), false, {}};
  }
  if (error == EAGAIN) return {0, true, {}};
  return {-std::int64_t{error}, false, {}};
}

}  // namespace

bool is_fault(const Request& request) { return request.number == calls::fault_in_number; }

std::size_t resolve(std::span<Fault> faults, backend::Reading reading) {
  alignas(page) std::array<std::byte, staging_bytes> staging;
  std::sort(faults.begin(), faults.end(), [](const Fault& left, const Fault& right) {
    return left.request.arguments[0] < right.request.arguments[0];
  });
  std::size_t ranges = 0;
  for (std::size_t first = 0; first < faults.size();) {
    Range range = range_of(faults[first].request);
    auto access = backend::PageAccess::read;
    if (for_writing(faults[first].request)) access = backend::PageAccess::write;
    std::size_t last = first + 1;
    for (; last < faults.size(); ++last) {
      const Range next = range_of(faults[last].request);
      if (next.begin > range.end) break;
      range.end = std::max(range.end, next.end);
      if (for_writing(faults[last].request)) access = backend::PageAccess::write;
    }
    ++ranges;
    const backend::Populated done =
        backend::populate(range.begin, range.end - range.begin, access, reading, staging);
    const std::uintptr_t there = range.begin + done.bytes;
    // Those up to the page that failed are settled; the others are a range of their own.
    for (; first < last; ++first) {
      if (done.error != 0 && range_of(faults[first].request).begin > there) break;
      faults[first].answer = answer_of(faults[first].request, there, done.error);
    }
  }
  return ranges;
}

namespace {

// 0, -EAGAIN or -EFAULT.
std::int64_t bring_in(std::uint64_t address, std::uint64_t bytes, backend::PageAccess access,
                      backend::Reading reading) {
  if (address == 0 || bytes == 0) return 0;
  const int error = backend::populate_missing(address, bytes, access, reading);
  if (error == EAGAIN) return -EAGAIN;
  return error == 0 ? 0 : -EFAULT;
}

}  // namespace

std::int64_t bring_in_arguments(const Request& request, backend::Reading reading) {
  if (request.row < 0 || !backend::any_region()) return 0;
  const calls::Shape& row = calls::shapes[request.row];
  for (std::size_t index = 0; index < calls::parameters_max; ++index) {
    const calls::Extent extent = extent_of(row, index, request);
    const std::uint64_t address = request.arguments[index];
    const std::uint64_t reach =
        calls::possible_bytes(extent, calls::number_in(row.parameters[extent.size_from].kind,
                                                       request.arguments[extent.size_from]));
    const std::int64_t missing = bring_in(address, reach, access_of(extent.kind), reading);
    if (missing != 0) return missing;
    if (address == 0 || !calls::is_nested(extent.kind)) continue;
    const std::uint64_t number = request.arguments[extent.size_from];
    // Linux itself refuses a wrong pointer.
    const std::int64_t part = for_each_part(
        extent, address, number, [reading](std::uint64_t at, std::uint64_t bytes, bool writes) {
          return bring_in(at, bytes,
                          writes ? backend::PageAccess::write : backend::PageAccess::read, reading);
        });
    if (part == -EAGAIN) return part;
  }
  return 0;
}

std::int64_t advise_memory(const Request& request) {
  const auto& word = request.arguments;
  const auto advice = static_cast<int>(word[2]);
  const bool removes = advice == MADV_DONTNEED || advice == MADV_DONTNEED_LOCKED;
  if (!removes || !backend::any_region()) return pass_on(request);
  Request fitted = request;
  std::size_t bytes = word[1];
  if (const int error = backend::fit_to_pages(word[0], bytes); error != 0) return -error;
  fitted.arguments[1] = bytes;
  const backend::Removal removal(word[0], bytes, cycles());
  return pass_on(fitted);
}

}  // namespace k2k::services
