#include "shim/ranges.hpp"

#include <cerrno>

namespace k2k::shim {
namespace {

void set(std::atomic<std::uintptr_t>& word, std::uintptr_t value) {
  word.store(value, std::memory_order_release);  // Pairs with Ranges::word().
}

}  // namespace

int Ranges::add(const void* memory, std::size_t bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(memory);
  if (first == 0 || bytes == 0 || bytes > UINTPTR_MAX - first) return -EINVAL;
  const std::uintptr_t last = first + bytes;

  const Copy& now = current();
  Copy& next = other();
  const std::size_t count = now.count.load(std::memory_order_relaxed);
  std::size_t at = 0;
  while (at < count && word(now.ranges[at].last) <= first) ++at;
  if (at < count && word(now.ranges[at].first) < last) return -EEXIST;
  if (count == ranges_max) return -ENOSPC;

  for (std::size_t i = 0; i < count; ++i) {
    Range& to = next.ranges[i < at ? i : i + 1];
    set(to.first, word(now.ranges[i].first));
    set(to.last, word(now.ranges[i].last));
  }
  set(next.ranges[at].first, first);
  set(next.ranges[at].last, last);
  next.count.store(count + 1, std::memory_order_release);
  publish();
  return 0;
}

int Ranges::remove(const void* memory) {
  const auto first = reinterpret_cast<std::uintptr_t>(memory);
  const Copy& now = current();
  Copy& next = other();
  const std::size_t count = now.count.load(std::memory_order_relaxed);
  std::size_t at = 0;
  while (at < count && word(now.ranges[at].first) != first) ++at;
  if (at == count) return -ENOENT;

  for (std::size_t i = 0; i + 1 < count; ++i) {
    const Range& from = now.ranges[i < at ? i : i + 1];
    set(next.ranges[i].first, word(from.first));
    set(next.ranges[i].last, word(from.last));
  }
  set(next.ranges[count - 1].first, 0);  // Of an empty table the first range is looked at, too.
  set(next.ranges[count - 1].last, 0);
  next.count.store(count - 1, std::memory_order_release);
  publish();
  return 0;
}

void Ranges::publish() {
  number_.store(number_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  const Copy& now = current();
  const std::size_t count = now.count.load(std::memory_order_relaxed);
  low_.store(count == 0 ? UINTPTR_MAX : word(now.ranges[0].first), std::memory_order_relaxed);
  high_.store(count == 0 ? 0 : word(now.ranges[count - 1].last), std::memory_order_relaxed);
}

}  // namespace k2k::shim
