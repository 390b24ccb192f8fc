#pragma once
// SET and the host's half of the table: one writer at a time in a bucket.
//
// Threading: set() and answer() from any thread; kernels read at the same time.

#include <memory>
#include <mutex>

#include "apps/memcached/get.hpp"
#include "base/result.hpp"

namespace k2k::memcached {

class Store {
 public:
  // `table` is zeroed, and outlives the store.
  explicit Store(const Table& table);

  // Answers a request that parse() found to be none of garbage: GET too. Returns the answer's
  // bytes.
  std::size_t answer(const Request& request, const unsigned char* datagram, unsigned char* answer);

  [[nodiscard]] const Table& table() const { return table_; }
  // Memory that a table of this shape takes, in bytes, for each of its three arrays.
  struct Sizes {
    std::size_t versions;
    std::size_t tags;
    std::size_t entries;
  };
  static Sizes sizes_of(std::uint32_t buckets, std::uint32_t elements);

 private:
  struct Stored {
    Code code;
    std::uint64_t cas = 0;
  };
  Stored set(const Request& request);

  Table table_;
  std::unique_ptr<std::mutex[]> writers_;  // One a bucket.
  std::uint64_t last_cas_ = 0;             // Atomic: its numbers order all writes of a key.
};

}  // namespace k2k::memcached
