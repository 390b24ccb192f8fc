#pragma once
// The data of a launch of signal-search: plain data that host and kernel share.
//
//   records   sorted by key; device memory
//   queries   keys to look up; device memory
//   results   shared memory: a record for each query, zeros where there is none
//   ready     shared memory, a word a block: 1 once all its results are there
//   taken     shared memory: signals that the host has taken; only the host writes it
//   issued    device memory: signals that groups have begun to send without waiting
//
// A block is the queries of one work-group's turn: block_queries of them, fewer in the last.

#include <cstddef>
#include <cstdint>

#include "apps/common/wide_copy.hpp"
#include "base/attributes.hpp"
#include "device/queued_signal.hpp"

namespace k2k::signal_search {

struct alignas(apps::wide_bytes) Record {
  std::uint64_t key;
  unsigned char payload[56];
};
static_assert(sizeof(Record) == 64);

struct Job {
  const Record* records = nullptr;
  const std::uint64_t* queries = nullptr;
  std::uint64_t record_count = 0;
  std::uint64_t query_count = 0;
  std::uint32_t block_queries = 0;
  std::uint32_t blocks = 0;
  Record* results = nullptr;
  std::uint32_t* ready = nullptr;
  std::uint32_t* taken = nullptr;
  std::uint32_t* issued = nullptr;
  std::uint32_t* retries = nullptr;  // Device memory: signals that were refused and sent again.
  std::uint32_t* in_vain = nullptr;  // Device memory: 1 while the queue stays full.
  std::uint32_t credits = 0;         // Signals on their way that the kernel does not wait for.
  std::uint32_t tries = 0;           // Per signal that is waited for, while the queue is full.
  std::int32_t process = 0;
  std::int32_t number = 0;  // The signal; 0: none is sent.
};

// The block's queries are [first, first + count).
struct BlockRange {
  std::uint64_t first;
  std::uint64_t count;
};
K2K_HD inline BlockRange range_of(const Job& job, std::uint32_t block) {
  const std::uint64_t first = std::uint64_t{block} * job.block_queries;
  const std::uint64_t left = job.query_count - first;
  return {first, left < job.block_queries ? left : job.block_queries};
}

// The record with this key, or nullptr.
K2K_HD inline const Record* find(const Job& job, std::uint64_t key) {
  std::uint64_t low = 0;
  std::uint64_t high = job.record_count;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (job.records[middle].key < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < job.record_count && job.records[low].key == key ? &job.records[low] : nullptr;
}

// Looks up query `place` and stores its result. By wide stores: a compiler for a GPU copies the
// payload byte by byte, each of them across the bus.
K2K_HD inline void look_up(const Job& job, std::uint64_t place) {
  constexpr std::size_t wides = sizeof(Record) / sizeof(apps::Wide);
  const Record* const found = find(job, job.queries[place]);
  apps::Wide held[wides] = {};
  for (std::size_t at = 0; at < wides && found != nullptr; ++at) {
    apps::load_wide(held[at], reinterpret_cast<const apps::Wide*>(found) + at);
  }
  auto* const result = reinterpret_cast<apps::Wide*>(&job.results[place]);
  for (std::size_t at = 0; at < wides; ++at) apps::store_wide(result + at, held[at]);
}

}  // namespace k2k::signal_search
