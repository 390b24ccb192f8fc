#pragma once
// What the lanes did last with each byte of memory, and what the atomic words hold of their
// writers' clocks (races.hpp). Pages are made when a lane first touches them.
//
// Threading: one thread at a time; the caller holds the lock.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "emulator/cuda/exec/check/clock.hpp"
#include "emulator/cuda/exec/lane.hpp"
#include "emulator/cuda/exec/ops/wide.hpp"

namespace k2k::emulator::exec::check {

// One access of a lane to bytes of a cell.
struct Footprint {
  std::uint32_t grid = 0;
  Time time = 0;
  std::uint64_t lane = 0;
  std::uint32_t place = 0;
  std::uint8_t bytes = 0;  // A bit for each byte of the cell.
  std::uint8_t size = 0;   // Of the access; it may reach into the next cell.
  bool writes = false;
  bool strong = false;
  Scope scope = Scope::system;
};

inline constexpr std::uint64_t cell_bytes = 8;
inline constexpr std::uint64_t shadow_page_bytes = 4096;
inline constexpr std::uint64_t word_bytes_max = 16;
// Of one cell. Beyond, the oldest of the same block is forgotten, or the oldest of all: a race with
// it is missed.
inline constexpr std::size_t footprints_max = 16;

using Footprints = std::vector<Footprint>;

// A block of a grid, or a cluster of it.
struct BlockKey {
  std::uint32_t grid = 0;
  std::uint64_t block = 0;
  auto operator<=>(const BlockKey&) const = default;
};

// The last write to an atomic word, and the clocks that lanes gave away with it and with the writes
// that it followed as a read-modify-write.
struct Word {
  bool by_host = false;
  bool strong = false;
  Scope scope = Scope::system;
  std::uint8_t bytes = 0;
  std::uint32_t place = 0;
  BlockKey block;
  std::uint64_t lane = 0;
  Wide128 value;
  std::map<BlockKey, Clock> of_blocks;    // What the lanes of that block released, to any scope.
  std::map<BlockKey, Clock> of_clusters;  // The same of a cluster, to its scope or a wider one.
  Clock of_device;                        // What lanes released to the device or the system.
  Clock of_host;                          // What the host knew.

  void forget() {
    of_blocks.clear();
    of_clusters.clear();
    of_device = Clock();
    of_host = Clock();
  }
};

class Shadow {
 public:
  struct Page {
    std::array<Footprints, shadow_page_bytes / cell_bytes> cells;
    std::unordered_map<std::uint64_t, Word> words;  // By address.

    Footprints& cell(std::uint64_t address) {
      return cells[address % shadow_page_bytes / cell_bytes];
    }
    // nullptr if no atomic access made it one.
    Word* word(std::uint64_t address) {
      const auto found = words.find(address);
      return found == words.end() ? nullptr : &found->second;
    }
    // Every word of which [begin, end) has a byte: no lane wrote its value by an atomic access.
    void forget_words(std::uint64_t begin, std::uint64_t end);
  };
  Page& page(std::uint64_t address) {
    std::unique_ptr<Page>& page = pages_[address / shadow_page_bytes];
    if (page == nullptr) page = std::make_unique<Page>();
    return *page;
  }
  // nullptr if no lane touched it.
  Page* known_page(std::uint64_t address) {
    const auto found = pages_.find(address / shadow_page_bytes);
    return found == pages_.end() ? nullptr : found->second.get();
  }
  // What all lanes released is before everything that comes.
  void forget_words() {
    for (auto& [number, page] : pages_) page->words.clear();
  }
  // The memory was given back.
  void forget(std::uint64_t begin, std::uint64_t end);

 private:
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
};

}  // namespace k2k::emulator::exec::check
