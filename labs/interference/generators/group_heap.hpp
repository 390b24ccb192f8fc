#pragma once
// A heap for kernels that the device makes itself: chunks come by mmap(2) and go by munmap(2), both
// called by the work-group. brk(2) is not to be had: it moves the heap of the host program
// (services/policy.cpp).
//
//   K2K_LOCAL(GroupHeap, heap);
//   std::uint64_t* block = heap_allocate(heap, bytes);   // All work-items of the group; 0 = none.
//   heap_free(heap, block);                              // Whoever wants, whenever.
//   heap_trim(heap);                                     // All: gives back what nobody holds.
//
// Blocks are cut from the newest chunk one behind the other; a chunk goes when its last block has
// been freed and it is no longer the newest. Local memory is zeroed: an empty heap needs no start.
//
// C++17, any device whose kernels reach what mmap gives. Threading: device code.

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "device/k2k.hpp"

namespace k2k::labs::generators {

inline constexpr std::uint32_t heap_chunks_max = 32;           // As many as a mask has bits.
inline constexpr std::uint64_t heap_chunk_bytes = 128u << 10;  // Or more, for a large request.
inline constexpr std::uint64_t heap_align = 16;  // A block begins with its chunk's place.

struct HeapChunk {
  std::uint64_t begin = 0;  // Address; 0: free place.
  std::uint64_t bytes = 0;
  std::uint32_t live = 0;  // Blocks that somebody holds.
};

// Written by work-item 0 between barriers, except for `wanted` and `live`.
struct GroupHeap {
  HeapChunk chunks[heap_chunks_max] = {};
  std::uint32_t newest = 0;  // 1 + its place; 0: there is none.
  std::uint64_t used = 0;    // Of the newest.
  std::uint64_t wanted = 0;  // By all work-items in this round.
  std::uint64_t mapped = 0;  // Chunks that came,
  std::uint64_t gone = 0;    // and that went.
};

K2K_DEVICE inline std::uint32_t heap_free_place(const GroupHeap& heap) {
  std::uint32_t place = 0;
  while (place < heap_chunks_max && heap.chunks[place].begin != 0) ++place;
  return place;
}

// A chunk with room for `bytes` becomes the newest. False: no place, or the system has no memory.
K2K_DEVICE inline bool heap_grow(GroupHeap& heap, std::uint64_t bytes) {
  const std::uint32_t place = heap_free_place(heap);
  if (place == heap_chunks_max) return false;
  const std::uint64_t length =
      bytes <= heap_chunk_bytes ? heap_chunk_bytes : (bytes + 4095) / 4096 * 4096;
  const k2k::Reply reply = k2k::mmap(k2k::work_group, k2k::halting, nullptr, length,
                                     PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!reply.ok()) return false;
  if (k2k::item_rank() == 0) {
    heap.chunks[place] = {static_cast<std::uint64_t>(reply.value()), length, 0};
    heap.newest = place + 1;
    heap.used = 0;
    ++heap.mapped;
  }
  k2k::barrier();
  return true;
}

// Collective; a work-item that wants nothing gives 0. Zeroed, aligned to 16 bytes. Null: 0 bytes,
// or there was not enough for all of the group.
K2K_DEVICE inline std::uint64_t* heap_allocate(GroupHeap& heap, std::uint64_t bytes) {
  const std::uint64_t size =
      bytes == 0 ? 0 : heap_align + (bytes + heap_align - 1) / heap_align * heap_align;
  const std::uint64_t offset = protocol::device_add(&heap.wanted, size);
  k2k::barrier();
  const std::uint64_t total = heap.wanted;
  const bool fits = heap.newest != 0 && heap.used + total <= heap.chunks[heap.newest - 1].bytes;
  const bool there = total == 0 || fits || heap_grow(heap, total);
  std::uint64_t* block = nullptr;
  if (there && size != 0) {
    const std::uint32_t place = heap.newest - 1;
    protocol::device_add(&heap.chunks[place].live, std::uint32_t{1});
    block = reinterpret_cast<std::uint64_t*>(heap.chunks[place].begin + heap.used + offset);
    *block = place;
    block += heap_align / sizeof(*block);
  }
  k2k::barrier();
  if (k2k::item_rank() == 0) {
    if (there) heap.used += total;
    heap.wanted = 0;
  }
  k2k::barrier();
  return block;
}

// Accepts null.
K2K_DEVICE inline void heap_free(GroupHeap& heap, std::uint64_t* block) {
  if (block == nullptr) return;
  const std::uint64_t place = block[-static_cast<std::ptrdiff_t>(heap_align / sizeof(*block))];
  protocol::device_add(&heap.chunks[place].live, ~std::uint32_t{0});  // One less.
}

// Chunks that nobody holds a block of, a bit each. `all`: the newest, too.
K2K_DEVICE inline std::uint32_t heap_unused(const GroupHeap& heap, bool all) {
  std::uint32_t unused = 0;
  for (std::uint32_t place = 0; place < heap_chunks_max; ++place) {
    const HeapChunk& chunk = heap.chunks[place];
    const bool kept = !all && place + 1 == heap.newest;
    if (chunk.begin != 0 && chunk.live == 0 && !kept) unused |= 1u << place;
  }
  return unused;
}

// Collective. `all`: nobody will allocate any more.
K2K_DEVICE inline void heap_trim(GroupHeap& heap, bool all = false) {
  k2k::barrier();
  const std::uint32_t unused = heap_unused(heap, all);
  k2k::barrier();  // Nobody frees another block before all have seen the same.
  for (std::uint32_t place = 0; place < heap_chunks_max; ++place) {
    if ((unused >> place & 1) == 0) continue;
    const HeapChunk& chunk = heap.chunks[place];
    const long gone = k2k::munmap(k2k::work_group, k2k::halting,
                                  reinterpret_cast<void*>(chunk.begin), chunk.bytes);
    if (k2k::item_rank() == 0 && gone == 0) {
      heap.chunks[place] = {};
      if (place + 1 == heap.newest) heap.newest = 0;
      ++heap.gone;
    }
  }
  k2k::barrier();
}

}  // namespace k2k::labs::generators
