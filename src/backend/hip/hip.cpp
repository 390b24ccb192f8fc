#include "backend/hip/hip.hpp"

#include <utility>

#include "backend/gpu/gpu_backend.hpp"
#include "backend/hip/description.hpp"
#include "backend/hip/driver.hpp"
#include "backend/hip/library.hpp"
#include "backend/limits.hpp"

namespace k2k::backend::hip {

Result<std::unique_ptr<Backend>> create(const DeviceConfig& config) {
  return create_by("", config);
}

Result<std::unique_ptr<Backend>> create_by(const std::string& library, const DeviceConfig& config) {
  if (Status fits = check_limits(area_limits, config); !fits) return fits.error();
  const Result<Library> loaded = Library::load(library);
  if (!loaded) return loaded.error();
  constexpr int device = 0;
  int count = 0;
  if (const Code code = loaded->device_count(&count); code != gpu::success) {
    return no_hip("hipGetDeviceCount: " + loaded->words(code),
                  "see rocminfo, and whether the group render may open /dev/kfd");
  }
  if (count == 0) {
    return no_hip("the HIP runtime shows none", "see rocminfo and HIP_VISIBLE_DEVICES");
  }
  Result<DeviceInfo> info = describe(loaded.value(), device);
  if (!info) return info.error();
  return gpu::create(drive(loaded.value(), device), std::move(info).value(), config);
}

}  // namespace k2k::backend::hip
