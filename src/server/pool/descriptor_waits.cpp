#include "server/pool/descriptor_waits.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.hpp"
#include "services/file.hpp"

namespace k2k::server {

namespace {

// A descriptor that is always ready and never gives anything is none to wait for by poll.
constexpr int fruitless_max = 64;

constexpr Instant never = Instant::max();

// Between two looks of a thread that cannot be woken.
constexpr Nanoseconds unwoken_max = std::chrono::milliseconds(10);

// False: that is no eventfd (any more).
bool read_off(int wake) {
  std::uint64_t count = 0;
  return ::read(wake, &count, sizeof(count)) == sizeof(count) || errno == EAGAIN;
}

}  // namespace

void DescriptorWaits::add(const Pending& call, Instant moment) {
  const Nanoseconds timeout = services::timeout_of(call.readiness);
  // A place for each descriptor, for this one, and for the wake descriptor.
  if (polled_.capacity() < lines_.size() + 2) polled_.reserve(2 * (lines_.size() + 2));
  Line& line = lines_[call.readiness.descriptor];
  line.push_back({call, timeout == Nanoseconds::zero() ? never : moment + timeout});
  ++size_;
  changed_ = true;
}

// One entry a descriptor, in the order of `lines_`; the wake descriptor last.
void DescriptorWaits::prepare(int wake) {
  if (!changed_) return;
  changed_ = false;
  polled_.clear();
  for (const auto& [descriptor, line] : lines_) {
    short events = 0;
    for (const Wait& wait : line) events = static_cast<short>(events | wait.call.readiness.events);
    polled_.push_back({descriptor, events, 0});
  }
  polled_.push_back({wake_lost_ ? -1 : wake, POLLIN, 0});
}

void DescriptorWaits::wait(int wake, Round& round) {
  prepare(wake);
  Instant earliest = never;
  for (const auto& [descriptor, line] : lines_) {
    for (const Wait& wait : line) earliest = std::min(earliest, wait.deadline);
  }
  const bool timed = earliest != never;
  if (wake_lost_) earliest = std::min(earliest, now() + unwoken_max);
  timespec left{};
  if (earliest != never) {
    const Nanoseconds rest = std::max(Nanoseconds::zero(), earliest - now());
    left = {rest.count() / 1'000'000'000, rest.count() % 1'000'000'000};
  }
  const int count =
      ::ppoll(polled_.data(), polled_.size(), earliest == never ? nullptr : &left, nullptr);
  if (count < 0 && errno == EINTR) return;
  // No memory for so long a list: everything is tried, slowly.
  if (count < 0) ::usleep(1'000);
  if (const short woken = polled_.back().revents; woken != 0) {
    // The host program may have closed it.
    if ((woken & POLLNVAL) != 0 || !read_off(wake)) wake_lost_ = changed_ = true;
  }
  std::size_t place = 0;
  for (auto& [descriptor, line] : lines_) {
    const pollfd& seen = polled_[place++];
    const short ready = count < 0 ? seen.events : seen.revents;
    if (ready != 0) serve(line, ready, round);
  }
  const Instant moment = timed ? now() : Instant::min();
  give_up([moment](const Wait& wait) { return wait.deadline <= moment; }, EAGAIN, round.answered);
}

// First come, first served, each direction for itself, until one would wait again.
void DescriptorWaits::serve(Line& line, short ready, Round& round) {
  const bool broken = (ready & ~(POLLIN | POLLOUT)) != 0;  // The call tells how.
  short open = POLLIN | POLLOUT;
  for (auto wait = line.begin(); wait != line.end();) {
    const short events = wait->call.readiness.events;
    if ((events & open) == 0 || ((events & ready) == 0 && !broken)) {
      ++wait;
      continue;
    }
    Pending& call = wait->call;
    const std::uint64_t before = call.progress.bytes;
    const services::Answer answer =
        services::execute_without_waiting(call.request, call.progress, *files_);
    if (!answer.would_wait) {
      round.answered.push_back({call, answer.value});
    } else if (answer.readiness.descriptor < 0 || wait->fruitless == fruitless_max) {
      round.stubborn.push_back(call);
    } else {
      open = static_cast<short>(open & ~events);
      wait->fruitless = call.progress.bytes == before ? wait->fruitless + 1 : 0;
      ++wait;
      continue;
    }
    wait = remove(line, wait);
  }
}

DescriptorWaits::Line::iterator DescriptorWaits::remove(Line& line, Line::iterator wait) {
  --size_;
  changed_ = true;
  return line.erase(wait);
}

template <class Over>
void DescriptorWaits::give_up(Over over, int error, std::vector<Answered>& answered) {
  for (auto& [descriptor, line] : lines_) {
    for (auto wait = line.begin(); wait != line.end();) {
      if (!over(*wait)) {
        ++wait;
        continue;
      }
      const auto moved = static_cast<std::int64_t>(wait->call.progress.bytes);
      answered.push_back({wait->call, moved != 0 ? moved : -error});
      wait = remove(line, wait);
    }
  }
  remove_empty_lines();
}

void DescriptorWaits::end(Whose whose, std::vector<Answered>& answered) {
  give_up(
      [whose](const Wait& wait) {
        return whose == Whose::everybody || !wait.call.request.detached();
      },
      ECANCELED, answered);
}

void DescriptorWaits::remove_empty_lines() {
  std::erase_if(lines_, [](const auto& line) { return line.second.empty(); });
}

}  // namespace k2k::server
