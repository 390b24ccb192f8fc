#pragma once
// Counts that every read adds to, without a read-modify-write: each of the first threads that read
// at all has a line of its own, the others share one.
//
// Threading: any.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace k2k::router {

class ThreadCounts {
 public:
  // One read, of so many bytes.
  void add(std::uint64_t bytes) {
    const std::size_t place = place_of_thread();
    Line& line = lines_[place];
    if (place == shared) {
      line.reads.fetch_add(1, std::memory_order_relaxed);
      line.bytes.fetch_add(bytes, std::memory_order_relaxed);
      return;
    }
    line.reads.store(line.reads.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    line.bytes.store(line.bytes.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t reads() const { return sum(&Line::reads); }
  [[nodiscard]] std::uint64_t bytes() const { return sum(&Line::bytes); }

  // Threads with a line of their own. No line is given a second time.
  static constexpr std::size_t shared = 31;

 private:
  struct alignas(64) Line {
    std::atomic<std::uint64_t> reads{0};
    std::atomic<std::uint64_t> bytes{0};
  };

  static std::size_t place_of_thread() {
    static std::atomic<std::size_t> next{0};
    static constexpr std::size_t none = ~std::size_t{0};
    static thread_local constinit std::size_t place __attribute__((tls_model("initial-exec"))) =
        none;
    if (place == none) [[unlikely]] {
      place = next.load(std::memory_order_relaxed);
      while (place < shared && !next.compare_exchange_weak(place, place + 1)) {
      }
    }
    return place;
  }
  std::uint64_t sum(std::atomic<std::uint64_t> Line::* count) const {
    std::uint64_t all = 0;
    for (const Line& line : lines_) all += (line.*count).load(std::memory_order_relaxed);
    return all;
  }

  std::array<Line, shared + 1> lines_;
};

}  // namespace k2k::router
