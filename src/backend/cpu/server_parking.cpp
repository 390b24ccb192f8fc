#include "backend/cpu/server_parking.hpp"

#include "base/asymmetric_barrier.hpp"

namespace k2k::backend::cpu {

namespace {
bool rung(const protocol::AreaView& area, const std::uint64_t* positions) {
  for (std::uint32_t ring = 0; ring < area.ring_count; ++ring) {
    if (positions[ring] == any_position) continue;
    // Pairs with device_add() in take_ticket(). A position ahead of the tail has passed a lap of
    // holes (RingConsumer::pass_lap): nothing is there until the tail has come by.
    const std::uint64_t tail = __atomic_load_n(area.rings[ring].tail, __ATOMIC_SEQ_CST);
    if (static_cast<std::int64_t>(tail - positions[ring]) > 0) return true;
  }
  return false;
}
}  // namespace

void ServerParking::wait(const protocol::AreaView& area, const std::uint64_t* positions,
                         Nanoseconds longest) {
  const std::uint32_t seen = word_.look();
  parked_.store(1, std::memory_order_seq_cst);  // Pairs with interrupt().
  if (area.device_scope == protocol::DeviceScope::one_thread) heavy_barrier();
  if (word_.take_kept()) return;
  if (rung(area, positions)) return;
  word_.sleep(seen, longest);
}

LaunchWait ServerParking::wait_launch(const protocol::AreaView& area,
                                      const std::uint64_t* positions, Nanoseconds longest) {
  // What the last launch rang is seen by who sees its end.
  return gate_.wait([&] { return rung(area, positions); }, longest);
}

}  // namespace k2k::backend::cpu
