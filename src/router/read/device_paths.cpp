#include "router/read/device_paths.hpp"

#include <fmt/format.h>

#include <utility>

#include "io/memory/cuda_memory.hpp"

namespace k2k::router {

namespace {

constexpr std::uint32_t cached_buffers = 3;  // One is read while the device copies the others.
constexpr std::uint32_t copy_buffers = 2;
constexpr std::uint32_t outstanding = 64;
constexpr std::uint32_t vendor_threads = 4;

}  // namespace

Status DevicePaths::open_driver(io::GpuFileKind kind) {
  const bool cufile = kind == io::GpuFileKind::cufile;
  const io::VendorLibraries& names = config_.libraries;
  const io::GpuFileConfig wanted{.kind = kind,
                                 .library = cufile ? names.cufile : names.hipfile,
                                 .cuda_library = names.cuda,
                                 .proc = config_.proc};
  // In compatibility mode it stages as we do, and we know how long ours takes; its start, which
  // takes a second or more, would be for nothing.
  if (config_.direct == DirectPath::automatic && !io::note_of(wanted).empty()) return {};
  Result<std::shared_ptr<io::GpuFileDriver>> driver = io::GpuFileDriver::open(wanted);
  if (!driver) return driver.error();
  if (cufile) {
    Result<std::function<void()>> enter = io::cuda_context_setter(0, names.cuda);
    if (!enter) return enter.error();
    enter_thread_ = std::move(enter).value();
  }
  driver_ = std::move(driver).value();
  return {};
}

Status DevicePaths::open_driver() {
  switch (config_.direct) {
    case DirectPath::staging:
      return {};
    case DirectPath::cufile:
      return open_driver(io::GpuFileKind::cufile);
    case DirectPath::hipfile:
      return open_driver(io::GpuFileKind::hipfile);
    case DirectPath::automatic:
      break;
  }
  // Only a GPU's memory is the vendor's; of CUDA's alone it is known which library that is.
  if (std::string_view(memory_->name()) != "cuda") return {};
  static_cast<void>(open_driver(io::GpuFileKind::cufile).ok());  // Else staging.
  return {};
}

Result<DevicePaths> DevicePaths::create(io::DeviceMemory& memory, const DevicePathsConfig& config) {
  DevicePaths paths(memory, config);
  if (Status opened = paths.open_driver(); !opened) return opened.error();
  if (paths.driver_) {
    paths.name_ = fmt::format("{}-{}", memory.name(), paths.driver_->name());
    return paths;
  }
  const Result<std::unique_ptr<io::Engine>> files = io::make_direct(1);
  if (!files) return files.error();
  paths.name_ = fmt::format("{}-staging-{}", memory.name(), files.value()->capabilities().name);
  return paths;
}

Result<std::unique_ptr<io::Engine>> DevicePaths::staged(Result<std::unique_ptr<io::Engine>> files,
                                                        std::uint32_t buffers) const {
  if (!files) return files;
  return io::make_staging(*memory_, std::move(files).value(),
                          {outstanding, buffers, config_.buffer_bytes});
}

Result<std::unique_ptr<io::Engine>> DevicePaths::make_cached() const {
  if (memory_->can_map()) return io::make_bar(*memory_, outstanding);
  return staged(io::make_buffered(cached_buffers), cached_buffers);
}

Result<std::unique_ptr<io::Engine>> DevicePaths::make_direct() const {
  if (driver_) return io::make_gpu_file(driver_, outstanding, vendor_threads, enter_thread_);
  return staged(io::make_direct(config_.buffers), config_.buffers);
}

Result<io::HostCopies> DevicePaths::make_copies() const {
  return io::HostCopies::create(*memory_, copy_buffers, config_.buffer_bytes);
}

Result<io::HostCopies> DevicePaths::make_long_copies() const {
  return io::HostCopies::create(*memory_, long_copy_buffers, config_.buffer_bytes);
}

void DevicePaths::closing(int descriptor) const {
  if (driver_) driver_->closing(descriptor);
}

}  // namespace k2k::router
