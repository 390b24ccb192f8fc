#include "services/rules/memory_ranges.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "backend/given_memory.hpp"
#include "base/own_process.hpp"
#include "base/ranges.hpp"
#include "calls/reach.hpp"
#include "calls/rows.hpp"
#include "calls/table.hpp"
#include "services/rules/call_copies.hpp"

namespace k2k::services {

namespace {

using calls::Kind;

// Their memory holds further addresses that PartCopies does not judge, or their words name memory
// beside their pointers.
constexpr std::uint16_t follow_memory[] = {
    SYS_io_getevents,  // The context of aio is an address.
    SYS_io_pgetevents, SYS_io_cancel, SYS_bpf,         SYS_kexec_load,
    SYS_move_pages,    SYS_quotactl,  SYS_quotactl_fd,
};

// Of vectors, the elements: their pieces are judged beside them.
constexpr bool only_reads(Kind kind) {
  return calls::is_one_of(kind, Kind::path, Kind::in_bytes, Kind::in_struct, Kind::in_sized,
                          Kind::text, Kind::in_array, Kind::in_letter, Kind::in_nodes,
                          Kind::in_handle, Kind::in_self_sized, Kind::in_pieces, Kind::out_pieces,
                          Kind::in_piece, Kind::in_content, Kind::out_content, Kind::in_message);
}

bool is_number(Kind kind) {
  return calls::is_one_of(kind, Kind::none, Kind::value, Kind::length, Kind::descriptor);
}

// Bytes that Linux may touch there, of a string those that it touches for certain.
std::uint64_t bytes_behind(const calls::Shape& row, const calls::Extent& extent,
                           const Request& request) {
  if (calls::is_measured(extent.kind)) {
    return only_reads(extent.kind) ? calls::least_bytes(extent) : calls::most_bytes(extent);
  }
  if (extent.kind == Kind::opaque) return std::max<std::uint64_t>(extent.bytes, sizeof(int));
  const std::uint64_t number =
      calls::number_in(row.parameters[extent.size_from].kind, request.arguments[extent.size_from]);
  return calls::told_bytes(extent, number);
}

struct Span {
  std::uint64_t first = 0;
  std::uint64_t bytes = 0;
};

// The whole pages of a span: Linux maps, protects and discards no less.
Span in_pages(std::uint64_t first, std::uint64_t bytes, std::uint64_t page = 4096) {
  if (bytes == 0) return {first, 0};
  const std::uint64_t begin = first & ~(page - 1);
  const std::uint64_t before = first - begin;
  if (bytes > UINT64_MAX - before - (page - 1)) return {begin, UINT64_MAX};
  return {begin, (bytes + before + page - 1) & ~(page - 1)};
}

// Of huge pages a mapping has whole ones, and so has one of a file, which may lie in hugetlbfs.
Span span_of_mapping(const std::uint64_t (&word)[protocol::argument_count]) {
  constexpr std::uint64_t huge_page_most = std::uint64_t{1} << 30;
  const bool replaces = (word[3] & MAP_FIXED) != 0;
  const bool is_fixed = (word[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0;
  if (word[0] == 0 && !is_fixed) return {};  // Linux chooses the place. A fixed 0 is one, too.
  const bool may_be_huge = (word[3] & MAP_HUGETLB) != 0 || (word[3] & MAP_ANONYMOUS) == 0;
  Span span = in_pages(word[0], word[1]);
  if (replaces && may_be_huge) {
    span.bytes = in_pages(0, word[1], huge_page_most).bytes;
  }
  return span;
}

// The address space at an argument of the kind `address`.
Span span_at(const Request& request, std::size_t index) {
  const auto& word = request.arguments;
  switch (request.number) {
    case SYS_mmap:
      return span_of_mapping(word);
    case SYS_mremap:  // With an old size of 0 it makes a second mapping of the pages.
      if (index == 0) return in_pages(word[0], std::max<std::uint64_t>(word[1], 1));
      if (word[index] == 0 && (word[3] & MREMAP_FIXED) == 0) return {};
      return in_pages(word[index], word[2]);
    case SYS_shmat:  // As long as the segment is.
      if (word[index] == 0) return {};
      return {word[index], UINT64_MAX};
    case SYS_shmdt:
    case 454:  // futex_wake
      return {word[index], sizeof(int)};
    default:
      return in_pages(word[index], word[index + 1]);
  }
}

}  // namespace

MemoryRanges::Use MemoryRanges::use_of(std::uint16_t number) {
  if (refusal_of(number) != nullptr) return Use::nothing;
  const int row = calls::find(number);
  if (row < 0 || std::ranges::find(follow_memory, number) != std::end(follow_memory)) {
    return Use::unconfined;
  }
  if (has_copies(number)) return Use::parts;
  Use use = Use::nothing;
  for (const calls::Extent& parameter : calls::shapes[row].parameters) {
    // Linux may write more than the row knows.
    if (parameter.kind == Kind::out_limited) return Use::unconfined;
    if (calls::is_nested(parameter.kind)) {
      use = Use::parts;
    } else if (!is_number(parameter.kind) && use == Use::nothing) {
      use = Use::known;
    }
  }
  return use;
}

MemoryRanges::MemoryRanges(WantedMemory wanted) : wanted_(std::move(wanted)) {
  for (std::uint16_t number = 0; number < call_number_end; ++number) {
    uses_[number] = use_of(number);
  }
}

bool MemoryRanges::hold(std::uint64_t address, std::uint64_t bytes, bool only_read,
                        const backend::Backend& backend, const Ranges& registered) const {
  const auto lies_in = [&](std::uint64_t first, std::uint64_t all) {
    return address >= first && address - first <= all && bytes <= all - (address - first);
  };
  // K2K's slots, rings and stacks are beyond a range of the program that covers them.
  if (std::ranges::any_of(
          wanted_.ranges,
          [&](const WantedMemory::Range& range) { return lies_in(range.first, range.bytes); }) &&
      !meets_own_memory(address, bytes)) {
    return true;
  }
  if (!wanted_.of_kernels) return false;
  const protocol::AreaView& area = backend.area();
  const std::uint64_t arena_bytes = std::uint64_t{area.arena_blocks} * protocol::arena_block_bytes;
  if (lies_in(reinterpret_cast<std::uint64_t>(area.arena), arena_bytes)) return true;
  const auto* const memory = reinterpret_cast<const void*>(address);
  const backend::KernelMemory* const given = backend.info().kernel_memory;
  return (given != nullptr && given->gave_to_kernels(memory, bytes, only_read)) ||
         registered.holds(memory, bytes);
}

std::optional<MemoryRanges::Refusal> MemoryRanges::refusal(const Request& request,
                                                           const backend::Backend& backend,
                                                           const Ranges& registered) const {
  switch (of(request.number)) {
    case Use::nothing:
      return {};
    case Use::unconfined:
      return Refusal{-EACCES, "the memory of the call cannot be confined to memory.ranges"};
    case Use::known:
    case Use::parts:
      break;
  }
  const calls::Shape& row = calls::shapes[calls::find(request.number)];
  const bool is_copied = has_copies(request.number);
  if (is_copied) {
    if (const char* const why = unconfined_by(request)) return Refusal{-EACCES, why};
  }
  for (std::size_t index = 0; index < std::size(row.parameters); ++index) {
    const calls::Extent extent = extent_of(row, index, request);
    if (is_number(extent.kind)) continue;
    if (is_copied && calls::is_one_of(extent.kind, Kind::out_limited, Kind::opaque)) continue;
    const bool by_command = row.parameters[index].kind == Kind::by_command && !is_copied;
    if (by_command && (extent.kind == Kind::opaque || calls::is_nested(extent.kind))) {
      return Refusal{-EACCES, "the memory of this command cannot be confined to memory.ranges"};
    }
    const std::uint64_t address = request.arguments[index];
    const bool is_address = extent.kind == Kind::address;
    if (address == 0 && !is_address) continue;  // Linux answers it, and touches nothing.
    const Span span =
        is_address ? span_at(request, index) : Span{address, bytes_behind(row, extent, request)};
    if (span.bytes == 0 ||
        hold(span.first, span.bytes, only_reads(extent.kind), backend, registered)) {
      continue;
    }
    return Refusal{-EFAULT, fmt::format("argument {} names {} bytes at {:#x}, beyond memory.ranges",
                                        index, span.bytes, span.first)};
  }
  return {};
}

}  // namespace k2k::services
