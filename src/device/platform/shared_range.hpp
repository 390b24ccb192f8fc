#pragma once
// Memory that host and device can both address, as a backend describes it to a kernel: [begin,
// end).

#include <cstdint>

namespace k2k::device::platform {

struct SharedRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

}  // namespace k2k::device::platform
