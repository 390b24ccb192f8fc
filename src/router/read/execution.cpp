#include "router/read/execution.hpp"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>

#include "io/engine/blocking.hpp"
#include "io/engine/drained.hpp"
#include "io/file/raw.hpp"

namespace k2k::router {

namespace {

constexpr std::size_t completions_at_once = 64;

}  // namespace

FileRequest within_file(const FileRequest& request, const struct stat& facts) {
  if (!S_ISREG(facts.st_mode)) return request;
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  FileRequest within = request;
  within.bytes = request.offset < size ? std::min(request.bytes, size - request.offset) : 0;
  return within;
}

bool is_aligned(const FileRequest& request, const io::Alignment& alignment) {
  if (alignment.offset > page_bytes || alignment.offset % alignment.memory != 0) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(request.memory);
  return (address - request.offset) % alignment.memory == 0;
}

bool is_one_transfer(const FileRequest& request, const io::Alignment& alignment) {
  return is_aligned(request, alignment) && request.offset % alignment.offset == 0 &&
         request.bytes % alignment.offset == 0;
}

ssize_t read_all(const FileRequest& request) {
  std::size_t done = 0;
  while (done < request.bytes) {
    const ssize_t count = ::pread(request.descriptor, request.memory + done,
                                  std::min(request.bytes - done, io::transfer_bytes_max),
                                  static_cast<off_t>(request.offset + done));
    if (count < 0 && done == 0) return -errno;
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  return static_cast<ssize_t>(done);
}

Outcome read_directly(const FileRequest& request, const io::DirectFile& direct) {
  Outcome outcome;
  Piece piece{request.offset, request.bytes, true, 0};
  piece.result = io::transfer_now({direct.descriptor(), request.offset, request.memory,
                                   request.bytes, 0, io::Direction::read})
                     .result;
  outcome.answer = answer_of({&piece, 1}, [&](Piece& only) {
    complete_direct(only, request, outcome, [](const FileRequest& rest) { return read_all(rest); });
  });
  return outcome;
}

Execution::Execution(std::uint32_t pages) {
  pieces_.reserve(pages + 3);
  transfers_.reserve(pages / 2 + 2);
}

namespace {

void append(std::vector<Piece>& pieces, std::uint64_t begin, std::uint64_t end, bool direct) {
  if (begin >= end) return;
  if (!pieces.empty() && pieces.back().direct == direct) {
    pieces.back().bytes += end - begin;
  } else {
    pieces.push_back({begin, end - begin, direct, 0});
  }
}

}  // namespace

void cut(const FileRequest& request, const Plan& plan, std::uint32_t alignment,
         std::vector<Piece>& pieces) {
  pieces.clear();
  const std::uint64_t base = request.first_page() * page_bytes;
  for_each_segment(plan, [&](Range range, bool from_cache) {
    const std::uint64_t begin =
        std::max(base + std::uint64_t{range.first} * page_bytes, request.offset);
    const std::uint64_t end =
        std::min(base + std::uint64_t{range.last} * page_bytes, request.end());
    if (from_cache) return append(pieces, begin, end, false);
    const std::uint64_t body = std::min((begin + alignment - 1) / alignment * alignment, end);
    const std::uint64_t tail = std::max(end / alignment * alignment, body);
    append(pieces, begin, body, false);
    append(pieces, body, tail, true);
    append(pieces, tail, end, false);
  });
}

namespace {

// No direct piece is longer than `most` bytes afterwards, a multiple of the alignment.
void cut_direct(std::vector<Piece>& pieces, std::size_t most) {
  for (std::size_t at = 0; at < pieces.size(); ++at) {
    if (!pieces[at].direct || pieces[at].bytes <= most) continue;
    const Piece rest{pieces[at].offset + most, pieces[at].bytes - most, true, 0};
    pieces[at].bytes = most;
    pieces.insert(pieces.begin() + static_cast<std::ptrdiff_t>(at) + 1, rest);
  }
}

}  // namespace

bool note_first(std::span<const io::Transfer> transfers, std::int64_t result,
                std::span<Piece> pieces) {
  pieces[transfers.front().tag].result = result;
  if (!is_refusal(result)) return true;
  for (const io::Transfer& other : transfers.subspan(1)) pieces[other.tag].direct = false;
  return false;
}

void shortest_first(std::span<io::Transfer> transfers) {
  const auto by_size = [](const io::Transfer& a, const io::Transfer& b) {
    return a.bytes < b.bytes;
  };
  std::swap(transfers.front(), *std::min_element(transfers.begin(), transfers.end(), by_size));
}

std::int64_t copy_checked(std::byte* to, const std::byte* from, std::size_t bytes) {
  iovec source{const_cast<std::byte*>(from), bytes};
  iovec target{to, bytes};
  return io::raw(SYS_process_vm_writev, ::getpid(), &source, 1ul, &target, 1ul, 0ul);
}

bool can_copy_checked() {
  std::byte from{}, to{};
  return copy_checked(&to, &from, 1) == 1;
}

std::byte* Execution::transfer_memory(const FileRequest& request, const Piece& piece) const {
  if (bounce_.empty()) return request.memory + (piece.offset - request.offset);
  return bounce_.data() + (piece.offset - request.first_page() * page_bytes);
}

void Execution::arrived(const FileRequest& request, std::size_t piece, std::int64_t result) {
  Piece& ended = pieces_[piece];
  if (!bounce_.empty() && result > 0) {
    result = copy_checked(request.memory + (ended.offset - request.offset),
                          transfer_memory(request, ended), static_cast<std::size_t>(result));
  }
  ended.result = result;
}

bool Execution::prove(const FileRequest& request) {
  shortest_first(transfers_);
  const io::Transfer& first = transfers_.front();
  if (!note_first(transfers_, io::transfer_now(first).result, pieces_)) return false;
  arrived(request, first.tag, pieces_[first.tag].result);
  return true;
}

Outcome Execution::run(const FileRequest& request, const Plan& plan, const io::DirectFile& direct,
                       io::Engine& engine, bool proven, std::span<std::byte> bounce) {
  Outcome outcome;
  bounce_ = bounce;
  cut(request, plan, direct.alignment().offset, pieces_);
  if (!bounce_.empty()) cut_direct(pieces_, bounce_piece_bytes);
  transfers_.clear();
  for (std::size_t at = 0; at < pieces_.size(); ++at) {
    const Piece& piece = pieces_[at];
    if (!piece.direct) continue;
    transfers_.push_back({direct.descriptor(), piece.offset, transfer_memory(request, piece),
                          piece.bytes, at, io::Direction::read});
  }
  std::span<const io::Transfer> waiting(transfers_);
  const bool alone = pieces_.size() == 1;
  if (!waiting.empty() && (alone || !proven)) {
    waiting = prove(request) ? waiting.subspan(1) : waiting.first(0);
  }
  const io::Drained drained(engine);
  const auto submit = [&] { waiting = waiting.subspan(engine.submit(waiting)); };
  std::array<io::Completion, completions_at_once> completions;
  const auto poll = [&](std::size_t least) {
    const std::size_t count = engine.poll(completions, least);
    for (std::size_t at = 0; at < count; ++at) {
      arrived(request, completions[at].tag, completions[at].result);
    }
    if (!waiting.empty()) submit();
  };
  const auto by_cache = [](const FileRequest& rest) { return read_all(rest); };
  submit();
  for (Piece& piece : pieces_) {
    if (piece.direct) continue;
    complete(piece, request, outcome, by_cache);
    if (!waiting.empty()) poll(0);
  }
  // With nothing left to submit the thread is woken once, not by each of them; but bounced pieces
  // are copied while the others are in flight.
  while (engine.outstanding() > 0 || !waiting.empty()) {
    poll(waiting.empty() && bounce_.empty() ? completions.size() : 1);
  }

  outcome.answer = answer_of(pieces_, [&](Piece& piece) {
    if (piece.direct) complete_direct(piece, request, outcome, by_cache);
  });
  return outcome;
}

}  // namespace k2k::router
