#include "router/device_execution.hpp"

#include <algorithm>
#include <array>

#include "io/drained.hpp"
#include "io/look_wait.hpp"
#include "io/one_transfer.hpp"

namespace k2k::router {

namespace {

using Completions = std::array<io::Completion, 64>;

}  // namespace

ssize_t read_all(const Request& request, io::Engine& engine) {
  std::size_t done = 0;
  do {
    const std::int64_t count = io::result_of({.file = request.descriptor,
                                              .offset = request.offset + done,
                                              .memory = request.memory + done,
                                              .bytes = request.bytes - done},
                                             engine);
    if (count < 0 && done == 0) return count;
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  } while (done < request.bytes);
  return static_cast<ssize_t>(done);
}

DeviceExecution::DeviceExecution(std::uint32_t pages) {
  pieces_.reserve(pages + 3);
  direct_.reserve(pages / 2 + 2);
  cached_.reserve(pages + 3);
}

void DeviceExecution::make_transfers(const Request& request, const io::DirectFile& direct) {
  direct_.clear();
  cached_.clear();
  for (std::size_t at = 0; at < pieces_.size(); ++at) {
    const Piece& piece = pieces_[at];
    const int file = piece.direct ? direct.descriptor() : request.descriptor;
    (piece.direct ? direct_ : cached_)
        .push_back({file, piece.offset, request.memory + (piece.offset - request.offset),
                    piece.bytes, at, io::Direction::read});
  }
}

void DeviceExecution::note(std::span<const io::Completion> completions) {
  for (const io::Completion& each : completions) pieces_[each.tag].result = each.result;
}

bool DeviceExecution::prove(io::Engine& cached_engine) {
  const io::Transfer& first = direct_.front();
  const std::int64_t result = io::result_of(first, cached_engine);
  pieces_[first.tag].result = result;
  if (!is_refusal(result)) return true;
  for (const io::Transfer& other : std::span(direct_).subspan(1)) {
    pieces_[other.tag].direct = false;  // Nothing came of it: complete() brings it.
  }
  return false;
}

void DeviceExecution::transfer(io::Engine& cached_engine, io::Engine& direct_engine,
                               std::span<const io::Transfer> direct_ones) {
  const io::Drained direct_drained(direct_engine);
  const io::Drained cached_drained(cached_engine);
  std::span<const io::Transfer> cached_ones(cached_);
  Completions completions;
  const auto take = [&](io::Engine& engine, std::size_t least) {
    const std::size_t count = engine.poll(completions, least);
    note(std::span(completions).first(count));
    return count;
  };
  // Cached ones are given one at a time: an engine that is done at once would not let the direct
  // ones get on.
  const auto submit = [&] {
    if (!direct_ones.empty()) direct_ones = direct_ones.subspan(direct_engine.submit(direct_ones));
    if (!cached_ones.empty() && cached_engine.outstanding() == 0) {
      cached_ones = cached_ones.subspan(cached_engine.submit(cached_ones.first(1)));
    }
  };
  int looks = 0;
  for (submit(); direct_engine.outstanding() + cached_engine.outstanding() > 0; submit()) {
    const bool both = direct_engine.outstanding() > 0 && cached_engine.outstanding() > 0;
    std::size_t count = 0;
    if (direct_engine.outstanding() > 0) count += take(direct_engine, both ? 0 : 1);
    if (cached_engine.outstanding() > 0) count += take(cached_engine, both ? 0 : 1);
    looks = count > 0 ? 0 : looks + 1;
    if (count == 0) io::wait_after_look(looks);
  }
}

// The rest of a piece by the page cache.
void DeviceExecution::complete(Piece& piece, const Request& request, io::Engine& cached_engine,
                               Outcome& outcome) {
  const auto done = static_cast<std::size_t>(std::max<std::int64_t>(piece.result, 0));
  if (done == piece.bytes) return;
  const ssize_t count =
      read_all({request.descriptor, request.memory + (piece.offset + done - request.offset),
                piece.bytes - done, piece.offset + done},
               cached_engine);
  if (count > 0) outcome.bytes_cache += static_cast<std::uint64_t>(count);
  if (count >= 0) piece.result = static_cast<std::int64_t>(done) + count;
  if (count < 0 && done == 0) piece.result = count;
}

Outcome DeviceExecution::run(const Request& request, const Plan& plan, const io::DirectFile& direct,
                             io::Engine& cached_engine, io::Engine& direct_engine, bool proven) {
  Outcome outcome;
  cut(request, plan, direct.alignment().offset, pieces_);
  make_transfers(request, direct);
  std::span<const io::Transfer> direct_ones(direct_);
  if (!proven && !direct_ones.empty()) {
    direct_ones = prove(cached_engine) ? direct_ones.subspan(1) : direct_ones.first(0);
  }
  transfer(cached_engine, direct_engine, direct_ones);

  // In the file's order: nothing behind a short piece is read again, as the kernel would stop
  // there.
  std::uint64_t done = 0;
  for (Piece& piece : pieces_) {
    const std::int64_t first = piece.result;
    const auto moved = static_cast<std::uint64_t>(std::max<std::int64_t>(first, 0));
    (piece.direct ? outcome.bytes_direct : outcome.bytes_cache) += moved;
    outcome.refused += piece.direct && first < 0 ? 1 : 0;
    complete(piece, request, cached_engine, outcome);
    const bool is_whole = piece.result == static_cast<std::int64_t>(piece.bytes);
    if (piece.direct) {
      outcome.is_no_direct_file |= is_refusal(first) || (first == -EIO && is_whole);
    }
    if (piece.result < 0 && done == 0) outcome.answer = static_cast<ssize_t>(piece.result);
    if (piece.result > 0) done += static_cast<std::uint64_t>(piece.result);
    if (!is_whole) break;
  }
  if (done > 0) outcome.answer = static_cast<ssize_t>(done);
  return outcome;
}

}  // namespace k2k::router
