#include "router/read/writes.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <span>
#include <utility>

#include "base/descriptor.hpp"
#include "io/engine/blocking.hpp"

namespace k2k::router {

namespace {

constexpr std::uint64_t offset_max = std::numeric_limits<std::int64_t>::max();

// Of a file that is cached, the first look says so.
constexpr std::uint64_t first_look_pages = 16;
constexpr std::uint64_t look_pages = 4096;

// Is any of these pages cached, or may be?
bool may_be_cached(OpenFile& file, int descriptor, const struct stat& facts, io::PageRange range) {
  std::array<std::uint8_t, look_pages> cached;
  std::uint64_t most = first_look_pages;
  while (!range.empty()) {
    const std::span<std::uint8_t> look(cached.data(), std::min(range.pages, most));
    if (file.probe(descriptor, facts, range.first, look, 1) > 0) return true;
    range = {range.first + look.size(), range.pages - look.size()};
    most = look_pages;
  }
  return !file.knows_residency();
}

FileRequest part_of(const FileRequest& request, std::uint64_t begin, std::uint64_t end) {
  return {request.descriptor, request.memory + (begin - request.offset), end - begin, begin};
}

// Does a direct write's result say that the file will take no other? Whether EIO is the way to the
// device or the device itself, only a write that waits for it could tell.
bool is_lasting(std::int64_t result) { return is_refusal(result) || result == -EIO; }

}  // namespace

ssize_t Writes::pwrite(const FileRequest& request) {
  // Beyond, Linux writes less than all or nothing.
  const bool is_plain =
      request.bytes <= io::transfer_bytes_max && request.offset <= offset_max - request.bytes;
  if (!is_plain) return by_cache(request);
  const Body body = body_of(request);
  const WritePath path = path_of(request, body);
  return path.direct == nullptr ? by_cache(request) : in_parts(request, body, path);
}

Writes::Body Writes::body_of(const FileRequest& request) {
  const std::uint64_t begin = (request.offset + page_bytes - 1) / page_bytes * page_bytes;
  return {begin, std::max(begin, request.end() / page_bytes * page_bytes)};
}

Writes::WritePath Writes::path_of(const FileRequest& request, const Body& body) {
  if (body.end - body.begin < direct_bytes_) return {};
  struct stat facts{};
  if (::fstat(request.descriptor, &facts) != 0) return {};
  std::shared_ptr<OpenFile> file = files_.find_for_writing(request.descriptor, facts);
  const io::DirectFile* const direct = file ? file->direct() : nullptr;
  if (direct == nullptr) return {};
  if (!is_aligned(request, direct->alignment())) {
    add(counters_.misaligned, 1);
    return {};
  }
  if (!file_may_reach(request.end())) return {};
  const io::PageRange pages{body.begin / page_bytes, (body.end - body.begin) / page_bytes};
  if (may_be_cached(*file, request.descriptor, facts, pages)) return {};
  return {std::move(file), direct};
}

ssize_t Writes::in_parts(const FileRequest& request, const Body& body, const WritePath& path) {
  const auto head = static_cast<ssize_t>(body.begin - request.offset);
  if (head > 0) {
    const ssize_t count = by_cache(part_of(request, request.offset, body.begin));
    if (count < head) return count;
  }
  const FileRequest middle = part_of(request, body.begin, body.end);
  const std::int64_t result = io::transfer_now({.file = path.direct->descriptor(),
                                                .offset = middle.offset,
                                                .memory = middle.memory,
                                                .bytes = middle.bytes,
                                                .direction = io::Direction::write})
                                  .result;
  std::uint64_t done = body.begin;
  if (result > 0) {
    done += static_cast<std::uint64_t>(result);
    add(counters_.writes_direct, 1);
    add(counters_.bytes_direct, static_cast<std::uint64_t>(result));
    path.file->note_transfer();
  } else {
    add(counters_.fall_backs, 1);
    if (is_lasting(result)) path.file->refuse_direct();
  }
  const auto before = static_cast<ssize_t>(done - request.offset);
  if (done == request.end()) return before;
  const ssize_t count = by_cache(part_of(request, done, request.end()));
  if (count < 0) return before > 0 ? before : count;
  return before + count;
}

ssize_t Writes::by_cache(const FileRequest& request) {
  const ssize_t count = ::pwrite(request.descriptor, request.memory, request.bytes,
                                 static_cast<off_t>(request.offset));
  if (count < 0) return -errno;
  add(counters_.bytes_cache, static_cast<std::uint64_t>(count));
  return count;
}

}  // namespace k2k::router
