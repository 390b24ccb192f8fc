#include "io/memory/cuda_memory.hpp"

#include "io/memory/cuda_calls.hpp"
#include "io/memory/driver_memory.hpp"

namespace k2k::io {

using cuda::Calls;

Result<std::unique_ptr<DeviceMemory>> make_cuda_memory(int device, const std::string& library) {
  return make_driver_memory(Calls::load(library), device);
}

Result<std::shared_ptr<std::byte>> allocate_cuda(std::size_t bytes, int device,
                                                 const std::string& library) {
  return allocate_by_driver(Calls::load(library), bytes, device);
}

Result<std::function<void()>> cuda_context_setter(int device, const std::string& library) {
  return driver_context_setter(Calls::load(library), device);
}

}  // namespace k2k::io
