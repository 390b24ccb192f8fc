#pragma once
// The reads that a ring has in flight, each with its place and the number of bytes that have
// arrived.
//
//   add ─▶ Linux reads rest() ─▶ completed ─┬▶ answer   the value that one pread(2) gives
//            ▲                              ├▶ pool     the ring cannot make this read
//            └──────────── more ────────────┘
//
// A ring may complete a read with fewer bytes than requested. Then the rest is read until a read
// returns 0 bytes, so a short count means the end of the file, as for one pread(2).
//
// Threading: one owner.

#include <cstdint>
#include <vector>

#include "server/poll/bottom_half.hpp"
#include "server/reads/cold_read.hpp"

namespace k2k::server {

class ReadTable {
 public:
  enum class Next : std::uint8_t { answer, more, pool };
  struct Step {
    Next next = Next::answer;
    std::int64_t value = 0;  // Of an answer.
  };
  struct Entry {
    Pending call;
    std::uint64_t begun = 0;  // cycles() when it was submitted.
    std::uint64_t done = 0;   // Bytes that have arrived.
  };

  // Throws std::bad_alloc.
  explicit ReadTable(std::uint32_t reads_max);

  [[nodiscard]] bool full() const { return free_.empty(); }
  [[nodiscard]] bool empty() const { return free_.size() == entries_.size(); }

  // Returns the call's place. Expects a call that suits a ring, and a free place.
  std::uint32_t add(const Pending& call, std::uint64_t moment);
  // The rest that must still be read.
  [[nodiscard]] ColdRead rest(std::uint32_t place) const;
  // `result`: the number of bytes of the rest that Linux has read, or a negative errno.
  Step completed(std::uint32_t place, std::int64_t result);
  // Frees the place.
  Entry remove(std::uint32_t place);

 private:
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
};

}  // namespace k2k::server
