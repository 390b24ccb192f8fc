#include "tests/simulation/requests.hpp"

#include <fmt/format.h>

#include <cerrno>

#include "calls/rows.hpp"
#include "tests/simulation/world.hpp"

namespace k2k::simulation {

namespace {
std::uint64_t word_of(std::uint32_t id, int index) {
  return (std::uint64_t{id} << 32) + static_cast<std::uint64_t>(index) * 0x1111u;
}
}  // namespace

std::uint32_t Requests::issue(std::uint16_t number, std::uint8_t flags, bool refused_by_policy) {
  Entry& entry = entries_.emplace_back();
  entry.number = number;
  entry.flags = flags;
  entry.refused_by_policy = refused_by_policy;
  return size();
}

device::Words Requests::words_of(std::uint32_t id) {
  device::Words words;
  for (int index = 0; index < protocol::argument_count; ++index) {
    words.word[index] = word_of(id, index);
  }
  return words;
}

bool Requests::is_ours(const services::Request& request) {
  return request.number != calls::nop_number;
}

Requests::Entry* Requests::find(const services::Request& request) {
  const std::uint64_t id = request.arguments[0] >> 32;
  if (id == 0 || id > entries_.size()) {
    violated(
        fmt::format("row {} lane {}: a request was accepted that nobody made (word 0 is {:#x})",
                    request.wave, request.lane, request.arguments[0]));
    return nullptr;
  }
  Entry& found = entry(static_cast<std::uint32_t>(id));
  // The host may omit arguments that the call does not have.
  const int count =
      request.row < 0 ? protocol::argument_count : calls::parameter_count(calls::rows[request.row]);
  for (int index = 0; index < count; ++index) {
    const std::uint64_t wanted = word_of(static_cast<std::uint32_t>(id), index);
    if (request.arguments[index] == wanted) continue;
    violated(fmt::format("request {}: argument {} is {:#x} on the host, not {:#x}", id, index,
                         request.arguments[index], wanted));
  }
  if (request.number != found.number || request.attributes.flags != found.flags) {
    violated(fmt::format("request {}: number {} and flags {} on the host, not {} and {}", id,
                         request.number, request.attributes.flags, found.number, found.flags));
  }
  return &found;
}

std::int64_t Requests::admit(const services::Request& request) {
  if (!is_ours(request)) return 0;
  const Entry* const found = find(request);
  return found != nullptr && found->refused_by_policy ? -EPERM : 0;
}

std::int64_t Requests::value_of(std::uint32_t id, const Entry& entry) {
  return entry.refused_by_policy ? -EPERM : std::int64_t{id} * 1000 + 7;
}

std::int64_t Requests::execute(const services::Request& request) {
  if (!is_ours(request)) return 0;
  Entry* const found = find(request);
  if (found == nullptr) return 0;
  const auto id = static_cast<std::uint32_t>(request.arguments[0] >> 32);
  if (++found->executed != 1) violated(fmt::format("request {} was executed twice", id));
  return value_of(id, *found);
}

void Requests::take(std::uint32_t id, const Reply& reply, bool may_be_cut_off) {
  Entry& mine = entry(id);
  ++mine.taken;
  if (reply.transport() != protocol::TransportError::none) {
    if (!may_be_cut_off) violated(fmt::format("request {}: a transport error in a quiet life", id));
    mine.cut_off = true;
    return;
  }
  if (mine.executed == 0 && !mine.refused_by_policy) {
    violated(fmt::format("request {}: its work-item has an answer nobody gave", id));
  }
  if (reply.value() != value_of(id, mine)) {
    violated(fmt::format("request {}: its work-item got {}, not {}", id, reply.value(),
                         value_of(id, mine)));
  }
}

void Requests::expect_settled(bool closed) {
  for (std::uint32_t id = 1; id <= size(); ++id) {
    const Entry& mine = entry(id);
    const bool nobody_waits = (mine.flags & protocol::flag::detached) != 0;
    if (closed && (nobody_waits || mine.cut_off)) continue;
    if (mine.cut_off && mine.executed == 0) continue;  // Abandoned before it was published.
    if (mine.executed == 0 && !mine.refused_by_policy) {
      violated(fmt::format("request {} was never executed", id));
    }
    if (!nobody_waits && !mine.cut_off && mine.taken != 1) {
      violated(fmt::format("request {} was answered {} times", id, mine.taken));
    }
  }
}

}  // namespace k2k::simulation
