#pragma once
// For the tests of a unit's parts: the facts of a small device with two units, a launch, and
// memory. No thread runs; a test is the thread of the units.
//
// Threading: confined to one thread.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "backend/cpu/device_memory.hpp"
#include "backend/cpu/launch_state.hpp"
#include "backend/cpu/pages.hpp"
#include "backend/cpu/simt/unit.hpp"
#include "backend/cpu/simt/unit_plan.hpp"
#include "base/contract.hpp"
#include "protocol/area.hpp"

namespace k2k::backend::cpu {

class TwoUnits {
 public:
  static constexpr std::uint32_t rows = 70;  // Rows of a unit: more than one word of bits.
  static constexpr std::uint32_t lanes = 32;

  TwoUnits() : memory_(config(), 2 * rows, page_bytes, protocol::DeviceScope::many_threads) {
    plan.config = config();
    plan.items_max = rows * lanes;
    plan.stack_bytes = config().stack_bytes;
    plan.local_stride = round_up(variables_begin + config().local_bytes, page_bytes);
    plan.spin_cycles = 1'000'000;
    plan.area = &memory_.area();
    for (std::uint32_t index = 0; index < 2; ++index) {
      stacks_[index] = Pages(FibrePool::bytes_for(plan.items_max, plan.stack_bytes));
      local_[index] = Pages(plan.config.resident_groups * plan.local_stride);
      units_[index] = std::make_unique<Unit>(index, plan, launch, memory_, stacks_[index].data(),
                                             local_[index].data());
      K2K_EXPECT(units_[index]->usable());
      pointers_[index] = units_[index].get();
    }
    launch.units = pointers_;
    launch.unit_count = launch.units_used = 2;
  }

  [[nodiscard]] Unit& unit(std::uint32_t index) { return *units_[index]; }
  [[nodiscard]] std::byte* local() { return local_[0].data(); }
  // The slot of lane 0 in a row of the area.
  [[nodiscard]] protocol::Slot& slot(std::uint32_t row) { return memory_.area().slot(row, 0); }
  void finish(std::uint32_t row) {
    __atomic_store_n(&slot(row).control, static_cast<std::uint32_t>(protocol::SlotState::finished),
                     __ATOMIC_RELEASE);
  }
  void close() { __atomic_store_n(memory_.area().closed, 1u, __ATOMIC_RELEASE); }

  UnitPlan plan;
  LaunchState launch;

 private:
  static DeviceConfig config() {
    DeviceConfig config;
    config.compute_units = 2;
    config.wave_lanes = lanes;
    config.resident_waves = rows;
    config.resident_groups = 4;
    config.local_bytes = 8 * 1024;
    config.rings = 2;
    return config;
  }

  DeviceMemory memory_;
  Pages stacks_[2];
  Pages local_[2];
  std::unique_ptr<Unit> units_[2];
  Unit* pointers_[2] = {};
};

}  // namespace k2k::backend::cpu
