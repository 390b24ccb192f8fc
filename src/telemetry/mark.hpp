#pragma once
// Shows other threads whether a thread is inside a section of its work: plain stores, no
// read-modify-write.
//
// Threading: begin() and end() by the owning thread only, alternating; view() and wait_until_left()
// from anywhere. A thread that sees the end also sees the section's writes.

#include <atomic>
#include <cstdint>
#include <thread>

namespace k2k::telemetry {

class Mark {
 public:
  using View = std::uint64_t;  // Grows with every begin and end: all passages differ.
  static constexpr bool inside(View view) { return (view & 1) != 0; }
  static constexpr std::uint64_t passages(View view) { return (view + 1) / 2; }

  void begin() { step(); }
  void end() { step(); }
  [[nodiscard]] View view() const { return word_.load(std::memory_order_acquire); }

  // Returns after the thread has left its current section, if it is in one.
  void wait_until_left() const {
    const View seen = view();
    while (inside(seen) && view() == seen) std::this_thread::yield();
  }

 private:
  void step() { word_.store(word_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  std::atomic<View> word_{0};
};

}  // namespace k2k::telemetry
