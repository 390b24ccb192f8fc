#include "emulator/cuda/exec/memory_map.hpp"

namespace k2k::emulator::exec {

void MemoryMap::add(Range range) {
  const std::lock_guard lock(mutex_);
  ranges_[range.begin] = range.end;
}

void MemoryMap::remove(std::uint64_t begin) {
  Range gone;
  {
    const std::lock_guard lock(mutex_);
    const auto found = ranges_.find(begin);
    if (found == ranges_.end()) return;
    gone = {found->first, found->second};
    ranges_.erase(found);
  }
  if (removed_) removed_(gone);  // Without the lock: who is called has locks of its own.
}

Range MemoryMap::find(std::uint64_t address) const {
  const std::lock_guard lock(mutex_);
  auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return {};
  --after;
  if (address >= after->second) return {};
  return {after->first, after->second};
}

}  // namespace k2k::emulator::exec
