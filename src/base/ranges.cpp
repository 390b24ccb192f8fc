#include "base/ranges.hpp"

#include <cerrno>

namespace k2k {

// Each release pairs with the acquires of kind_of().
void Ranges::set(Range& range, std::uintptr_t first, std::uintptr_t last, int kind) {
  range.first.store(first, std::memory_order_release);
  range.last.store(last, std::memory_order_release);
  range.kind.store(kind, std::memory_order_release);
}

void Ranges::set(Range& range, const Range& from) {
  set(range, word(from.first), word(from.last), from.kind.load(std::memory_order_acquire));
}

std::size_t Ranges::all(Held* into, std::size_t room) const {
  while (true) {                                                           // As in kind_of().
    const std::uint64_t number = number_.load(std::memory_order_acquire);  // Pairs with publish().
    const Copy& copy = copies_[number & 1];
    const std::size_t there = copy.count.load(std::memory_order_acquire);
    const std::size_t count = there < room ? there : room;
    for (std::size_t at = 0; at < count; ++at) {
      const Range& range = copy.ranges[at];
      into[at] = {word(range.first), word(range.last), range.kind.load(std::memory_order_acquire)};
    }
    if (number_.load(std::memory_order_relaxed) == number) return count;
  }
}

int Ranges::add(const void* memory, std::size_t bytes, int kind) {
  const auto first = reinterpret_cast<std::uintptr_t>(memory);
  if (first == 0 || bytes == 0 || bytes > UINTPTR_MAX - first) return -EINVAL;
  if (kind <= 0) return -EINVAL;
  const std::uintptr_t last = first + bytes;

  const Copy& now = current();
  Copy& next = other();
  const std::size_t count = now.count.load(std::memory_order_relaxed);
  std::size_t at = 0;
  while (at < count && word(now.ranges[at].last) <= first) ++at;
  if (at < count && word(now.ranges[at].first) < last) return -EEXIST;
  if (count == ranges_max) return -ENOSPC;

  for (std::size_t i = 0; i < count; ++i) {
    set(next.ranges[i < at ? i : i + 1], now.ranges[i]);
  }
  set(next.ranges[at], first, last, kind);
  next.count.store(count + 1, std::memory_order_release);
  publish();
  return 0;
}

int Ranges::remove(const void* memory, Held* was) {
  const auto first = reinterpret_cast<std::uintptr_t>(memory);
  const Copy& now = current();
  Copy& next = other();
  const std::size_t count = now.count.load(std::memory_order_relaxed);
  std::size_t at = 0;
  while (at < count && word(now.ranges[at].first) != first) ++at;
  if (at == count) return -ENOENT;
  const Range& gone = now.ranges[at];
  if (was != nullptr) *was = {first, word(gone.last), gone.kind.load(std::memory_order_acquire)};

  for (std::size_t i = 0; i + 1 < count; ++i) {
    set(next.ranges[i], now.ranges[i < at ? i : i + 1]);
  }
  set(next.ranges[count - 1], 0, 0, 0);  // Of an empty table the first range is looked at, too.
  next.count.store(count - 1, std::memory_order_release);
  publish();
  return 0;
}

int Ranges::remove_overlapping(const void* memory, std::size_t bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t last = first + bytes;
  int removed = 0;
  for (std::size_t at = 0; at < current().count.load(std::memory_order_relaxed);) {
    const Range& each = current().ranges[at];
    const std::uintptr_t begin = word(each.first);
    if (begin < last && word(each.last) > first) {
      remove(reinterpret_cast<const void*>(begin));
      ++removed;
    } else {
      ++at;
    }
  }
  return removed;
}

void Ranges::publish() {
  number_.store(number_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  show_ends();
}

void Ranges::watch(bool all) {
  watched_.store(all, std::memory_order_relaxed);
  show_ends();
}

void Ranges::show_ends() {
  if (watched()) {
    low_.store(0, std::memory_order_relaxed);
    high_.store(UINTPTR_MAX, std::memory_order_relaxed);
    return;
  }
  const Copy& now = current();
  const std::size_t count = now.count.load(std::memory_order_relaxed);
  low_.store(count == 0 ? UINTPTR_MAX : word(now.ranges[0].first), std::memory_order_relaxed);
  high_.store(count == 0 ? 0 : word(now.ranges[count - 1].last), std::memory_order_relaxed);
}

}  // namespace k2k
