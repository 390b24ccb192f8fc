#include "server/waits/report_set.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

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
  wake_ = -1;
}

int ReportSet::change(int operation, int descriptor, std::uint32_t events) {
  const int error = control(set_.number(), operation, descriptor, events | EPOLLONESHOT,
                            static_cast<std::uint64_t>(descriptor));
  if (error != EINVAL && (error != EBADF || is_open(set_.number()))) return error;
  set_.forget();  // The host program closed it.
  return 0;
}

int ReportSet::add(int descriptor, std::uint32_t events) {
  const int error = change(EPOLL_CTL_ADD, descriptor, events);
  // The file lost this number, another number kept it open, and now the file has this number again.
  return error == EEXIST ? change(EPOLL_CTL_MOD, descriptor, events) : error;
}

int ReportSet::renew(int descriptor, std::uint32_t events) {
  return change(EPOLL_CTL_MOD, descriptor, events);
}

void ReportSet::remove(int descriptor) {
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

std::span<const epoll_event> ReportSet::wait(std::span<epoll_event, reports_max> room,
                                             Instant end) {
  const int count = wait_for_reports(room, end);
  if (count < 0 && errno != EINTR) set_.forget();  // The host program closed it.
  if (count <= 0) return {};
  const std::span<epoll_event> reports = room.first(static_cast<std::size_t>(count));
  const auto wake = std::ranges::find_if(
      reports, [](const epoll_event& report) { return report.data.u64 == wake_key; });
  if (wake == reports.end()) return reports;
  if (!read_off(wake_)) lose_wake();
  std::shift_left(wake, reports.end(), 1);
  return reports.first(reports.size() - 1);
}

int ReportSet::wait_for_reports(std::span<epoll_event> reports, Instant end) {
  const bool endless = end == Instant::max();
  const auto room = static_cast<int>(reports.size());
  if (fine_timeouts_) {
    const Nanoseconds rest =
        endless ? Nanoseconds::zero() : std::max(end - now(), Nanoseconds::zero());
    const timespec timeout{rest.count() / 1'000'000'000, rest.count() % 1'000'000'000};
    // By its number: the C library has its name since 2.35, and machines with a GPU may be older.
    const std::int64_t count = system_call(SYS_epoll_pwait2, set_.number(), reports.data(), room,
                                           endless ? nullptr : &timeout, nullptr, 0);
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

int timeout_until(Instant end) {
  using std::chrono::milliseconds;
  if (end == Instant::max()) return -1;
  const auto rest = std::chrono::ceil<milliseconds>(end - now());
  return static_cast<int>(std::clamp(rest, milliseconds(0), milliseconds(3'600'000)).count());
}

}  // namespace k2k::server
