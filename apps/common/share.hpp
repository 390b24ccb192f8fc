#pragma once
// The share of a phase that one caller works on: a work-item of a launch, or a part of threads of
// the host. Phases that take a Share run on both.
//
// Threading: plain data. C++17.

#include <cstdint>

#include "base/attributes.hpp"
#include "device/k2k.hpp"

namespace k2k::apps {

// Of `count` shares.
struct Share {
  std::uint64_t rank = 0;
  std::uint64_t count = 1;
};

K2K_DEVICE inline Share share_of_item() { return {k2k::global_rank(), k2k::global_size()}; }

}  // namespace k2k::apps
