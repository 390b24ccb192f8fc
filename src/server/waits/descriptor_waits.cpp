#include "server/waits/descriptor_waits.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <new>

#include "base/clock.hpp"
#include "base/system_call.hpp"
#include "services/file.hpp"
#include "services/sleep.hpp"

namespace k2k::server {

namespace {

// After this number of fruitless tries epoll is of no use for a descriptor: it is always ready and
// never gives data.
constexpr int fruitless_max = 64;

constexpr Instant never = Instant::max();

// The time between two looks of a thread that cannot be woken, or that has no epoll set.
constexpr Nanoseconds unwoken_max = std::chrono::milliseconds(10);

// Reports of one system call. Linux reports each descriptor in turn.
constexpr std::size_t reports_max = 64;

// A call's events are poll's: the same bits.
static_assert(POLLIN == EPOLLIN && POLLOUT == EPOLLOUT);

// A report's key is its descriptor, or this.
constexpr std::uint64_t wake_key = ~std::uint64_t{0};

// Returns false if the descriptor is no eventfd (any more).
bool read_off(int wake) {
  std::uint64_t count = 0;
  return ::read(wake, &count, sizeof(count)) == sizeof(count) || errno == EAGAIN;
}

bool is_open(int descriptor) { return ::fcntl(descriptor, F_GETFD) >= 0; }

// The error, or 0.
int control(int set, int operation, int descriptor, std::uint32_t events, std::uint64_t key) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = key;
  return ::epoll_ctl(set, operation, descriptor, &event) == 0 ? 0 : errno;
}

Instant deadline_of(const services::Readiness& readiness, Instant moment) {
  if (readiness.has_moment()) return readiness.moment;
  const Nanoseconds timeout = services::timeout_of(readiness);
  return timeout == Nanoseconds::zero() ? never : moment + timeout;
}

// In milliseconds, rounded up; -1 = no end.
int timeout_until(Instant end) {
  using std::chrono::milliseconds;
  if (end == never) return -1;
  const auto rest = std::chrono::ceil<milliseconds>(end - now());
  return static_cast<int>(std::clamp(rest, milliseconds(0), milliseconds(3'600'000)).count());
}

}  // namespace

// The set is created before the first call: a later one could get the number of a descriptor that
// was closed while its calls wait.
DescriptorWaits::DescriptorWaits(router::Files& files)
    : files_(&files), set_(::epoll_create1(EPOLL_CLOEXEC)) {}

// -- the set --------------------------------------------------------------------------------------

// If the system gives none (EMFILE, ENFILE, ENOMEM), the thread tries all calls periodically.
void DescriptorWaits::open(Round& round) {
  set_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  wake_ = -1;
  visit_lines([&](int descriptor, Line& line) { enter(descriptor, line, round); });
}

void DescriptorWaits::watch_wake(int wake) {
  if (wake_lost_ || wake_ == wake || !set_.open()) return;
  const int error = control(set_.number(), EPOLL_CTL_ADD, wake, EPOLLIN, wake_key);
  wake_ = wake;
  wake_lost_ = error != 0 && error != EEXIST;
}

int DescriptorWaits::change(int operation, int descriptor, const Line& line) {
  std::uint32_t events = EPOLLONESHOT;
  for (const Wait& wait : line) events |= static_cast<std::uint32_t>(wait.call.readiness.events);
  const int error =
      control(set_.number(), operation, descriptor, events, static_cast<std::uint64_t>(descriptor));
  if (error != EINVAL && (error != EBADF || is_open(set_.number()))) return error;
  set_.forget();  // The host program closed it. open() enters all lines into a new one.
  return 0;
}

void DescriptorWaits::enter(int descriptor, Line& line, Round& round) {
  if (!set_.open()) return;
  int error = change(EPOLL_CTL_ADD, descriptor, line);
  // The file lost this number, another number kept it open, and now the file has this number again.
  if (error == EEXIST) error = change(EPOLL_CTL_MOD, descriptor, line);
  if (error == 0) return;
  if (error == EBADF) return end_older(line, 0, EBADF, round.answered);
  while (!line.empty()) {  // Not a file for epoll, or the user's limit of registrations is reached.
    round.stubborn.push_back(line.front().call);
    remove(line, line.begin());
  }
}

bool DescriptorWaits::renew(int descriptor, Line& line, std::size_t kept, Round& round) {
  if (!set_.open() || change(EPOLL_CTL_MOD, descriptor, line) == 0) return true;
  end_older(line, kept, EBADF, round.answered);
  return false;
}

void DescriptorWaits::renew_all(Round& round) {
  visit_lines([&](int descriptor, Line& line) { renew(descriptor, line, 0, round); });
  if (wake_lost_ || !set_.open()) return;
  wake_lost_ = control(set_.number(), EPOLL_CTL_MOD, wake_, EPOLLIN, wake_key) != 0;
}

// Fails if the number is closed or belongs to another file. Then the set has forgotten the file,
// or, if another number keeps it open, reports it once more, and no call waits for the report.
DescriptorWaits::Lines::iterator DescriptorWaits::leave(Lines::iterator line) {
  if (set_.open()) control(set_.number(), EPOLL_CTL_DEL, line->first, 0, 0);
  return lines_.erase(line);
}

template <class Visit>
void DescriptorWaits::visit_lines(Visit visit) {
  for (auto place = lines_.begin(); place != lines_.end();) {
    visit(place->first, place->second);
    place = place->second.empty() ? leave(place) : std::next(place);
  }
}

// -- the waits ------------------------------------------------------------------------------------

void DescriptorWaits::add(const Pending& call, Instant moment, Round& round) {
  if (!slots_.add(call.request)) return;
  if (services::sleeps_if_too_late(call.request.number) && !timer_.open()) {
    slots_.remove(call.request);
    round.stubborn.push_back(call);
    return;
  }
  try {
    insert(call, moment, round);
  } catch (const std::bad_alloc&) {
    slots_.remove(call.request);
    throw;
  }
}

void DescriptorWaits::insert(const Pending& call, Instant moment, Round& round) {
  const int descriptor = call.readiness.descriptor;
  if (call.readiness.queue != 0) {
    retried_.add(call, moment);
    return;
  }
  if (descriptor < 0) {
    sleeps_.emplace(call.readiness.moment, call);
    return;
  }
  const Instant deadline = deadline_of(call.readiness, moment);
  Deadlines held;  // Allocated first: steps that may throw come before any change.
  if (deadline != never) held.insert(deadline);
  if (lines_.empty()) renewed_ = moment;
  const auto place = lines_.try_emplace(descriptor).first;
  Line& line = place->second;
  try {
    line.push_back({call, deadline});
  } catch (const std::bad_alloc&) {
    if (line.empty()) lines_.erase(place);
    throw;
  }
  deadlines_.merge(held);
  // Older calls may wait for a file that has lost its number.
  if (line.size() > 1 && renew(descriptor, line, 1, round)) return;
  enter(descriptor, line, round);
  if (line.empty()) lines_.erase(place);
}

void DescriptorWaits::wait(int wake, Round& round) {
  if (!set_.open()) open(round);
  watch_wake(wake);
  if (set_.open()) {
    std::array<epoll_event, reports_max> reports{};
    const int count = wait_for_reports(reports, next_look());
    if (count < 0 && errno == EINTR) return;
    if (count < 0) set_.forget();  // The host program closed it.
    for (int index = 0; index < count; ++index) {
      const epoll_event& report = reports[static_cast<std::size_t>(index)];
      if (report.data.u64 == wake_key) {
        if (!read_off(wake)) lose_wake();
      } else if (const auto line = lines_.find(static_cast<int>(report.data.u64));
                 line != lines_.end()) {
        serve(line->first, line->second, report.events, round);
        if (line->second.empty()) leave(line);
      }
    }
  } else {
    ::usleep(static_cast<useconds_t>(timeout_until(next_look())) * 1'000);
    visit_lines([&](int descriptor, Line& line) { serve(descriptor, line, EPOLLERR, round); });
  }
  const Instant moment = now();
  if (!lines_.empty() && moment - renewed_ >= check_every) {
    renewed_ = moment;
    renew_all(round);
  }
  if (!deadlines_.empty() && *deadlines_.begin() <= moment) {
    give_up([moment](const Wait& wait) { return wait.deadline <= moment; }, EAGAIN, round.answered);
  }
  end_sleeps(moment, round);
  retry(moment, round);
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

int DescriptorWaits::wait_for_reports(std::span<epoll_event> reports, Instant end) {
  const auto room = static_cast<int>(reports.size());
  if (fine_timeouts_) {
    const Nanoseconds rest =
        end == never ? Nanoseconds::zero() : std::max(end - now(), Nanoseconds::zero());
    const timespec timeout{rest.count() / 1'000'000'000, rest.count() % 1'000'000'000};
    // By its number: the C library has its name since 2.35, and machines with a GPU may be older.
    const std::int64_t count = system_call(SYS_epoll_pwait2, set_.number(), reports.data(), room,
                                           end == never ? nullptr : &timeout, nullptr, 0);
    if (count >= 0) return static_cast<int>(count);
    // A filter of system calls may refuse it, too.
    if (count != -ENOSYS && count != -EPERM) {
      errno = static_cast<int>(-count);
      return -1;
    }
    fine_timeouts_ = false;
  }
  return ::epoll_wait(set_.number(), reports.data(), room, timeout_until(end));
}

void DescriptorWaits::lose_wake() {
  control(set_.number(), EPOLL_CTL_DEL, wake_, 0, 0);
  wake_lost_ = true;
}

Instant DescriptorWaits::next_look() const {
  Instant look = deadlines_.empty() ? never : *deadlines_.begin();
  if (!sleeps_.empty()) look = std::min(look, sleeps_.begin()->first);
  look = std::min(look, retried_.next());
  if (!lines_.empty()) look = std::min(look, renewed_ + check_every);
  if (wake_lost_ || !set_.open()) look = std::min(look, now() + unwoken_max);
  return look;
}

// First come, first served, separately for each direction, until a call would wait again.
void DescriptorWaits::serve(int descriptor, Line& line, std::uint32_t ready, Round& round) {
  const bool broken =
      (ready & ~std::uint32_t{EPOLLIN | EPOLLOUT}) != 0;  // The call returns the error.
  std::uint32_t open = ~std::uint32_t{0};
  for (auto wait = line.begin(); wait != line.end();) {
    const auto events = static_cast<std::uint32_t>(wait->call.readiness.events);
    if ((events & open) == 0 || ((events & ready) == 0 && !broken)) {
      ++wait;
      continue;
    }
    Pending& call = wait->call;
    const std::uint64_t before = call.progress.bytes;
    const services::Answer answer = attempt(call);
    if (!answer.would_wait) {
      round.answered.push_back({call, answer.value});
    } else if (answer.readiness.descriptor < 0 || wait->fruitless == fruitless_max) {
      round.stubborn.push_back(call);
    } else {
      // Several connects of one socket wait for one connection, and each must have begun.
      if (call.request.number != SYS_connect) open &= ~events;
      wait->fruitless = call.progress.bytes == before ? wait->fruitless + 1 : 0;
      ++wait;
      continue;
    }
    wait = remove(line, wait);
  }
  if (!line.empty()) renew(descriptor, line, 0, round);
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

DescriptorWaits::Line::iterator DescriptorWaits::remove(Line& line, Line::iterator wait) {
  slots_.remove(wait->call.request);
  if (wait->deadline != never) deadlines_.erase(deadlines_.find(wait->deadline));
  return line.erase(wait);
}

DescriptorWaits::Line::iterator DescriptorWaits::end_wait(Line& line, Line::iterator wait,
                                                          int error,
                                                          std::vector<Answered>& answered) {
  const auto moved = static_cast<std::int64_t>(wait->call.progress.bytes);
  const bool in_time = error == EAGAIN && wait->call.readiness.has_moment();
  // As Linux answers at the timeout of the socket: the connection goes on.
  if (error == EAGAIN && wait->call.request.number == SYS_connect) error = EINPROGRESS;
  answered.push_back({wait->call, moved != 0 || in_time ? moved : -error});
  return remove(line, wait);
}

void DescriptorWaits::end_older(Line& line, std::size_t kept, int error,
                                std::vector<Answered>& answered) {
  while (line.size() > kept) end_wait(line, line.begin(), error, answered);
}

template <class Over>
void DescriptorWaits::give_up(Over over, int error, std::vector<Answered>& answered) {
  visit_lines([&](int /*descriptor*/, Line& line) {
    for (auto wait = line.begin(); wait != line.end();) {
      wait = over(*wait) ? end_wait(line, wait, error, answered) : std::next(wait);
    }
  });
}

void DescriptorWaits::end(Whose whose, std::vector<Answered>& answered) {
  const auto ends = [whose](const Pending& call) {
    return whose == Whose::everybody || !call.request.detached();
  };
  give_up([&](const Wait& wait) { return ends(wait.call); }, ECANCELED, answered);
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
