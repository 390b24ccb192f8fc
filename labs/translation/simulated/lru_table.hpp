#pragma once
// A table with least-recently-used replacement: a TLB or a cache, of pages or lines that a number
// names. An entry carries the time at which its content arrives, so that a lookup before that time
// waits for it instead of asking again.
//
// Threading: confined to one thread.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/contract.hpp"

namespace k2k::labs::translation {

// `ways` equal to `entries`: fully associative.
struct TableShape {
  std::uint32_t entries;
  std::uint32_t ways;
};

class LruTable {
 public:
  // Expects at least one entry, and ways that divide the entries.
  explicit LruTable(TableShape shape)
      : ways_(shape.ways), sets_(shape.entries / shape.ways), slots_(shape.entries) {
    K2K_EXPECT(shape.ways > 0 && shape.entries > 0 && shape.entries % shape.ways == 0);
  }

  // The time of arrival of an entry, which becomes the most recent one; null if it is absent.
  const double* find(std::uint64_t key) {
    Slot* const slot = place_of(key);
    if (slot == nullptr) return nullptr;
    slot->used = ++clock_;
    return &slot->arrives_ns;
  }
  [[nodiscard]] bool contains(std::uint64_t key) const {
    return const_cast<LruTable*>(this)->place_of(key) != nullptr;
  }
  // As the most recent entry, in the place of the least recent one of its set.
  void insert(std::uint64_t key, double arrives_ns) {
    Slot* chosen = place_of(key);
    if (chosen == nullptr) {
      Slot* const set = set_of(key);
      chosen = set;
      for (std::uint32_t way = 1; way < ways_; ++way) {
        if (set[way].used < chosen->used) chosen = set + way;
      }
    }
    *chosen = {key, ++clock_, arrives_ns};
  }
  void erase(std::uint64_t key) {
    if (Slot* const slot = place_of(key); slot != nullptr) *slot = {};
  }
  // Of `count` keys from `first` on; returns how many were there.
  std::size_t erase_range(std::uint64_t first, std::uint64_t count) {
    std::size_t erased = 0;
    for (Slot& slot : slots_) {
      if (slot.used == 0 || slot.key - first >= count) continue;
      slot = {};
      ++erased;
    }
    return erased;
  }
  void clear() { slots_.assign(slots_.size(), {}); }
  [[nodiscard]] std::size_t size() const {
    std::size_t count = 0;
    for (const Slot& slot : slots_) count += slot.used != 0 ? 1 : 0;
    return count;
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint64_t used = 0;  // The clock at the last use; 0: empty.
    double arrives_ns = 0;
  };
  Slot* set_of(std::uint64_t key) { return slots_.data() + (key % sets_) * ways_; }
  Slot* place_of(std::uint64_t key) {
    Slot* const set = set_of(key);
    for (std::uint32_t way = 0; way < ways_; ++way) {
      if (set[way].key == key && set[way].used != 0) return set + way;
    }
    return nullptr;
  }

  std::uint32_t ways_;
  std::uint64_t sets_;
  std::uint64_t clock_ = 0;
  std::vector<Slot> slots_;
};

}  // namespace k2k::labs::translation
