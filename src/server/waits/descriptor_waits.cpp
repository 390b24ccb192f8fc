#include "server/waits/descriptor_waits.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <new>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "services/sleep.hpp"

namespace k2k::server {

namespace {

// After this number of fruitless tries epoll is of no use for a descriptor: it is always ready and
// never gives data.
constexpr int fruitless_max = 64;

constexpr Instant never = Instant::max();

// The time between two looks of a thread that cannot be woken, or that has no epoll set.
constexpr Nanoseconds unwoken_max = std::chrono::milliseconds(10);

Instant deadline_of(const services::Readiness& readiness, Instant moment) {
  if (readiness.has_moment()) return readiness.moment;
  if (readiness.several) return never;
  const Nanoseconds timeout = services::timeout_of(readiness);
  return timeout == Nanoseconds::zero() ? never : moment + timeout;
}

}  // namespace

DescriptorWaits::DescriptorWaits(router::Files& files) : files_(&files) {}

// -- registrations --------------------------------------------------------------------------------

void DescriptorWaits::enter(int descriptor, Line& line, Round& round) {
  if (line.empty() || !set_.open()) return;
  const int error = set_.add(descriptor, line.events());
  if (error == 0) return;
  if (error == EBADF) return lose_file(line, 0, round);
  // Not a file for epoll, or no memory. poll(2) counts a file that epoll refuses as always ready:
  // as it was not, no event of it is waited for.
  for (auto stand = line.stands().begin(); stand != line.stands().end();) {
    Wait& wait = *(stand++)->wait;
    if (error == EPERM && wait.call.readiness.several) continue;
    round.for_pool.push_back(wait.call);
    remove(wait);
  }
}

void DescriptorWaits::renew(int descriptor, Line& line, std::size_t kept, Round& round) {
  if (line.empty() || !set_.open() || set_.renew(descriptor, line.events()) == 0) return;
  lose_file(line, kept, round);
  enter(descriptor, line, round);
}

void DescriptorWaits::lose_file(Line& line, std::size_t kept, Round& round) {
  std::size_t older = line.size() - std::min(kept, line.size());
  for (auto stand = line.stands().begin(); older != 0; --older) {
    Wait& wait = *(stand++)->wait;
    if (!wait.call.readiness.several) {
      give_up(wait, EBADF, round.answered);
    } else if (const services::Answer found = attempt(wait); !found.would_wait) {
      answer(wait, found.value, round.answered);
    }
  }
}

// Removes the lines, and the registrations, that no call needs any more.
void DescriptorWaits::sweep() {
  lines_.sweep([this](int descriptor) { set_.remove(descriptor); });
}

// -- the waits ------------------------------------------------------------------------------------

void DescriptorWaits::add(const Pending& call, Instant moment, Round& round) {
  add_due(call, moment, deadline_of(call.readiness, moment), round);
}

DescriptorWaits::Beside DescriptorWaits::add_beside(const Pending& call, Instant moment,
                                                    Round& round) {
  const services::Readiness& readiness = call.readiness;
  if (readiness.several || readiness.queue != 0 || !set_.may_change()) return Beside::refused;
  // The timer of such a call belongs to the thread that opens it.
  if (services::sleeps_if_too_late(call.request.number)) return Beside::refused;
  const Instant deadline = deadline_of(readiness, moment);
  const bool renewed = readiness.descriptor >= 0;
  const Instant due = renewed ? std::min(deadline, moment + check_every) : deadline;
  if (due < blocked_end_) return Beside::refused;
  add_due(call, moment, deadline, round);
  return round.empty() && set_.reports_all() ? Beside::added : Beside::must_wake;
}

void DescriptorWaits::add_due(const Pending& call, Instant moment, Instant deadline, Round& round) {
  if (!slots_.add(call.request)) return;
  if (services::sleeps_if_too_late(call.request.number) && !timer_.open()) {
    slots_.remove(call.request);
    round.for_pool.push_back(call);
    return;
  }
  try {
    insert(call, moment, deadline, round);
  } catch (const std::bad_alloc&) {
    slots_.remove(call.request);
    throw;
  }
  sweep();
}

void DescriptorWaits::insert(const Pending& call, Instant moment, Instant deadline, Round& round) {
  const services::Readiness& readiness = call.readiness;
  if (readiness.queue != 0) {
    retried_.add(call, moment);
    return;
  }
  if (readiness.descriptor < 0 && !readiness.several) {
    sleeps_.emplace(readiness.moment, call);
    return;
  }
  Wait wait{.call = call, .list = {}, .deadline = deadline};
  if (!readiness.several) {
    const auto events = static_cast<std::uint16_t>(readiness.events);
    const WaitingLines::Watched one{readiness.descriptor, events};
    return insert_wait(std::move(wait), {&one, 1}, moment, round);
  }
  std::optional<services::PollList> list = services::PollList::of(call.request);
  if (!list) {
    slots_.remove(call.request);
    round.for_pool.push_back(call);
    return;
  }
  wait.list = std::move(*list);
  insert_wait(std::move(wait), wait.list.watched(), moment, round);
}

void DescriptorWaits::insert_wait(Wait&& wait, std::span<const WaitingLines::Watched> watched,
                                  Instant moment, Round& round) {
  const bool first = lines_.empty();
  lines_.add(std::move(wait), watched);
  if (first) renewed_ = moment;
  // The call may end at any of its descriptors.
  for (const WaitingLines::Watched& each : watched) {
    Line* const line = lines_.find(each.descriptor);
    if (line == nullptr) continue;
    // Older calls may wait for a file that has lost its number.
    if (line->size() > 1) {
      renew(each.descriptor, *line, 1, round);
    } else {
      enter(each.descriptor, *line, round);
    }
  }
}

void DescriptorWaits::begin_wait(int wake, Round& round) {
  if (!set_.open()) {
    set_.make();
    lines_.for_each_line([&](int descriptor, Line& line) { enter(descriptor, line, round); });
    sweep();
  }
  set_.watch_wake(wake);
  blocked_end_ = next_look(now());
  has_set_ = set_.open();
  if (has_set_) set_.begin(blocked_end_);
}

void DescriptorWaits::block() {
  if (has_set_) return set_.block();
  ::usleep(static_cast<useconds_t>(timeout_until(blocked_end_)) * 1'000);
}

void DescriptorWaits::end_wait(Round& round) {
  if (has_set_) {
    for (const epoll_event& report : set_.reports()) {
      const auto descriptor = static_cast<int>(report.data.u64);
      if (Line* const line = lines_.find(descriptor)) {
        serve(descriptor, *line, report.events, round);
      }
    }
  } else {
    lines_.for_each_line(
        [&](int descriptor, Line& line) { serve(descriptor, line, EPOLLERR, round); });
  }
  sweep();
  const Instant moment = now();
  if (!lines_.empty() && moment - renewed_ >= check_every) {
    renewed_ = moment;
    lines_.for_each_line([&](int descriptor, Line& line) { renew(descriptor, line, 0, round); });
    set_.renew_wake();
  }
  while (Wait* const late = lines_.late(moment)) expire(*late, round);
  sweep();
  end_sleeps(moment, round);
  retry(moment, round);
}

// Linux looks once more, too.
void DescriptorWaits::expire(Wait& wait, Round& round) {
  const services::Readiness& readiness = wait.call.readiness;
  if (readiness.several) {
    return answer(wait, wait.list.look_at_last(readiness.moment), round.answered);
  }
  if (!readiness.has_moment()) return give_up(wait, EAGAIN, round.answered);
  const services::Answer found = attempt(wait);
  answer(wait, found.would_wait ? 0 : found.value, round.answered);
}

void DescriptorWaits::end_sleeps(Instant moment, Round& round) {
  const auto asleep = sleeps_.upper_bound(moment);
  for (auto sleep = sleeps_.begin(); sleep != asleep; ++sleep) {
    slots_.remove(sleep->second.request);
    round.answered.push_back({sleep->second, 0});
  }
  sleeps_.erase(sleeps_.begin(), asleep);
}

void DescriptorWaits::retry(Instant moment, Round& round) {
  retried_.try_due(
      moment, [this](Pending& call) { return attempt(call); },
      [&](const Pending& call, std::int64_t value) {
        slots_.remove(call.request);
        round.answered.push_back({call, value});
      });
}

Instant DescriptorWaits::next_look(Instant moment) const {
  Instant look = lines_.first_deadline();
  if (!sleeps_.empty()) look = std::min(look, sleeps_.begin()->first);
  look = std::min(look, retried_.next());
  // Once more without a call, too: a call that waits within this time need not wake the thread.
  const Instant check = renewed_ + check_every;
  if (!lines_.empty() || check > moment) look = std::min(look, check);
  if (set_.wake_lost() || !set_.open()) look = std::min(look, moment + unwoken_max);
  return look;
}

// First come, first served, separately for each direction, until a call would wait again.
void DescriptorWaits::serve(int descriptor, Line& line, std::uint32_t ready, Round& round) {
  const bool broken = (ready & (EPOLLERR | EPOLLHUP)) != 0;  // The call returns the error.
  std::uint32_t open = ~std::uint32_t{0};
  for (auto stand = line.stands().begin(); stand != line.stands().end();) {
    if (!broken && (line.events() & ready & open) == 0) break;
    const std::uint32_t events = stand->events;
    Wait& wait = *(stand++)->wait;
    // Without events only an error or the end is waited for.
    const bool meant = events == 0 || (events & open) != 0;
    if (!meant || (!broken && (events & ready) == 0)) continue;
    const std::uint64_t before = wait.call.progress.bytes;
    const services::Answer found = attempt(wait);
    if (!found.would_wait) {
      answer(wait, found.value, round.answered);
    } else if ((found.readiness.descriptor < 0 && !found.readiness.several) ||
               wait.fruitless == fruitless_max) {
      round.for_pool.push_back(wait.call);
      remove(wait);
    } else {
      // Several connects of one socket wait for one connection, and each must have begun.
      if (wait.call.request.number != SYS_connect) open &= ~events;
      wait.fruitless = wait.call.progress.bytes == before ? wait.fruitless + 1 : 0;
    }
  }
  renew(descriptor, line, 0, round);
}

services::Answer DescriptorWaits::attempt(Wait& wait) {
  if (!wait.call.readiness.several) return attempt(wait.call);
  const std::optional<std::int64_t> value = wait.list.look(wait.call.readiness.moment);
  if (value) return {.value = *value};
  return {.would_wait = true, .readiness = wait.call.readiness};
}

services::Answer DescriptorWaits::attempt(Pending& call) {
  const bool may_sleep = services::sleeps_if_too_late(call.request.number);
  // A connection to another host takes longer than any patience: the call only begins it.
  const bool begins = call.request.number == SYS_connect;
  if (may_sleep) timer_.begin(begins ? AttemptTimer::shortest : AttemptTimer::longest);
  const services::Answer answer =
      services::execute_without_waiting(call.request, call.progress, *files_);
  if (!may_sleep) return answer;
  timer_.end();
  if (answer.would_wait || answer.value != -EINTR) return answer;
  return {.would_wait = true, .readiness = call.readiness};
}

void DescriptorWaits::remove(Wait& wait) {
  slots_.remove(wait.call.request);
  lines_.remove(wait);
}

void DescriptorWaits::answer(Wait& wait, std::int64_t value, std::vector<Answered>& answered) {
  answered.push_back({wait.call, value});
  remove(wait);
}

void DescriptorWaits::give_up(Wait& wait, int error, std::vector<Answered>& answered) {
  const auto moved = static_cast<std::int64_t>(wait.call.progress.bytes);
  // As Linux answers at the timeout of the socket: the connection goes on.
  if (error == EAGAIN && wait.call.request.number == SYS_connect) error = EINPROGRESS;
  answer(wait, moved != 0 ? moved : -error, answered);
}

void DescriptorWaits::end(Whose whose, std::vector<Answered>& answered) {
  const auto ends = [whose](const Pending& call) {
    return whose == Whose::everybody || !call.request.detached();
  };
  lines_.for_each_wait([&](Wait& wait) {
    if (ends(wait.call)) give_up(wait, ECANCELED, answered);
  });
  sweep();
  std::erase_if(sleeps_, [&](const Sleeps::value_type& sleep) {
    if (!ends(sleep.second)) return false;
    slots_.remove(sleep.second.request);
    answered.push_back({sleep.second, -ECANCELED});
    return true;
  });
  retried_.end(ends, [&](const Pending& call, std::int64_t value) {
    slots_.remove(call.request);
    answered.push_back({call, value});
  });
}

}  // namespace k2k::server
