#include "router/read/device_execution.hpp"

#include <algorithm>
#include <array>

#include "io/engine/drained.hpp"
#include "io/engine/look_wait.hpp"
#include "io/engine/one_transfer.hpp"

namespace k2k::router {

namespace {

using Completions = std::array<io::Completion, 64>;

}  // namespace

ssize_t read_all(const FileRequest& request, io::Engine& engine) {
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

void DeviceExecution::make_transfers(const FileRequest& request, const io::DirectFile& direct) {
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
  shortest_first(direct_);
  return note_first(direct_, io::result_of(direct_.front(), cached_engine), pieces_);
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

Outcome DeviceExecution::run(const FileRequest& request, const Plan& plan,
                             const io::DirectFile& direct, io::Engine& cached_engine,
                             io::Engine& direct_engine, bool proven) {
  Outcome outcome;
  cut(request, plan, direct.alignment().offset, pieces_);
  make_transfers(request, direct);
  std::span<const io::Transfer> direct_ones(direct_);
  if (!proven && !direct_ones.empty()) {
    direct_ones = prove(cached_engine) ? direct_ones.subspan(1) : direct_ones.first(0);
  }
  transfer(cached_engine, direct_engine, direct_ones);

  const auto by_cache = [&](const FileRequest& rest) { return read_all(rest, cached_engine); };
  outcome.answer = answer_of(pieces_, [&](Piece& piece) {
    if (piece.direct) return complete_direct(piece, request, outcome, by_cache);
    outcome.bytes_cache += static_cast<std::uint64_t>(std::max<std::int64_t>(piece.result, 0));
    complete(piece, request, outcome, by_cache);
  });
  return outcome;
}

}  // namespace k2k::router
