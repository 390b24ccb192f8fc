#include "io/gpu/device_engines.hpp"

#include "io/gpu/gpu_file.hpp"

namespace k2k::io {

namespace {

constexpr std::uint32_t few = 1;

EngineChoice by_kernel(const char* name, const DeviceMemory& memory, const char* does,
                       Result<std::unique_ptr<Engine>> made) {
  if (!memory.kernel_reaches()) {
    return {name, false, "read(2) does not reach this memory; take staging"};
  }
  if (!made) return {name, false, made.error().message};
  return {name, true, does};
}

EngineChoice by_vendor(GpuFileKind kind, const DeviceMemory& memory,
                       const VendorLibraries& libraries, const std::string& proc) {
  const bool cufile = kind == GpuFileKind::cufile;
  const std::string name = engine_name_of(kind);
  if (memory.kernel_reaches()) return {name, false, "for memory of a GPU alone; take uring"};
  const auto driver = GpuFileDriver::open({.kind = kind,
                                           .library = cufile ? libraries.cufile : libraries.hipfile,
                                           .cuda_library = libraries.cuda,
                                           .proc = proc});
  if (!driver) return {name, false, driver.error().message};
  const std::string note = driver.value()->note();
  return {name, true, note.empty() ? "by the vendor's library and driver" : note};
}

EngineChoice staged(DeviceMemory& memory) {
  const StagingConfig smallest{few, few, 4096};
  Result<std::unique_ptr<Engine>> files = make_direct(few);
  if (!files) return {"staging", false, files.error().message};
  const auto made = make_staging(memory, std::move(files).value(), smallest);
  if (!made) return {"staging", false, made.error().message};
  return {"staging", true, "into pinned buffers, and copied by the device while others are read"};
}

EngineChoice stored(DeviceMemory& memory) {
  const auto made = make_bar(memory, few);
  if (!made) return {"bar", false, made.error().message};
  return {"bar", true, "read by the CPU, and stored past its caches"};
}

}  // namespace

std::vector<EngineChoice> engines_for(DeviceMemory& memory, const VendorLibraries& libraries,
                                      const std::string& proc) {
  return {by_kernel("buffered", memory, "pread, by the caller", make_buffered(few)),
          by_kernel("uring", memory, "io_uring, one system call a batch", make_uring(few)),
          by_kernel("pool", memory, "pread, by threads", make_pool(few, few)),
          staged(memory),
          stored(memory),
          by_vendor(GpuFileKind::cufile, memory, libraries, proc),
          by_vendor(GpuFileKind::hipfile, memory, libraries, proc)};
}

}  // namespace k2k::io
