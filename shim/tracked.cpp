#include "shim/tracked.hpp"

#include <algorithm>
#include <bit>

namespace k2k::shim {

void Tracked::track(int descriptor, const File& file, std::uint32_t routing) {
  Entry& entry = entries_[descriptor];
  entry.device.store(file.device, std::memory_order_relaxed);
  entry.inode.store(file.inode, std::memory_order_relaxed);
  entry.stamp.store(routing == routing_unknown ? 0 : epoch() << 8 | routing,
                    std::memory_order_release);
  words_[descriptor / 64].fetch_or(1ull << (descriptor % 64), std::memory_order_relaxed);
  ever_.store(true, std::memory_order_relaxed);
}

void Tracked::drop(int descriptor) {
  if (!fits(descriptor)) return;
  words_[descriptor / 64].fetch_and(~(1ull << (descriptor % 64)), std::memory_order_relaxed);
  entries_[descriptor].stamp.store(0, std::memory_order_relaxed);
}

int Tracked::next(int first, int last) const {
  last = std::min(last, descriptors_max - 1);
  for (int at = std::max(first, 0); at <= last; at = (at / 64 + 1) * 64) {
    const std::uint64_t rest = words_[at / 64].load(std::memory_order_relaxed) >> (at % 64);
    if (rest == 0) continue;
    const int found = at + std::countr_zero(rest);
    return found <= last ? found : -1;
  }
  return -1;
}

}  // namespace k2k::shim
