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
  const std::uint32_t generation = generation_.load(std::memory_order_seq_cst);
  parked_.store(1, std::memory_order_seq_cst);  // Pairs with interrupt().
  if (area.device_scope == protocol::DeviceScope::one_thread) heavy_barrier();
  if (wake_kept_.exchange(0, std::memory_order_seq_cst) != 0) return;
  if (rung(area, positions)) return;
  futex_wait(generation_, generation, longest);
  wake_kept_.store(0, std::memory_order_relaxed);
}

LaunchWait ServerParking::wait_launch(const protocol::AreaView& area,
                                      const std::uint64_t* positions, Nanoseconds longest) {
  const auto runs = [this] { return launch_runs_.load(std::memory_order_seq_cst) != 0; };
  const std::uint32_t generation = generation_.load(std::memory_order_seq_cst);
  await_launch_.fetch_add(1, std::memory_order_seq_cst);  // Pairs with launch_begins().
  LaunchWait seen = LaunchWait::in_progress;
  if (!runs()) {
    // What the last launch rang is seen by who sees its end.
    if (!rung(area, positions) && wake_kept_.exchange(0, std::memory_order_seq_cst) == 0) {
      futex_wait(generation_, generation, longest);
      wake_kept_.store(0, std::memory_order_relaxed);
    }
    seen = runs() ? LaunchWait::began : LaunchWait::none;
  }
  await_launch_.fetch_sub(1, std::memory_order_relaxed);
  return seen;
}

}  // namespace k2k::backend::cpu
