#include "backend/cpu/server_parking.hpp"

#include <algorithm>
#include <chrono>

#include "base/asymmetric_barrier.hpp"
#include "base/clock.hpp"

namespace k2k::backend::cpu {

namespace {

// Between its ticket and its doorbell, a producer takes nanoseconds, or longer if it has no core.
constexpr Nanoseconds hole_after = std::chrono::milliseconds(1);

bool any_is_rung(const protocol::DoorbellRing& ring, std::uint64_t position, std::uint64_t tail) {
  const std::uint64_t tickets = std::min<std::uint64_t>(tail - position, ring.entry_count);
  for (std::uint64_t ahead = 0; ahead < tickets; ++ahead) {
    if (protocol::is_rung(ring, position + ahead)) return true;
  }
  return false;
}

}  // namespace

bool ServerParking::rung(const protocol::AreaView& area, const std::uint64_t* positions) {
  for (std::uint32_t ring = 0; ring < area.ring_count; ++ring) {
    const std::uint64_t position = positions[ring];
    if (position == any_position) continue;
    // Pairs with device_add() in take_ticket(). A position ahead of the tail has passed a lap of
    // holes (RingConsumer::pass_lap): nothing is there until the tail has come by.
    const std::uint64_t tail = __atomic_load_n(area.rings[ring].tail, __ATOMIC_SEQ_CST);
    if (static_cast<std::int64_t>(tail - position) <= 0) continue;
    Unrung& unrung = unrung_[ring];
    const Instant moment = now();
    if (unrung.position.load(std::memory_order_relaxed) != position) {
      unrung.position.store(position, std::memory_order_relaxed);
      unrung.since.store(moment, std::memory_order_relaxed);
      return true;
    }
    if (moment - unrung.since.load(std::memory_order_relaxed) < hole_after) return true;
    // Its producer was cancelled, or forged the ticket. A producer that rings in it or behind it
    // anyway calls interrupt(). If its store comes after its load of `parked`, the doorbell is seen
    // when `longest` is over.
    if (any_is_rung(area.rings[ring], position, tail)) return true;
  }
  return false;
}

void ServerParking::park(const protocol::AreaView& area) {
  parked_.store(1, std::memory_order_seq_cst);  // Pairs with interrupt().
  if (area.device_scope == protocol::DeviceScope::one_thread) heavy_barrier();
}

void ServerParking::wait(const protocol::AreaView& area, const std::uint64_t* positions,
                         Nanoseconds longest) {
  const std::uint32_t seen = word_.read();
  park(area);
  if (word_.take_kept()) return;
  if (rung(area, positions)) return;
  word_.sleep(seen, longest);
}

LaunchWait ServerParking::wait_launch(const protocol::AreaView& area,
                                      const std::uint64_t* positions, Nanoseconds longest) {
  // A thread that sees the last launch's end also sees its doorbells.
  const auto left_over = [&] {
    park(area);
    return rung(area, positions);
  };
  return gate_.wait(left_over, longest);
}

}  // namespace k2k::backend::cpu
