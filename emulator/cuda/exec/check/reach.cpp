#include "emulator/cuda/exec/check/reach.hpp"

namespace k2k::emulator::exec::check {

Reached reached(Lane& lane, const Op& op) {
  const Access& access = op.access;
  const std::uint64_t bytes = std::uint64_t{access.bytes} * access.elements;
  if (bytes == 0) return {};  // A fence, or a barrier of a warp.
  std::uint64_t address = bits_of(lane, op.a) + op.immediate;
  if (address % bytes != 0) return {};
  const Range of_block = lane.block->shared_range();
  if (access.space == ptx::Space::shared) {
    address = of_block.begin + static_cast<std::uint32_t>(address);
    return of_block.holds(address, bytes) ? Reached{Reached::Memory::shared, address} : Reached{};
  }
  if (access.space == ptx::Space::cluster) {
    const auto* const place = cluster_memory(lane, static_cast<std::uint32_t>(address), bytes);
    return place == nullptr
               ? Reached{}
               : Reached{Reached::Memory::shared, reinterpret_cast<std::uint64_t>(place)};
  }
  if (access.space != ptx::Space::global && access.space != ptx::Space::generic) return {};
  if (lane.near.holds(address, bytes)) return {Reached::Memory::global, address};
  if (lane.local_range().holds(address, bytes)) return {};
  if (of_block.holds(address, bytes)) return {Reached::Memory::shared, address};
  if (cluster_memory_at(lane, address, bytes) != nullptr) {
    return {Reached::Memory::shared, address};
  }
  const Range found = lane.block->grid->memory->find(address);
  if (!found.holds(address, bytes)) return {};
  lane.near = found;
  return {Reached::Memory::global, address};
}

}  // namespace k2k::emulator::exec::check
