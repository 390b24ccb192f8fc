#pragma once
// Reads by a ring: takes calls, has the kernel read, and tells which ones have ended.
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
  // Disks have queues of 32 to 1,023 requests. The event has a place, too.
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

  // `event` is an eventfd(2) that a read waits for. `ring` has as many entries. Throws
  // std::bad_alloc.
  RingReads(io::Ring ring, int event) : ring_(std::move(ring)), event_(event), table_(reads_max) {}

  [[nodiscard]] bool full() const { return table_.full(); }
  [[nodiscard]] bool empty() const { return table_.empty(); }

  // Expects a call that suits a ring, and room.
  void add(const Pending& call, std::uint64_t moment) { prepare(table_.add(call, moment)); }
  // Gives the reads to the kernel; the pool makes the reads that the kernel does not take. False:
  // nothing is in flight, and nothing can be: wait() would never return.
  bool submit(Round& round);
  // Returns once a read has ended, the event has happened, or a signal came.
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
  std::uint64_t count_ = 0;  // Of the event; the kernel writes it.
  bool event_read_ = false;  // Is it being read?
  bool event_lost_ = false;  // The host program closed it.
};

}  // namespace k2k::server
