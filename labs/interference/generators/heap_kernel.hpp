#pragma once
// Device code of `heap`: each work-item holds a few blocks at a time, with sizes from an input. It
// fills each block and checks it before it frees it. C++17, any device that can address the host's
// pages.

#include <cstdint>

#include "labs/interference/generators/counter_random.hpp"
#include "labs/interference/generators/group_heap.hpp"

namespace k2k::labs::generators {

inline constexpr std::uint32_t heap_held = 4;  // Blocks a work-item holds.

// The value of word i of a block. Sums of these values are exact as doubles.
K2K_HD inline std::uint64_t heap_word(std::uint64_t block, std::uint32_t word) {
  return draw(block, word) >> 32;
}

struct HeapKernel {
  const std::uint32_t* words;  // [work-item][round]: the size of a block; 0: none.
  std::uint64_t* sums;         // [work-item][round]: the sum of the block before it was freed.
  std::uint32_t rounds;
  std::uint64_t* left;  // [group]: chunks mapped but not unmapped; bit 63 is set if none was
                        // mapped.

  K2K_DEVICE void operator()() const {
    K2K_LOCAL(GroupHeap, heap);
    std::uint64_t* held[heap_held] = {};
    for (std::uint32_t round = 0; round < rounds + heap_held; ++round) {
      std::uint64_t*& block = held[round % heap_held];
      if (round >= heap_held) end(heap, block, round - heap_held);
      block = nullptr;
      if (round < rounds) {
        const std::uint32_t count = words[number_of(round)];
        block = heap_allocate(heap, std::uint64_t{count} * sizeof(*block));
        if (block != nullptr) fill(block, round, count);
      }
      heap_trim(heap);
    }
    heap_trim(heap, true);
    if (k2k::item_rank() == 0) {
      left[k2k::group_rank()] = heap.mapped != 0 ? heap.mapped - heap.gone : std::uint64_t{1} << 63;
    }
  }

 private:
  K2K_DEVICE std::uint64_t number_of(std::uint32_t round) const {
    return k2k::global_rank() * rounds + round;
  }
  K2K_DEVICE void fill(std::uint64_t* block, std::uint32_t round, std::uint32_t count) const {
    for (std::uint32_t word = 0; word < count; ++word) {
      block[word] = heap_word(number_of(round), word);
    }
  }
  K2K_DEVICE void end(GroupHeap& heap, std::uint64_t* block, std::uint32_t round) const {
    std::uint64_t sum = 0;
    const std::uint32_t count = block != nullptr ? words[number_of(round)] : 0;
    for (std::uint32_t word = 0; word < count; ++word) sum += block[word] ^ word;
    sums[number_of(round)] = sum;
    heap_free(heap, block);
  }
};

}  // namespace k2k::labs::generators
