#include "server/waits/report_set.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <new>

#include "base/clock.hpp"
#include "base/system_call.hpp"

namespace k2k::server {

namespace {

// A call's events are poll's: the same bits.
static_assert(POLLIN == EPOLLIN && POLLOUT == EPOLLOUT && POLLPRI == EPOLLPRI);

// A report's key is its descriptor, or this.
constexpr std::uint64_t wake_key = ~std::uint64_t{0};

// Returns false if the descriptor is no eventfd (any more).
bool read_off(int wake) {
  std::uint64_t count = 0;
  return ::read(wake, &count, sizeof(count)) == sizeof(count) || errno == EAGAIN;
}

timespec time_until(Instant end) {
  const bool endless = end == Instant::max();
  const Nanoseconds rest =
      endless ? Nanoseconds::zero() : std::max(end - now(), Nanoseconds::zero());
  return {rest.count() / 1'000'000'000, rest.count() % 1'000'000'000};
}

bool is_open(int descriptor) { return ::fcntl(descriptor, F_GETFD) >= 0; }

// The error, or 0.
int control(int set, int operation, int descriptor, std::uint32_t events, std::uint64_t key) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = key;
  return ::epoll_ctl(set, operation, descriptor, &event) == 0 ? 0 : errno;
}

}  // namespace

ReportSet::ReportSet() : set_(::epoll_create1(EPOLL_CLOEXEC)) {}

void ReportSet::make() {
  set_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  polled_.clear();
  wake_ = -1;
}

int ReportSet::change(int operation, int descriptor, std::uint32_t events) {
  const int error = control(set_.number(), operation, descriptor, events | EPOLLONESHOT,
                            static_cast<std::uint64_t>(descriptor));
  if (error != EINVAL && (error != EBADF || is_open(set_.number()))) return error;
  // Linux also finds EINVAL if too many sets lead to one file (epoll(7) tells no number of them).
  if (operation == EPOLL_CTL_ADD && !is_lost(descriptor)) return error;
  set_.forget();  // The host program closed it.
  return 0;
}

bool ReportSet::is_lost(int descriptor) const {
  return control(set_.number(), EPOLL_CTL_DEL, descriptor, 0, 0) != ENOENT;
}

int ReportSet::add(int descriptor, std::uint32_t events) {
  int error = change(EPOLL_CTL_ADD, descriptor, events);
  // The file lost this number, another number kept it open, and now the file has this number again.
  if (error == EEXIST) error = change(EPOLL_CTL_MOD, descriptor, events);
  if (error == 0 || error == EPERM || error == EBADF) return error;
  try {
    polled_.put(descriptor, events);
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

int ReportSet::renew(int descriptor, std::uint32_t events) {
  if (!polled_.has(descriptor)) return change(EPOLL_CTL_MOD, descriptor, events);
  if (is_open(descriptor)) {
    polled_.put(descriptor, events);
    return 0;
  }
  polled_.erase(descriptor);
  return EBADF;
}

void ReportSet::remove(int descriptor) {
  if (polled_.has(descriptor)) return polled_.erase(descriptor);
  if (open()) control(set_.number(), EPOLL_CTL_DEL, descriptor, 0, 0);
}

// -- the wake descriptor --------------------------------------------------------------------------

void ReportSet::watch_wake(int wake) {
  if (wake_lost_ || wake_ == wake || !open()) return;
  const int error = control(set_.number(), EPOLL_CTL_ADD, wake, EPOLLIN, wake_key);
  wake_ = wake;
  wake_lost_ = error != 0 && error != EEXIST;
}

void ReportSet::renew_wake() {
  if (wake_lost_ || !open()) return;
  wake_lost_ = control(set_.number(), EPOLL_CTL_MOD, wake_, EPOLLIN, wake_key) != 0;
}

void ReportSet::lose_wake() {
  control(set_.number(), EPOLL_CTL_DEL, wake_, 0, 0);
  wake_lost_ = true;
}

// -- reports --------------------------------------------------------------------------------------

void ReportSet::begin(Instant end) {
  blocked_.set = set_.number();
  blocked_.polls = !polled_.empty();
  blocked_.end = end;
}

void ReportSet::block() {
  Blocked& wait = blocked_;
  const std::span<epoll_event, reports_max> room(wait.room);
  wait.polled = wait.polls ? wait_with_polled(room.first(room.size() / 2)) : 0;
  wait.count = wait_for_reports(room.subspan(wait.polled), wait.polls ? Instant{} : wait.end);
  wait.error = errno;
}

std::span<const epoll_event> ReportSet::reports() {
  const Blocked& wait = blocked_;
  if (wait.count < 0 && wait.error != EINTR) set_.forget();  // The host program closed it.
  const std::span<epoll_event> reports =
      std::span(blocked_.room)
          .first(wait.polled + static_cast<std::size_t>(std::max(wait.count, 0)));
  const auto wake = std::ranges::find_if(
      reports, [](const epoll_event& report) { return report.data.u64 == wake_key; });
  if (wake == reports.end()) return reports;
  if (!read_off(wake_)) lose_wake();
  std::shift_left(wake, reports.end(), 1);
  return reports.first(reports.size() - 1);
}

std::size_t ReportSet::wait_with_polled(std::span<epoll_event> room) {
  const timespec limit = time_until(blocked_.end);
  const bool endless = blocked_.end == Instant::max();
  return polled_.wait(blocked_.set, endless ? nullptr : &limit, room);
}

int ReportSet::wait_for_reports(std::span<epoll_event> reports, Instant end) {
  const bool endless = end == Instant::max();
  const auto room = static_cast<int>(reports.size());
  if (fine_timeouts_) {
    const timespec timeout = time_until(end);
    // By its number: the C library has its name since 2.35, and machines with a GPU may be older.
    const std::int64_t count = system_call(SYS_epoll_pwait2, blocked_.set, reports.data(), room,
                                           endless ? nullptr : &timeout, nullptr, 0);
    if (count >= 0) return static_cast<int>(count);
    // A filter of system calls may refuse it, too.
    if (count != -ENOSYS && count != -EPERM) {
      errno = static_cast<int>(-count);
      return -1;
    }
    fine_timeouts_ = false;
  }
  return ::epoll_wait(blocked_.set, reports.data(), room, timeout_until(end));
}

int timeout_until(Instant end) {
  using std::chrono::milliseconds;
  if (end == Instant::max()) return -1;
  const auto rest = std::chrono::ceil<milliseconds>(end - now());
  return static_cast<int>(std::clamp(rest, milliseconds(0), milliseconds(3'600'000)).count());
}

}  // namespace k2k::server
