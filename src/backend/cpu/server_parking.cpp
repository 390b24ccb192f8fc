#include "backend/cpu/server_parking.hpp"

#include "backend/backend.hpp"
#include "base/asymmetric_barrier.hpp"

namespace k2k::backend::cpu {

namespace {
bool rung(const protocol::AreaView& area, const std::uint64_t* positions) {
  for (std::uint32_t ring = 0; ring < area.ring_count; ++ring) {
    if (positions[ring] == any_position) continue;
    // Pairs with device_add() in take_ticket().
    if (__atomic_load_n(area.rings[ring].tail, __ATOMIC_SEQ_CST) != positions[ring]) return true;
  }
  return false;
}
}  // namespace

void ServerParking::wait(const protocol::AreaView& area, const std::uint64_t* positions,
                         Nanoseconds longest) {
  const std::uint32_t generation = generation_.load(std::memory_order_seq_cst);
  parked_.store(1, std::memory_order_seq_cst);  // Pairs with interrupt().
  if (area.device_scope == protocol::DeviceScope::one_thread) heavy_barrier();
  if (wake_kept_.exchange(0, std::memory_order_seq_cst) != 0) return;
  if (rung(area, positions)) return;
  futex_wait(generation_, generation, longest);
  wake_kept_.store(0, std::memory_order_relaxed);
}

}  // namespace k2k::backend::cpu
