#pragma once
// Tells the host of new requests in O(1), independent of the number of waves: a ring of (wave,
// lanes).
//
//   device                                             host
//   ticket = add(tail)        device memory
//   wait while ticket - consumed >= entries            publishes consumed (host-visible) per drain
//   entry.lanes = mask        plain store
//   entry.head = lap | wave   store-release ────────▶  load-acquire; mine when the lap is expected
//
// The lap marks an entry as ready, not its payload, so an entry never needs clearing. A producer
// that died between add and store leaves a hole. The host skips the hole after a grace time
// (RingConsumer::skip_hole), and its bounded rescan finds the requests behind a lost or overwritten
// entry.
//
// Threading: any number of producers, one consumer at a time.

#include <cstddef>
#include <cstdint>

#include "base/attributes.hpp"
#include "base/bits.hpp"
#include "protocol/words.hpp"

namespace k2k::protocol {

struct alignas(16) DoorbellEntry {
  std::uint64_t lanes;  // The slots of the wave's row that are ready; bit i = lane i.
  std::uint64_t head;   // lap:32 | wave:32
};
static_assert(sizeof(DoorbellEntry) == 16);

// The device's side of a ring. `entries` is a power of two.
struct DoorbellRing {
  DoorbellEntry* entries;        // Host-visible; written by the device.
  std::uint64_t* consumed;       // Host-visible; written by the host.
  std::uint64_t* tail;           // Device memory: the next ticket.
  std::uint64_t* consumed_seen;  // Device memory: the last value read from `consumed`.
  std::uint32_t entry_count;
  DeviceScope device_scope = DeviceScope::many_threads;
};

// Laps start at 1, so that zeroed memory is never ready. 32 bits of lap suffice for any run. A
// shift, because a division by a variable takes longer than the rest of a ring.
K2K_HD constexpr std::uint64_t lap_of(std::uint64_t ticket, std::uint32_t entry_count) {
  return (ticket >> lowest_bit(entry_count)) + 1;
}
K2K_HD constexpr std::uint64_t doorbell_head(std::uint64_t ticket, std::uint32_t entry_count,
                                             std::uint32_t wave) {
  return (lap_of(ticket, entry_count) << 32) | wave;
}

// Takes a place in the ring. Call may_ring() until it returns true, then ring().
K2K_HD inline std::uint64_t take_ticket(const DoorbellRing& ring) {
  return device_add(ring.device_scope, ring.tail, std::uint64_t{1});
}

// False while the ring is full for this ticket; the caller then lets others run and tries again.
K2K_HD inline bool may_ring(const DoorbellRing& ring, std::uint64_t ticket) {
  if (ticket - device_load(ring.consumed_seen) < ring.entry_count) return true;
  const std::uint64_t consumed = load_acquire(ring.consumed);  // Pairs with RingConsumer::publish.
  device_store(ring.consumed_seen, consumed);
  return ticket - consumed < ring.entry_count;
}

// Call it after may_ring() returned false. True if the consumer skipped this ticket's place as a
// hole: the ticket is void, take another.
K2K_HD inline bool passed_over(const DoorbellRing& ring, std::uint64_t ticket) {
  return ticket < device_load(ring.consumed_seen);
}

K2K_HD inline void ring(const DoorbellRing& ring, std::uint64_t ticket, std::uint32_t wave,
                        std::uint64_t lanes) {
  DoorbellEntry& entry = ring.entries[ticket & (ring.entry_count - 1)];
  store_hint(&entry.lanes, lanes);  // A skipped producer may race with another.
  store_release(&entry.head, doorbell_head(ticket, ring.entry_count, wave));
}

struct Doorbell {
  std::uint32_t wave;
  std::uint64_t lanes;
};

#if !defined(__CUDACC_RTC__)  // Runtime compilation for the device accepts no host function.

// True if the entry at this position holds a doorbell, judged only by the host-visible entries.
inline bool is_rung(const DoorbellRing& ring, std::uint64_t position) {
  const DoorbellEntry& entry = ring.entries[position & (ring.entry_count - 1)];
  return load_acquire(&entry.head) >> 32 == lap_of(position, ring.entry_count);  // Pairs: ring().
}

// The host's end of one ring.
class RingConsumer {
 public:
  RingConsumer() = default;
  explicit RingConsumer(const DoorbellRing& ring) : ring_(ring) {}

  // Returns true and the next doorbell, if there is one.
  bool poll(Doorbell& doorbell) {
    if (!peek(0, doorbell)) return false;
    ++position_;
    return true;
  }

  // The doorbell that poll() would return after `ahead` others, if it is present.
  bool peek(std::uint32_t ahead, Doorbell& doorbell) const {
    const std::uint64_t position = position_ + ahead;
    const DoorbellEntry& entry = ring_.entries[position & (ring_.entry_count - 1)];
    const std::uint64_t head = load_acquire(&entry.head);  // Pairs with ring().
    if (head >> 32 != lap_of(position, ring_.entry_count)) return false;
    doorbell = {static_cast<std::uint32_t>(head), load_hint(&entry.lanes)};
    return true;
  }
  // The address that peek(ahead) would read; for a prefetch.
  [[nodiscard]] const DoorbellEntry* entry(std::uint32_t ahead) const {
    return &ring_.entries[(position_ + ahead) & (ring_.entry_count - 1)];
  }

  // Lets producers reuse the polled entries. Cheap: a producer reads the line only when it finds
  // the ring full.
  void publish() {
    if (published_ == position_) return;
    published_ = position_;
    store_release(ring_.consumed, position_);  // Pairs with may_ring().
  }

  // Steps over a hole: true if a later entry is ready while the next is not. Reads the whole ring,
  // so call it rarely.
  bool skip_hole() {
    for (std::uint32_t ahead = 0; ahead < ring_.entry_count; ++ahead) {
      const std::uint64_t position = position_ + ahead;
      if (!is_rung(ring_, position)) continue;
      position_ = position;
      return ahead != 0;
    }
    return false;
  }

  // Skips all places of a lap as holes: requests exist, but no producer rings. Producers whose
  // tickets were skipped take new ones.
  void pass_lap() { position_ += ring_.entry_count; }

  [[nodiscard]] std::uint64_t position() const { return position_; }

 private:
  DoorbellRing ring_{};
  std::uint64_t position_ = 0;
  std::uint64_t published_ = 0;
};

#endif

}  // namespace k2k::protocol
