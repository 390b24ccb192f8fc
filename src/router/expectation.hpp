#pragma once
// Whether to ask which pages are cached at all, by what became of a descriptor's last requests.
//
// Asking takes 0.7 us for a page and 75 us for 8 MiB here; a cached read takes 0.8 and 2,400. Where
// everything has been cached it is therefore not asked for, and the time that reads take says when
// that changed:
//
//   trust   0 ... trust_max, a descriptor's own
//   above ask_below          read by the page cache, unasked; slow: trust falls fast, and to
//                            nothing if the read was so long that a direct one would have paid
//   below it                 ask; all cached: trust rises by one; some not: it falls to nothing
//
// So eight in a row were cached before anything goes unasked: of blocks of which every other one is
// cached, that happens in one of 256.
//
// It is a hint: a wrong one costs time and never an answer, so descriptors that are closed and
// opened again need not be told.
//
// Threading: any; words of one descriptor are relaxed and race harmlessly.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace k2k::router {

class Expectation {
 public:
  static constexpr std::uint32_t trust_max = 16;
  static constexpr std::uint32_t ask_below = 8;
  static constexpr std::uint32_t slow_costs = 4;  // Who is interrupted is slow, too.
  static constexpr std::size_t long_bytes = 64 * 1024;
  static constexpr int descriptors_max = 1024;  // Others share words.

  [[nodiscard]] bool expects_cached(int descriptor) const {
    return of(descriptor).trust.load(std::memory_order_relaxed) >= ask_below;
  }
  // Does a request that begins here go on where the last one ended?
  [[nodiscard]] bool is_sequential(int descriptor, std::uint64_t offset) const {
    return of(descriptor).end.load(std::memory_order_relaxed) == offset;
  }
  void note_end(int descriptor, std::uint64_t end) {
    of(descriptor).end.store(end, std::memory_order_relaxed);
  }

  // The longest request of a stream that is left to read-ahead; nothing before it was noted.
  [[nodiscard]] std::optional<std::uint32_t> streamed_max(int descriptor) const {
    const std::uint32_t noted = of(descriptor).streamed_max.load(std::memory_order_relaxed);
    return noted == unknown ? std::nullopt : std::optional(noted);
  }
  void note_streamed_max(int descriptor, std::uint32_t bytes) {
    std::atomic<std::uint32_t>& max = of(descriptor).streamed_max;
    if (max.load(std::memory_order_relaxed) != bytes) max.store(bytes, std::memory_order_relaxed);
  }

  // What an unasked read was: as fast as memory, or not.
  void note_fast(int descriptor) {
    std::atomic<std::uint32_t>& trust = of(descriptor).trust;
    const std::uint32_t now = trust.load(std::memory_order_relaxed);
    if (now < trust_max) trust.store(now + 1, std::memory_order_relaxed);
  }
  void note_slow(int descriptor, std::size_t bytes) {
    std::atomic<std::uint32_t>& trust = of(descriptor).trust;
    const std::uint32_t now = trust.load(std::memory_order_relaxed);
    const bool some_left = now > slow_costs && bytes < long_bytes;
    trust.store(some_left ? now - slow_costs : 0, std::memory_order_relaxed);
  }
  // What asking said.
  void note_asked(int descriptor, bool all_cached) {
    if (all_cached) return note_fast(descriptor);
    of(descriptor).trust.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t unknown = ~std::uint32_t{0};
  struct Of {
    std::atomic<std::uint64_t> end{~std::uint64_t{0}};
    std::atomic<std::uint32_t> trust{0};
    std::atomic<std::uint32_t> streamed_max{unknown};
  };
  [[nodiscard]] const Of& of(int descriptor) const {
    return all_[static_cast<std::uint32_t>(descriptor) % descriptors_max];
  }
  Of& of(int descriptor) { return all_[static_cast<std::uint32_t>(descriptor) % descriptors_max]; }

  std::array<Of, descriptors_max> all_;
};

}  // namespace k2k::router
