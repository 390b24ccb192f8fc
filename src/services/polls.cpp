#include "services/polls.hpp"

#include <fcntl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <ctime>
#include <limits>

#include "base/clock.hpp"
#include "base/own_descriptors.hpp"
#include "calls/pieces.hpp"
#include "services/opens/copy_in.hpp"
#include "services/raw.hpp"
#include "services/sleep.hpp"

namespace k2k::services {

namespace {

constexpr Answer by_thread_alone{.would_wait = true};

constexpr Instant never = Instant::max();

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

// A timespec at `address`, or a timeval, whose microseconds Linux divides.
Patience patience_at(std::uint64_t address, bool in_microseconds) {
  if (address == 0) return {};
  timespec time{};
  const int error = copy_in(address, &time, sizeof(time));
  if (error == EFAULT) return {.kind = Patience::Kind::refused, .error = -EFAULT};
  if (error != 0) return {Patience::Kind::unknown};
  if (in_microseconds) {
    const std::int64_t microseconds = time.tv_nsec;
    if (__builtin_add_overflow(time.tv_sec, microseconds / 1'000'000, &time.tv_sec)) {
      time.tv_sec = -1;
    }
    time.tv_nsec = microseconds % 1'000'000 * 1'000;
  }
  return patience_of(time);
}

// The address at which Linux leaves the rest of the time, or 0.
std::uint64_t place_of_rest(const Request& request) {
  switch (request.number) {
    case SYS_ppoll:
      return request.arguments[2];
    case SYS_select:
    case SYS_pselect6:
      return request.arguments[4];
    default:
      return 0;
  }
}

// As Linux: with every answer, an error too, but not for a time of 0; memory that cannot be written
// is no error.
void write_rest(const Request& request, Instant end) {
  const std::uint64_t place = place_of_rest(request);
  if (place == 0 || end == Instant{} || end == never) return;
  const std::int64_t rest = std::max((end - now()).count(), std::int64_t{0});
  const std::int64_t unit = request.number == SYS_select ? 1'000 : 1;
  const std::array<std::int64_t, 2> time = {rest / 1'000'000'000, rest % 1'000'000'000 / unit};
  static_cast<void>(copy_out(place, time.data(), sizeof(time)));
}

// The wait, once a look has found nothing.
Answer wait_of(Readiness readiness, const Patience& patience) {
  if (patience.kind == Patience::Kind::until) readiness.moment = patience.end;
  return {.would_wait = true, .readiness = readiness};
}

// -- poll and epoll_wait --------------------------------------------------------------------------

// Linux takes an unsigned int.
std::size_t length_of_list(const Request& request) {
  return static_cast<std::uint32_t>(request.arguments[1]);
}

Answer try_list(const Request& request, const Patience& patience) {
  const auto& word = request.arguments;
  const std::int64_t count = raw(SYS_poll, word[0], word[1], 0);
  if (count != 0 || patience.kind == Patience::Kind::none) return {.value = count};
  if (length_of_list(request) > PollList::descriptors_max) return by_thread_alone;
  return wait_of({.several = true}, patience);
}

Answer try_events(const Request& request, const Patience& patience) {
  const auto& word = request.arguments;
  const std::int64_t count = raw(SYS_epoll_wait, word[0], word[1], word[2], 0);
  if (count != 0 || patience.kind == Patience::Kind::none) return {.value = count};
  return wait_of({.descriptor = static_cast<int>(word[0]), .events = POLLIN}, patience);
}

// Writes only the reports: the caller may change the rest of its list meanwhile.
int write_reports(std::uint64_t address, const std::vector<pollfd>& list) {
  constexpr std::size_t most = 64;
  std::array<short, most> reports;
  std::array<iovec, most> there;
  for (std::size_t from = 0; from < list.size(); from += most) {
    const std::size_t count = std::min(most, list.size() - from);
    for (std::size_t index = 0; index < count; ++index) {
      reports[index] = list[from + index].revents;
      const std::uint64_t place = address + (from + index) * sizeof(pollfd);
      there[index] = {reinterpret_cast<void*>(place + offsetof(pollfd, revents)), sizeof(short)};
    }
    const iovec here{reports.data(), count * sizeof(short)};
    const ssize_t written = ::process_vm_writev(::getpid(), &here, 1, there.data(), count, 0);
    if (written != static_cast<ssize_t>(here.iov_len)) return written < 0 ? errno : EFAULT;
  }
  return 0;
}

// -- select ---------------------------------------------------------------------------------------

constexpr std::size_t set_count = 3;  // Readable, writable, exceptional.

using Set = std::array<std::uint64_t, PollList::descriptors_max / 64>;
using Sets = std::array<Set, set_count>;

// The events that a set asks for, one that no other set asks for, and the reports that make its
// bit ready (POLLIN_SET and its neighbours in Linux' fs/select.c).
struct Events {
  short asked;
  short mark;
  short ready;
};
constexpr std::array<Events, set_count> events_of_set = {{
    {POLLIN | POLLRDNORM | POLLRDBAND, POLLIN,
     POLLIN | POLLRDNORM | POLLRDBAND | POLLHUP | POLLERR | POLLNVAL},
    {POLLOUT | POLLWRNORM | POLLWRBAND, POLLOUT,
     POLLOUT | POLLWRNORM | POLLWRBAND | POLLERR | POLLNVAL},
    {POLLPRI, POLLPRI, POLLPRI | POLLNVAL},
}};

// Linux takes an int, which try_sets() has found not to be negative.
std::size_t length_of_sets(const Request& request) {
  return static_cast<std::uint32_t>(request.arguments[0]);
}

std::size_t words_of(std::size_t bits) { return (bits + 63) / 64; }

// Linux looks at no bit behind the process's table of descriptors. A closed descriptor within the
// table is an error.
bool is_behind_table(std::size_t descriptor) {
  if (::fcntl(static_cast<int>(descriptor), F_GETFD) >= 0) return false;
  Set alone{};
  alone[descriptor / 64] = std::uint64_t{1} << (descriptor % 64);
  timeval at_once{};
  return raw(SYS_select, descriptor + 1, &alone, nullptr, nullptr, &at_once) == 0;
}

// The bits of each set that Linux looks at: the table has whole words of them, at least one.
// Expects at most PollList::descriptors_max.
std::size_t bits_of_sets(const Request& request) {
  const std::size_t bits = length_of_sets(request);
  if (bits <= 64 || !is_behind_table(bits - 1)) return bits;
  std::size_t first_behind = (bits - 1) / 64;  // A word, of which the first bit is behind, too.
  for (std::size_t within = 1; within < first_behind;) {
    const std::size_t middle = (within + first_behind) / 2;
    if (is_behind_table(64 * middle)) {
      first_behind = middle;
    } else {
      within = middle + 1;
    }
  }
  return 64 * first_behind;
}

// Does the report make the bit of the descriptor ready in the set of these events?
bool is_ready(const pollfd& each, const Events& events) {
  return (each.events & events.mark) != 0 && (each.revents & events.ready) != 0;
}

// Returns 0 or an error.
int copy_sets(const Request& request, std::size_t bits, Sets& sets) {
  const std::size_t words = words_of(bits);
  for (std::size_t set = 0; set < set_count; ++set) {
    std::fill_n(sets[set].begin(), words, 0);
    const std::uint64_t address = request.arguments[set + 1];
    const int error = address == 0 ? 0 : copy_in(address, sets[set].data(), words * 8);
    if (error != 0) return error;
    // Bits behind the last descriptor are not looked at.
    if (bits % 64 != 0) sets[set][words - 1] &= ~std::uint64_t{0} >> (64 - bits % 64);
  }
  return 0;
}

int write_sets(const Request& request, std::size_t bits, const Sets& sets) {
  for (std::size_t set = 0; set < set_count; ++set) {
    const std::uint64_t address = request.arguments[set + 1];
    const int error = address == 0 ? 0 : copy_out(address, sets[set].data(), words_of(bits) * 8);
    if (error != 0) return error;
  }
  return 0;
}

// Bits of each set: their number.
std::int64_t ready_sets(const std::vector<pollfd>& list, Sets& sets, std::size_t words) {
  for (Set& set : sets) std::fill_n(set.begin(), words, 0);
  std::int64_t found = 0;
  for (const pollfd& each : list) {
    for (std::size_t set = 0; set < set_count; ++set) {
      if (!is_ready(each, events_of_set[set])) continue;
      sets[set][static_cast<std::size_t>(each.fd) / 64] |= std::uint64_t{1} << (each.fd % 64);
      ++found;
    }
  }
  return found;
}

Answer try_sets(const Request& request, const Patience& patience) {
  const auto& word = request.arguments;
  if (static_cast<int>(word[0]) < 0) return {.value = -EINVAL};
  if (length_of_sets(request) > PollList::descriptors_max) return by_thread_alone;
  const std::size_t bits = bits_of_sets(request);
  Sets ready;
  const int error = copy_sets(request, bits, ready);
  if (error == EFAULT) return {.value = -EFAULT};
  if (error != 0) return by_thread_alone;
  timeval at_once{};
  const auto place = [&](std::size_t set) { return word[set + 1] == 0 ? nullptr : &ready[set]; };
  const std::int64_t found = raw(SYS_select, bits, place(0), place(1), place(2), &at_once);
  if (found < 0) return {.value = found};
  if (found == 0 && patience.kind != Patience::Kind::none) {
    return wait_of({.several = true}, patience);
  }
  return {.value = write_sets(request, bits, ready) != 0 ? -EFAULT : found};
}

// -- masks of signals -----------------------------------------------------------------------------

// The size and the address of the call's mask.
struct Mask {
  std::uint64_t address = 0;  // 0: the call has none.
  std::uint64_t bytes = 0;
};

// The argument that leads to the mask, of pselect6 by a Piece. 0: the call has no mask.
std::size_t place_of_mask(std::uint16_t number) {
  switch (number) {
    case SYS_ppoll:
      return 3;
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
      return 4;
    case SYS_pselect6:
      return 5;
    default:
      return 0;
  }
}

// Returns 0 or an error. Memory that only Linux itself can read counts as a call without a mask.
std::int64_t take_mask(const Request& request, Mask& mask) {
  const std::size_t place = place_of_mask(request.number);
  if (place == 0) return 0;
  const std::uint64_t address = request.arguments[place];
  if (request.number != SYS_pselect6) {
    mask = {address, request.arguments[place + 1]};
    return 0;
  }
  calls::Piece piece{};
  if (address != 0 && copy_in(address, &piece, sizeof(piece)) == EFAULT) return -EFAULT;
  mask = {piece.address, piece.bytes};
  return 0;
}

// The errors that Linux finds in a mask. A mask that is right changes nothing: a work-item has no
// thread of the process, so no signal is delivered to it, whatever the mask lets pass.
std::int64_t refuse_mask(const Mask& mask) {
  constexpr std::size_t right_bytes = sizeof(std::uint64_t);
  if (mask.address == 0) return 0;
  if (mask.bytes != right_bytes) return -EINVAL;
  std::uint64_t signals = 0;
  return copy_in(mask.address, &signals, sizeof(signals)) == EFAULT ? -EFAULT : 0;
}

// -- the time of a call ---------------------------------------------------------------------------

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

Answer try_at_once(const Request& request, const Patience& patience) {
  switch (request.number) {
    case SYS_poll:
    case SYS_ppoll:
      return try_list(request, patience);
    case SYS_select:
    case SYS_pselect6:
      return try_sets(request, patience);
    default:
      return try_events(request, patience);
  }
}

bool has_sets(const Request& request) {
  return request.number == SYS_select || request.number == SYS_pselect6;
}

bool is_poll(const Request& request) {
  constexpr std::array<std::uint16_t, 7> polls = {SYS_poll,        SYS_ppoll,      SYS_select,
                                                  SYS_pselect6,    SYS_epoll_wait, SYS_epoll_pwait,
                                                  SYS_epoll_pwait2};
  return std::ranges::find(polls, request.number) != polls.end();
}

// The errors of the call's time and mask, in the order in which Linux finds them. 0: none.
std::int64_t refuse_first(const Request& request, const Patience& patience) {
  Mask mask;
  if (const std::int64_t refused = take_mask(request, mask); refused != 0) return refused;
  if (patience.kind == Patience::Kind::refused) return patience.error;
  return refuse_mask(mask);
}

// -- a call on a thread of its own ----------------------------------------------------------------

timespec time_until(Instant end) {
  const std::int64_t rest = std::max((end - now()).count(), std::int64_t{0});
  return {rest / 1'000'000'000, rest % 1'000'000'000};
}

// Rounded up, at most 24 days.
int milliseconds_of(const timespec& time) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  return static_cast<int>(
      std::min(time.tv_sec * 1'000 + (time.tv_nsec + 999'999) / 1'000'000, most));
}

// Linux' own wait without the mask. `limit` is changed; null: without end.
std::int64_t wait_for_events(const Request& request, timespec* limit) {
  const auto& word = request.arguments;
  const std::int64_t count = raw(SYS_epoll_pwait2, word[0], word[1], word[2], limit, nullptr, 0);
  // Since Linux 5.11; a filter of system calls may refuse it, too.
  if (count != -ENOSYS && count != -EPERM) return count;
  return raw(SYS_epoll_wait, word[0], word[1], word[2],
             limit == nullptr ? -1 : milliseconds_of(*limit));
}

std::int64_t wait_for_sets(const Request& request, timespec* limit) {
  const auto& word = request.arguments;
  if (request.number == SYS_pselect6) {
    return raw(SYS_pselect6, word[0], word[1], word[2], word[3], limit, nullptr);
  }
  if (limit == nullptr) return raw(SYS_select, word[0], word[1], word[2], word[3], nullptr);
  timeval rest{limit->tv_sec, (limit->tv_nsec + 999) / 1'000};
  return raw(SYS_select, word[0], word[1], word[2], word[3], &rest);
}

std::int64_t wait_in_linux(const Request& request, timespec* limit) {
  const auto& word = request.arguments;
  switch (request.number) {
    case SYS_poll:
    case SYS_ppoll:
      return raw(SYS_ppoll, word[0], word[1], limit, nullptr, 0);
    case SYS_select:
    case SYS_pselect6:
      return wait_for_sets(request, limit);
    default:
      return wait_for_events(request, limit);
  }
}

}  // namespace

std::optional<Answer> try_polls(const Request& request, Progress& progress) {
  using Kind = Patience::Kind;
  Patience patience{progress.end == never ? Kind::for_ever : Kind::until, progress.end};
  if (progress.end == Instant{}) {  // The first try: later ones read no time and no mask again.
    const std::optional<Patience> asked = patience_of_call(request);
    if (!asked) return {};
    patience = *asked;
    if (const std::int64_t refused = refuse_first(request, patience); refused != 0) {
      return Answer{.value = refused};
    }
    if (patience.kind == Kind::unknown) return by_thread_alone;
    if (patience.kind == Kind::for_ever) patience.end = never;
    progress.end = patience.end;
  }
  const Answer answer = try_at_once(request, patience);
  if (!answer.would_wait) write_rest(request, patience.end);
  return answer;
}

std::optional<std::int64_t> wait_for_polls(const Request& request, const Progress& progress) {
  if (!is_poll(request)) return {};
  if (progress.end == Instant{}) {  // Only Linux can read its time.
    Request without_mask = request;
    const std::size_t mask = place_of_mask(request.number);
    if (mask != 0) without_mask.arguments[mask] = 0;
    return pass_on(without_mask);
  }
  timespec rest = time_until(progress.end);
  const std::int64_t value = wait_in_linux(request, progress.end == never ? nullptr : &rest);
  write_rest(request, progress.end);
  return value;
}

// -- a call that waits ----------------------------------------------------------------------------

std::optional<PollList> PollList::of(const Request& request) {
  PollList list(request);
  if (has_sets(request) ? list.take_sets() : list.take_list()) return list;
  return {};
}

bool PollList::take_list() {
  const std::size_t count = length_of_list(request_);
  if (count > descriptors_max) return false;
  list_.resize(count);
  const std::size_t bytes = count * sizeof(pollfd);
  return count == 0 || copy_in(request_.arguments[0], list_.data(), bytes) == 0;
}

bool PollList::take_sets() {
  if (length_of_sets(request_) > descriptors_max) return false;
  set_bits_ = bits_of_sets(request_);
  Sets asked;
  if (copy_sets(request_, set_bits_, asked) != 0) return false;
  for (std::size_t word = 0; word < words_of(set_bits_); ++word) {
    for (std::uint64_t bits = asked[0][word] | asked[1][word] | asked[2][word]; bits != 0;
         bits &= bits - 1) {
      const int bit = std::countr_zero(bits);
      pollfd each{static_cast<int>(word * 64) + bit, 0, 0};
      for (std::size_t set = 0; set < set_count; ++set) {
        if ((asked[set][word] >> bit & 1) == 0) continue;
        each.events = static_cast<short>(each.events | events_of_set[set].asked);
      }
      list_.push_back(each);
    }
  }
  return true;
}

std::vector<PollList::Watched> PollList::watched() const {
  std::vector<Watched> watched;
  watched.reserve(list_.size());
  for (const pollfd& each : list_) {
    if (each.fd < 0 || is_own(each.fd)) continue;
    watched.push_back({each.fd, static_cast<std::uint16_t>(each.events)});
  }
  std::ranges::sort(watched, {}, &Watched::descriptor);
  std::size_t kept = 0;
  for (const Watched& each : watched) {
    if (kept != 0 && watched[kept - 1].descriptor == each.descriptor) {
      watched[kept - 1].events |= each.events;
    } else {
      watched[kept++] = each;
    }
  }
  watched.resize(kept);
  return watched;
}

std::int64_t PollList::poll() { return raw(SYS_poll, list_.data(), list_.size(), 0); }

std::int64_t PollList::answer(std::int64_t found, Instant end) const {
  int error = 0;
  if (found >= 0 && has_sets(request_)) {
    Sets ready;
    found = ready_sets(list_, ready, words_of(set_bits_));
    error = write_sets(request_, set_bits_, ready);
  } else if (found >= 0) {
    error = write_reports(request_.arguments[0], list_);
  }
  write_rest(request_, end);
  return error != 0 ? -EFAULT : found;
}

std::optional<std::int64_t> PollList::look(Instant end) {
  const std::int64_t found = poll();
  if (found == 0) return {};
  if (found > 0 && has_sets(request_)) {
    // A report that no set asks for, as of a connection that ended in the set of the writable ones.
    const auto in_a_set = [](const pollfd& each) {
      return std::ranges::any_of(events_of_set,
                                 [&](const Events& events) { return is_ready(each, events); });
    };
    if (std::ranges::none_of(list_, in_a_set)) return {};
  }
  return answer(found, end);
}

std::int64_t PollList::look_at_last(Instant end) { return answer(poll(), end); }

}  // namespace k2k::services
