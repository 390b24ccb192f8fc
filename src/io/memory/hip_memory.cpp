#include "io/memory/hip_memory.hpp"

#include "io/memory/driver_memory.hpp"
#include "io/memory/hip_calls.hpp"

namespace k2k::io {

Result<std::unique_ptr<DeviceMemory>> make_hip_memory(int device, const std::string& library) {
  return make_driver_memory(hip::load(library), device);
}

Result<std::shared_ptr<std::byte>> allocate_hip(std::size_t bytes, int device,
                                                const std::string& library) {
  return allocate_by_driver(hip::load(library), bytes, device);
}

}  // namespace k2k::io
