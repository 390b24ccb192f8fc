#pragma once
// Reads by a ring: submits the reads of calls, and reports the reads that have ended.
//
//   add() ─▶ submit() ─▶ wait() ─▶ Round: answers, and calls that the pool is to make
//                          ▲
//        event descriptor ─┘   a read of it is in flight, too, so that one wait is for both
//
// The completion queue is twice as long as all reads in flight: it never overflows.
//
// Threading: of the thread that created the ring.

#include <cstdint>
#include <vector>

#include "io/engine/ring.hpp"
#include "server/reads/read_table.hpp"

namespace k2k::server {

class RingReads {
 public:
  // Disks have queues of 32 to 1,023 requests. The event takes one entry.
  static constexpr std::uint32_t entries = 256;
  static constexpr std::uint32_t reads_max = entries - 1;

  struct Answered {
    ReadTable::Entry read;
    std::int64_t value = 0;
  };
  struct Round {
    Round() {
      answered.reserve(reads_max);
      for_pool.reserve(reads_max);
    }
    std::vector<Answered> answered;
    std::vector<Pending> for_pool;
  };

  // `event` is an eventfd(2) that a read waits for. `ring` has `entries` entries. Throws
  // std::bad_alloc.
  RingReads(io::Ring ring, int event) : ring_(std::move(ring)), event_(event), table_(reads_max) {}

  [[nodiscard]] bool full() const { return table_.full(); }
  [[nodiscard]] bool empty() const { return table_.empty(); }

  // Expects a call that suits a ring, and room.
  void add(const Pending& call, std::uint64_t moment) { prepare(table_.add(call, moment)); }
  // Submits the reads to Linux; the pool makes the reads that Linux does not accept. Returns false
  // if no read is in flight and none can be: wait() would never return.
  bool submit(Round& round);
  // Returns once a read has ended, the event is signalled, or a signal arrives.
  void wait(Round& round);

 private:
  static constexpr std::uint64_t event_tag = ~std::uint64_t{0};

  void prepare(std::uint32_t place);
  void prepare_event();
  void event_ended(std::int32_t result);
  void read_ended(std::uint32_t place, std::int32_t result, Round& round);

  io::Ring ring_;
  const int event_;
  ReadTable table_;
  std::uint64_t count_ = 0;  // The event's counter; Linux writes it.
  bool event_read_ = false;  // True while a read of the event is in flight.
  bool event_lost_ = false;  // The host program closed it.
};

}  // namespace k2k::server
