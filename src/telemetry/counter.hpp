#pragma once
// A number that one thread increments and any thread may read: no lock, no read-modify-write.
//
// Threading: add() by the owning thread only; value() from anywhere, at any time.

#include <atomic>
#include <cstdint>

namespace k2k::telemetry {

class Counter {
 public:
  void add(std::uint64_t amount = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

}  // namespace k2k::telemetry
