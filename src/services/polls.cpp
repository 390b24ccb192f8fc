#include "services/polls.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/select.h>
#include <sys/syscall.h>

#include <array>
#include <bit>
#include <cerrno>
#include <ctime>

#include "base/clock.hpp"
#include "calls/pieces.hpp"
#include "services/opens/copy_in.hpp"
#include "services/raw.hpp"
#include "services/sleep.hpp"

namespace k2k::services {

namespace {

constexpr Answer by_thread_alone{.would_wait = true};

// How long the call may wait.
struct Patience {
  enum class Kind : std::uint8_t { for_ever, until, none, refused, unknown } kind = Kind::for_ever;
  Instant end{};
  std::int64_t error = 0;  // Of `refused`.
};

Patience patience_of(int milliseconds) {
  if (milliseconds < 0) return {};
  if (milliseconds == 0) return {Patience::Kind::none};
  return {Patience::Kind::until, now() + std::chrono::milliseconds(milliseconds)};
}

Patience patience_of(const timespec& time) {
  const std::optional<Instant> end = end_of(time, false);
  if (!end) return {.kind = Patience::Kind::refused, .error = -EINVAL};
  if (time.tv_sec == 0 && time.tv_nsec == 0) return {Patience::Kind::none};
  return {Patience::Kind::until, *end};
}

// A timespec at `address`, or a timeval. A timeval with too many microseconds is Linux' to judge.
Patience patience_at(std::uint64_t address, bool in_microseconds) {
  if (address == 0) return {};
  timespec time{};
  const int error = copy_in(address, &time, sizeof(time));
  if (error == EFAULT) return {.kind = Patience::Kind::refused, .error = -EFAULT};
  if (error != 0) return {Patience::Kind::unknown};
  if (in_microseconds) {
    if (time.tv_nsec < 0 || time.tv_nsec >= 1'000'000) return {Patience::Kind::unknown};
    time.tv_nsec *= 1'000;
  }
  return patience_of(time);
}

// The wait for one descriptor, once a look has found nothing.
Answer wait_of(Readiness readiness, const Patience& patience) {
  if (patience.kind == Patience::Kind::until) readiness.moment = patience.end;
  return {.would_wait = true, .readiness = readiness};
}

// -- poll and epoll_wait --------------------------------------------------------------------------

Readiness descriptor_of_list(const Request& request) {
  pollfd watched{-1, 0, 0};
  if (request.arguments[1] != 0)
    static_cast<void>(copy_in(request.arguments[0], &watched, sizeof(watched)));
  return {.descriptor = watched.fd, .events = watched.events};
}

Answer try_list(const Request& request, const Patience& patience, bool writes_rest) {
  const auto& word = request.arguments;
  const std::int64_t count = raw(SYS_poll, word[0], word[1], 0);
  if (count != 0 || patience.kind == Patience::Kind::none) return {.value = count};
  const bool timed = patience.kind == Patience::Kind::until;
  if (word[1] > 1 || (timed && writes_rest)) return by_thread_alone;
  return wait_of(descriptor_of_list(request), patience);
}

Answer try_events(const Request& request, const Patience& patience) {
  const auto& word = request.arguments;
  const std::int64_t count = raw(SYS_epoll_wait, word[0], word[1], word[2], 0);
  if (count != 0 || patience.kind == Patience::Kind::none) return {.value = count};
  return wait_of({.descriptor = static_cast<int>(word[0]), .events = POLLIN}, patience);
}

// -- select ---------------------------------------------------------------------------------------

constexpr std::size_t set_count = 3;  // Readable, writable, exceptional.
constexpr std::size_t descriptors_max = 8'192;
constexpr std::array<short, set_count> events_of_set = {POLLIN, POLLOUT, POLLPRI};

using Set = std::array<std::uint64_t, descriptors_max / 64>;

// The one descriptor in all sets. -1: none, or several.
Readiness one_of(const std::array<Set, set_count>& asked, std::size_t words) {
  Readiness one;
  for (std::size_t set = 0; set < set_count; ++set) {
    for (std::size_t word = 0; word < words; ++word) {
      const std::uint64_t bits = asked[set][word];
      if (bits == 0) continue;
      const int descriptor = static_cast<int>(word * 64) + std::countr_zero(bits);
      const bool several = !std::has_single_bit(bits);
      if (several || (one.descriptor >= 0 && one.descriptor != descriptor)) return {};
      one.descriptor = descriptor;
      one.events = static_cast<short>(one.events | events_of_set[set]);
    }
  }
  return one;
}

Answer try_sets(const Request& request, const Patience& patience) {
  const auto& word = request.arguments;
  const auto count = static_cast<int>(word[0]);
  if (count < 0) return {.value = -EINVAL};
  if (static_cast<std::size_t>(count) > descriptors_max) return by_thread_alone;
  const std::size_t words = (static_cast<std::size_t>(count) + 63) / 64;
  std::array<Set, set_count> asked;
  for (std::size_t set = 0; set < set_count; ++set) {
    const std::uint64_t address = word[set + 1];
    asked[set].fill(0);
    const int error = address == 0 ? 0 : copy_in(address, asked[set].data(), words * 8);
    if (error == EFAULT) return {.value = -EFAULT};
    if (error != 0) return by_thread_alone;
  }
  // Bits behind the last descriptor are not looked at.
  if (count % 64 != 0) {
    const std::uint64_t looked_at = ~std::uint64_t{0} >> (64 - count % 64);
    for (Set& set : asked) set[words - 1] &= looked_at;
  }
  std::array<Set, set_count> ready = asked;
  timeval at_once{};
  const auto place = [&](std::size_t set) { return word[set + 1] == 0 ? nullptr : &ready[set]; };
  const std::int64_t found = raw(SYS_select, count, place(0), place(1), place(2), &at_once);
  if (found < 0) return {.value = found};
  if (found == 0 && patience.kind != Patience::Kind::none) {
    const Readiness one = one_of(asked, words);
    const bool open = one.descriptor >= 0 && ::fcntl(one.descriptor, F_GETFD) >= 0;
    if (patience.kind == Patience::Kind::until || !open) return by_thread_alone;
    return wait_of(one, patience);
  }
  for (std::size_t set = 0; set < set_count; ++set) {
    if (word[set + 1] != 0 && copy_out(word[set + 1], ready[set].data(), words * 8) != 0) {
      return {.value = -EFAULT};
    }
  }
  return {.value = found};
}

// pselect6's last argument leads to the mask.
bool has_mask(std::uint64_t address) {
  if (address == 0) return false;
  calls::Piece mask{};
  return copy_in(address, &mask, sizeof(mask)) != 0 || mask.address != 0;
}

bool needs_thread(const Request& request) {
  const auto& word = request.arguments;
  switch (request.number) {
    case SYS_ppoll:
      return word[3] != 0;
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
      return word[4] != 0;
    case SYS_pselect6:
      return has_mask(word[5]);
    default:
      return false;
  }
}

// Nothing: another call.
std::optional<Patience> patience_of_call(const Request& request) {
  const auto& word = request.arguments;
  switch (request.number) {
    case SYS_poll:
      return patience_of(static_cast<int>(word[2]));
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
      return patience_of(static_cast<int>(word[3]));
    case SYS_ppoll:
      return patience_at(word[2], false);
    case SYS_epoll_pwait2:
      return patience_at(word[3], false);
    case SYS_select:
      return patience_at(word[4], true);
    case SYS_pselect6:
      return patience_at(word[4], false);
    default:
      return {};
  }
}

}  // namespace

std::optional<Answer> try_polls(const Request& request) {
  const std::optional<Patience> patience = patience_of_call(request);
  if (!patience) return {};
  if (patience->kind == Patience::Kind::unknown || needs_thread(request)) return by_thread_alone;
  if (patience->kind == Patience::Kind::refused) return Answer{.value = patience->error};
  switch (request.number) {
    case SYS_poll:
    case SYS_ppoll:
      return try_list(request, *patience, request.number == SYS_ppoll);
    case SYS_select:
    case SYS_pselect6:
      return try_sets(request, *patience);
    default:
      return try_events(request, *patience);
  }
}

}  // namespace k2k::services
