#pragma once
// Which ready work-item runs next: the three schedules of a device (device_config.hpp).
//
//   round_robin   the oldest
//   random        any, drawn from a seed; replays exactly while no work-item waits for the host
//   adversarial   the newest, so a work-item that yields runs again at once; every 64th the oldest
//
// push() and pop() cost the same whatever the number of entries, ready or waiting elsewhere.
// A template so that ThreadSanitizer's build keeps the scheduler's copy apart (sanitizers.hpp).
//
// Threading: confined to one thread.

#include <bit>
#include <cstdint>

#include "backend/cpu/fibre/sanitizers.hpp"
#include "backend/cpu/pages.hpp"
#include "backend/device_config.hpp"

namespace k2k::backend::cpu {

// Turns the adversarial schedule takes before the longest-waiting entry has its own: without a
// bound, a work-item that spins on its neighbour would never end.
inline constexpr std::uint32_t adversarial_turns_max = 64;

// SplitMix64 (Steele, Lea, Flood 2014): one multiply-xorshift chain a number.
struct Random {
  std::uint64_t state = 0;
  K2K_ALWAYS_INLINE std::uint64_t next() {
    std::uint64_t mixed = state += 0x9e3779b97f4a7c15ull;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ull;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebull;
    return mixed ^ (mixed >> 31);
  }
};

template <class Entry>
class ReadyQueue {
 public:
  // Holds up to `capacity` entries; empty() of its pages means the system refused the memory.
  ReadyQueue(std::uint32_t capacity, Schedule schedule)
      : schedule_(schedule),
        mask_(std::bit_ceil(capacity) - 1),
        pages_((mask_ + std::size_t{1}) * sizeof(Entry*)),
        ring_(pages_.template as<Entry*>()) {}

  [[nodiscard]] bool usable() const { return ring_ != nullptr; }

  void restart(std::uint64_t seed) {
    head_ = tail_ = turns_ = 0;
    random_.state = seed;
  }
  K2K_ALWAYS_INLINE bool empty() const { return head_ == tail_; }
  K2K_ALWAYS_INLINE std::uint32_t size() const { return tail_ - head_; }
  K2K_ALWAYS_INLINE void push(Entry& entry) { ring_[tail_++ & mask_] = &entry; }

  // Expects !empty().
  K2K_ALWAYS_INLINE Entry& pop() {
    if (schedule_ == Schedule::round_robin) return oldest();
    return pop_unfair();
  }

  K2K_ALWAYS_INLINE Random& random() { return random_; }
  [[nodiscard]] K2K_ALWAYS_INLINE Schedule schedule() const { return schedule_; }

 private:
  K2K_ALWAYS_INLINE Entry& oldest() { return *ring_[head_++ & mask_]; }
  K2K_ALWAYS_INLINE Entry& newest() { return *ring_[--tail_ & mask_]; }

  Entry& pop_unfair() {
    if (schedule_ == Schedule::adversarial) {
      if (++turns_ % adversarial_turns_max == 0) return oldest();
      return newest();
    }
    Entry*& drawn = ring_[(head_ + random_.next() % size()) & mask_];
    Entry& entry = *drawn;
    drawn = ring_[(tail_ - 1) & mask_];
    --tail_;
    return entry;
  }

  const Schedule schedule_;
  const std::uint32_t mask_;
  Pages pages_;
  Entry** const ring_;
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
  std::uint32_t turns_ = 0;
  Random random_;
};

}  // namespace k2k::backend::cpu
