#include "server/waits/futex_waits.hpp"

#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>
#include <span>

#include "base/clock.hpp"
#include "base/contract.hpp"
#include "base/system_call.hpp"

namespace k2k::server {

namespace {

constexpr Instant no_deadline = Instant::max();
constexpr Instant passed{Nanoseconds{1}};  // Linux tries, and does not wait.

futex_waitv word_of(const services::Request& request) {
  const auto& word = request.arguments;
  futex_waitv waited{};
  waited.val = static_cast<std::uint32_t>(word[2]);
  waited.uaddr = word[0];
  waited.flags = FUTEX_32 | (static_cast<std::uint32_t>(word[1]) & FUTEX_PRIVATE_FLAG);
  return waited;
}

// The index of the last word that was woken, or a negative errno.
std::int64_t wait_for(std::span<const futex_waitv> words, Instant end) {
  const Nanoseconds since = end.time_since_epoch();
  const timespec limit{since.count() / 1'000'000'000, since.count() % 1'000'000'000};
  return system_call(SYS_futex_waitv, words.data(), words.size(), 0u,
                     end == no_deadline ? nullptr : &limit, CLOCK_MONOTONIC);
}

}  // namespace

void FutexBell::ring() {
  count_.fetch_add(1, std::memory_order_release);  // Pairs with value().
  system_call(SYS_futex, &count_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

FutexWaits::FutexWaits() {
  entries_.reserve(calls_max);
  words_.reserve(calls_max + 1);
}

bool FutexWaits::add(const Pending& call) {
  K2K_EXPECT(entries_.size() < calls_max);
  const auto& request = call.request;
  const bool waits = std::ranges::any_of(entries_, [&](const Entry& entry) {
    return entry.call.request.wave == request.wave && entry.call.request.lane == request.lane;
  });
  if (waits) return false;
  const services::Readiness& readiness = call.readiness;
  entries_.push_back({call, readiness.has_moment() ? readiness.moment : no_deadline});
  return true;
}

Instant FutexWaits::next_deadline() const {
  Instant next = no_deadline;
  for (const Entry& entry : entries_) next = std::min(next, entry.deadline);
  return next;
}

void FutexWaits::wait(FutexBell& bell, std::uint32_t seen, Round& round) {
  words_.clear();
  futex_waitv& own = words_.emplace_back();
  own.val = seen;
  own.uaddr = reinterpret_cast<std::uint64_t>(&bell.count_);
  own.flags = FUTEX_32 | FUTEX_PRIVATE_FLAG;
  for (const Entry& entry : entries_) words_.push_back(word_of(entry.call.request));
  const std::int64_t woken = wait_for(words_, next_deadline());
  const bool was_queued = woken >= 0 || woken == -ETIMEDOUT || woken == -EINTR;
  if (was_queued) {
    for (Entry& entry : entries_) entry.queued = true;
    if (woken > 0) wake(static_cast<std::size_t>(woken), round);
  } else if (woken == -ENOSYS || woken == -EPERM) {
    for (const Entry& entry : entries_) round.for_pool.push_back(entry.call);
    entries_.clear();
  } else if (bell.value() == seen) {
    examine(round);
  }
  expire(now(), round);
}

void FutexWaits::wake(std::size_t count, Round& round) {
  const auto end = entries_.begin() + static_cast<std::ptrdiff_t>(count);
  for (auto entry = entries_.begin(); entry != end; ++entry) {
    round.answered.push_back({entry->call, 0});
  }
  entries_.erase(entries_.begin(), end);
}

void FutexWaits::expire(Instant moment, Round& round) {
  std::erase_if(entries_, [&](const Entry& entry) {
    if (entry.deadline > moment) return false;
    round.answered.push_back({entry.call, -ETIMEDOUT});
    return true;
  });
}

void FutexWaits::examine(Round& round) {
  std::erase_if(entries_, [&](Entry& entry) {
    const futex_waitv word = word_of(entry.call.request);
    std::int64_t value = wait_for({&word, 1}, passed);
    if (value == -ETIMEDOUT || value == -EINTR) {
      entry.queued = true;
      return false;
    }
    if (value == -EAGAIN && entry.queued) value = 0;
    round.answered.push_back({entry.call, value});
    return true;
  });
}

void FutexWaits::end(Whose whose, Round& round) {
  std::erase_if(entries_, [&](const Entry& entry) {
    if (whose != Whose::everybody && entry.call.request.detached()) return false;
    round.answered.push_back({entry.call, -ECANCELED});
    return true;
  });
}

}  // namespace k2k::server
