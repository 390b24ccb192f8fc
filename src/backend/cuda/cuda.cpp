#include "backend/cuda/cuda.hpp"

#include <string>
#include <utility>

#include "backend/cuda/description.hpp"
#include "backend/cuda/driver.hpp"
#include "backend/gpu/gpu_backend.hpp"
#include "backend/limits.hpp"

namespace k2k::backend::cuda {

Result<std::unique_ptr<Backend>> create(const DeviceConfig& config) {
  if (Status fits = check_limits(area_limits, config); !fits) return fits.error();
  const Result<const Library*> loaded = Library::load();
  if (!loaded) return loaded.error();
  const Library& library = *loaded.value();
  int count = 0;
  library.cuDeviceGetCount(&count);
  if (count == 0) {
    return no_cuda("the driver shows none", "see nvidia-smi and CUDA_VISIBLE_DEVICES");
  }
  CUdevice device = 0;
  if (Status found = library.call(library.cuDeviceGet(&device, 0), "find a device"); !found) {
    return found.error();
  }
  Result<DeviceInfo> info = describe(library, device);
  if (!info) return info.error();
  Result<std::unique_ptr<const gpu::Driver>> driver = drive(library, device, info->name);
  if (!driver) return driver.error();
  return gpu::create(std::move(driver).value(), std::move(info).value(), config);
}

}  // namespace k2k::backend::cuda
