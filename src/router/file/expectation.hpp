#pragma once
// Decides from a descriptor's last requests whether to probe the residency of the next one, and
// whether the router tracks the file yet.
//
// At first, a file is outside: the router tracks nothing of it, and its reads are plain. It is
// entered when time can be saved: a read that filled its memory was slower than memory, or a read
// that is too long for a trial was not fully cached. Only then it gets a twin and a probe.
//
//               a whole read was slow; not all of a long one is cached; advised
//   outside  ------------------------------------------------------------------->  entered
//            <-------------------------------------------------------------------
//                                     the descriptor is closed
//
// A probe takes 0.7 us for a page and 75 us for 8 MiB, as measured; a cached read takes 0.8 and
// 2,400, a direct read of 64 KiB 60. Therefore requests are not probed while everything was cached,
// or nothing. The time of cached reads shows a change. The time of a direct read does not depend on
// the cache, so after one of sixteen direct reads a probe checks whether it was necessary.
//
//       all cached, or a fast read: + 1 -->                       <-- nothing cached: - 1
//
//   trust   absent_last ... absent_from ...   0   ... cached_from ... cached_max
//           |-- directly, unprobed ---|--- probed ----|- by the page cache, unprobed |
//           probed after the read
//
//   some of it cached                             reset to 0
//   all cached where nothing was, or conversely   reset to 0, then counts as the first of its kind
//   a direct read, unprobed                       one step to absent_last; when a probe there
//                                                 confirms it, back to absent_from
//   a slow read by the page cache                 falls fast; to 0 if it was so long that a direct
//                                                 read would have been faster
//   written by the page cache; evicted on advice  resets "absent" to 0; resets "cached" to 0
//
// So eight requests in a row must be cached before any request is unprobed: if every other block is
// cached, that happens once in 256. Sixty-four must be absent before a request is read directly and
// unprobed: if few are cached, and at random, at most one in forty is read directly without need.
//
// The expectation is a hint: a wrong one costs time but never changes an answer, so a descriptor
// may be closed and opened again without notice. Whether a file is outside is exact, because its
// twin must be closed with it: may_be_entered().
//
// Threading: any; words of one descriptor are relaxed and race harmlessly.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace k2k::router {

// The rule, for one descriptor.
namespace trust {

inline constexpr std::int32_t cached_max = 16;
inline constexpr std::int32_t cached_from = 8;
inline constexpr std::int32_t slow_costs = 4;  // An interrupted read is slow, too.
inline constexpr std::int32_t absent_from = -64;
inline constexpr std::int32_t absent_last = absent_from - 15;

enum class Event : std::uint8_t {
  all,        // Probed: all pages are cached.
  some,       // Probed: some are cached.
  none,       // Probed: none is cached.
  fast,       // Read by the page cache, unprobed: as fast as memory.
  slow,       // Read by the page cache, unprobed: slower.
  slow_long,  // The same, and long.
  direct,     // Read directly, unprobed.
  written,    // By the page cache.
  evicted,    // By advice.
};

[[nodiscard]] constexpr bool expects_cached(std::int32_t trust) { return trust >= cached_from; }
[[nodiscard]] constexpr bool expects_absent(std::int32_t trust) { return trust <= absent_from; }

[[nodiscard]] constexpr std::int32_t after(std::int32_t trust, Event event) {
  switch (event) {
    case Event::all:
    case Event::fast:
      return std::min(std::max(trust, 0) + 1, cached_max);
    case Event::none:
      return std::max(std::min(trust, 0) - 1, absent_from);
    case Event::direct:
      return expects_absent(trust) ? std::max(trust - 1, absent_last) : trust;
    case Event::slow:
      return std::max(trust - slow_costs, 0);
    case Event::written:
      return std::max(trust, 0);
    case Event::evicted:
      return std::min(trust, 0);
    case Event::some:
    case Event::slow_long:
      break;
  }
  return 0;
}

}  // namespace trust

class Expectation {
 public:
  static constexpr std::size_t long_bytes = 64 * 1024;
  static constexpr int descriptors_max = 1024;  // Further descriptors share words.

  [[nodiscard]] bool expects_cached(int descriptor) const {
    return trust::expects_cached(of(descriptor).trust.load(std::memory_order_relaxed));
  }
  // Expects that no page of the next request is cached. `probe`: probes once after the read.
  struct Absent {
    bool expected = false;
    bool probe = false;
  };
  [[nodiscard]] Absent expects_absent(int descriptor) const {
    const std::int32_t now = of(descriptor).trust.load(std::memory_order_relaxed);
    return {trust::expects_absent(now), now == trust::absent_last};
  }
  // Is the descriptor's file entered? A hint where descriptors share words.
  [[nodiscard]] bool is_entered(int descriptor) const {
    return of(descriptor).entered.load(std::memory_order_relaxed);
  }
  // Never false for a descriptor that entered its file.
  [[nodiscard]] bool may_be_entered(int descriptor) const {
    return has_word_of_its_own(descriptor) ? is_entered(descriptor) : true;
  }
  // Time can be saved: pages that were expected to be cached are not.
  void note_entered(int descriptor) {
    of(descriptor).entered.store(true, std::memory_order_relaxed);
    note(descriptor, trust::Event::evicted);
  }
  // The number will belong to another file.
  void note_closed(int descriptor) {
    if (!has_word_of_its_own(descriptor)) return;
    std::atomic<bool>& entered = of(descriptor).entered;
    if (entered.load(std::memory_order_relaxed)) entered.store(false, std::memory_order_relaxed);
  }

  // Does a request that begins here continue where the last one ended?
  [[nodiscard]] bool is_sequential(int descriptor, std::uint64_t offset) const {
    return of(descriptor).end.load(std::memory_order_relaxed) == offset;
  }
  void note_end(int descriptor, std::uint64_t end) {
    of(descriptor).end.store(end, std::memory_order_relaxed);
  }

  // The longest request of a stream that is left to read-ahead; empty if no earlier request was
  // noted.
  [[nodiscard]] std::optional<std::uint32_t> streamed_max(int descriptor) const {
    const std::uint32_t noted = of(descriptor).streamed_max.load(std::memory_order_relaxed);
    return noted == unknown ? std::nullopt : std::optional(noted);
  }
  void note_streamed_max(int descriptor, std::uint32_t bytes) {
    std::atomic<std::uint32_t>& max = of(descriptor).streamed_max;
    if (max.load(std::memory_order_relaxed) != bytes) max.store(bytes, std::memory_order_relaxed);
  }

  // The speed of an unprobed read: as fast as memory, or slower.
  void note_fast(int descriptor) { note(descriptor, trust::Event::fast); }
  void note_slow(int descriptor, std::size_t bytes) {
    note(descriptor, bytes < long_bytes ? trust::Event::slow : trust::Event::slow_long);
  }
  // The result of a probe. Pass `none` only for a certain result; for a guess pass `some`.
  enum class Cached : std::uint8_t { none, some, all };
  void note_probed(int descriptor, Cached cached) {
    using trust::Event;
    note(descriptor, cached == Cached::all    ? Event::all
                     : cached == Cached::none ? Event::none
                                              : Event::some);
  }
  void note_direct(int descriptor) { note(descriptor, trust::Event::direct); }
  void note_written(int descriptor) { note(descriptor, trust::Event::written); }
  void note_evicted(int descriptor) { note(descriptor, trust::Event::evicted); }

 private:
  static constexpr std::uint32_t unknown = ~std::uint32_t{0};
  struct Of {
    std::atomic<std::uint64_t> end{~std::uint64_t{0}};
    std::atomic<std::int32_t> trust{0};
    std::atomic<std::uint32_t> streamed_max{unknown};
    std::atomic<bool> entered{false};
  };
  static bool has_word_of_its_own(int descriptor) {
    return descriptor >= 0 && descriptor < descriptors_max;
  }
  [[nodiscard]] const Of& of(int descriptor) const {
    return all_[static_cast<std::uint32_t>(descriptor) % descriptors_max];
  }
  Of& of(int descriptor) { return all_[static_cast<std::uint32_t>(descriptor) % descriptors_max]; }

  void note(int descriptor, trust::Event event) {
    std::atomic<std::int32_t>& trust = of(descriptor).trust;
    const std::int32_t now = trust.load(std::memory_order_relaxed);
    const std::int32_t next = trust::after(now, event);
    if (next != now) trust.store(next, std::memory_order_relaxed);
  }

  std::array<Of, descriptors_max> all_;
};

}  // namespace k2k::router
