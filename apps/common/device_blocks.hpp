#pragma once
// Memory of a launch: blocks of device memory and of shared memory, freed together.
//
// Threading: one thread. The runtime must outlive the blocks.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "k2k/runtime.hpp"

namespace k2k::apps {

constexpr std::size_t whole_pages(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

class DeviceBlocks {
 public:
  explicit DeviceBlocks(Runtime& runtime) : runtime_(runtime) {}
  ~DeviceBlocks() {
    for (void* const memory : device_) runtime_.free(memory);
    for (void* const memory : shared_) runtime_.free_shared(memory);
  }
  DeviceBlocks(const DeviceBlocks&) = delete;
  DeviceBlocks& operator=(const DeviceBlocks&) = delete;

  // Zeroed memory of at least one byte. Errors: ENOMEM.
  Result<void*> on_device(std::size_t bytes) {
    auto memory = runtime_.allocate(std::max<std::size_t>(bytes, 1));
    if (memory) device_.push_back(memory.value());
    return memory;
  }
  Result<void*> shared(std::size_t bytes) {
    auto memory = runtime_.allocate_shared(std::max<std::size_t>(bytes, 1));
    if (memory) shared_.push_back(memory.value());
    return memory;
  }

 private:
  Runtime& runtime_;
  std::vector<void*> device_;
  std::vector<void*> shared_;
};

}  // namespace k2k::apps
