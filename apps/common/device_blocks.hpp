#pragma once
// Memory of a launch: blocks of device memory and of shared memory, freed together.
//
// Threading: one thread. The runtime must outlive the blocks.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
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

// An array of pointers to the texts, and the texts, in one block: device memory, or memory that the
// host can address. Errors: ENOMEM, EIO.
inline Result<const char* const*> place_texts(Runtime& runtime, DeviceBlocks& blocks,
                                              const std::vector<std::string>& texts,
                                              bool on_device) {
  const std::size_t pointer_bytes = texts.size() * sizeof(const char*);
  std::string image(pointer_bytes, '\0');
  for (const std::string& text : texts) image.append(text.c_str(), text.size() + 1);
  const auto memory = on_device ? blocks.on_device(image.size()) : blocks.shared(image.size());
  if (!memory) return memory.error();
  const char* next = static_cast<const char*>(*memory) + pointer_bytes;
  for (std::size_t index = 0; index < texts.size(); ++index) {
    std::memcpy(image.data() + index * sizeof(next), static_cast<const void*>(&next), sizeof(next));
    next += texts[index].size() + 1;
  }
  if (Status copied = runtime.copy(*memory, image.data(), image.size()); !copied) {
    return copied.error();
  }
  return static_cast<const char* const*>(*memory);
}

}  // namespace k2k::apps
