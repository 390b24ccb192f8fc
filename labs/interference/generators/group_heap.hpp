#pragma once
// A heap for kernels, kept by the device itself: the work-group maps chunks by mmap(2) and unmaps
// them by munmap(2). brk(2) is forbidden to kernels: it moves the heap of the host program
// (services/policy.cpp).
//
//   K2K_LOCAL(GroupHeap, heap);
//   std::uint64_t* block = heap_allocate(heap, bytes);   // All work-items of the group; 0: none.
//   heap_free(heap, block);                              // Any work-item, at any time.
//   heap_trim(heap);                                     // All work-items: unmaps unused chunks.
//
// Blocks are cut from the newest chunk one behind the other. A chunk is unmapped when its last
// block has been freed and it is no longer the newest. Local memory is zeroed, and zeros are an
// empty heap.
//
// C++17, any device with kernels that can address memory of mmap. Threading: device code.

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "device/k2k.hpp"

namespace k2k::labs::generators {

inline constexpr std::uint32_t heap_chunks_max = 32;           // The bits of a mask.
inline constexpr std::uint64_t heap_chunk_bytes = 128u << 10;  // Larger for a larger request.
inline constexpr std::uint64_t heap_align = 16;  // A block begins with its chunk's index.

struct HeapChunk {
  std::uint64_t begin = 0;  // Address; 0: unused place.
  std::uint64_t bytes = 0;
  std::uint32_t live = 0;  // Blocks in use.
};

// Written by work-item 0 between barriers, except for `wanted` and `live`.
struct GroupHeap {
  HeapChunk chunks[heap_chunks_max] = {};
  std::uint32_t newest = 0;  // 1 + its place; 0: none.
  std::uint64_t used = 0;    // Bytes used in the newest chunk.
  std::uint64_t wanted = 0;  // Bytes wanted by all work-items in this round.
  std::uint64_t mapped = 0;  // Chunks mapped,
  std::uint64_t gone = 0;    // and unmapped.
};

K2K_DEVICE inline std::uint32_t heap_free_place(const GroupHeap& heap) {
  std::uint32_t place = 0;
  while (place < heap_chunks_max && heap.chunks[place].begin != 0) ++place;
  return place;
}

// Makes a chunk with room for `bytes` the newest. Returns false if all places are used or the
// system has no memory.
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

// Collective; a work-item that needs no block passes 0. Returns a zeroed block, aligned to 16
// bytes. Returns null for 0 bytes, or if the memory did not suffice for the whole group.
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

// A mask of the chunks without blocks in use. `all`: including the newest.
K2K_DEVICE inline std::uint32_t heap_unused(const GroupHeap& heap, bool all) {
  std::uint32_t unused = 0;
  for (std::uint32_t place = 0; place < heap_chunks_max; ++place) {
    const HeapChunk& chunk = heap.chunks[place];
    const bool kept = !all && place + 1 == heap.newest;
    if (chunk.begin != 0 && chunk.live == 0 && !kept) unused |= 1u << place;
  }
  return unused;
}

// Collective. `all`: no work-item will allocate again.
K2K_DEVICE inline void heap_trim(GroupHeap& heap, bool all = false) {
  k2k::barrier();
  const std::uint32_t unused = heap_unused(heap, all);
  k2k::barrier();  // No work-item frees another block before all have read the same mask.
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
