#include "runtime/files/memory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "io/memory/cuda_memory.hpp"
#include "io/memory/hip_memory.hpp"
#include "router/profile/profile.hpp"
#include "router/read/device_reader.hpp"
#include "router/read/registered_memory.hpp"

namespace k2k {

namespace {

using router::DeviceReader;

// Kept for the process, because its pinned memory cannot be allocated again while a kernel runs.
// One per kind and library, and per process, because a child of fork() needs its own.
struct Readers {
  std::mutex mutex;
  std::map<std::tuple<pid_t, MemoryKind, std::string>, std::shared_ptr<DeviceReader>> made;
};

Readers& readers() {
  static Readers& all = *new Readers;
  return all;
}

Result<std::shared_ptr<DeviceReader>> reader_of(MemoryKind kind, const std::string& library) {
  const std::lock_guard lock(readers().mutex);
  std::shared_ptr<DeviceReader>& made = readers().made[{::getpid(), kind, library}];
  if (made) return made;
  Result<std::unique_ptr<io::DeviceMemory>> memory =
      kind == MemoryKind::cuda ? io::make_cuda_memory(0, library) : io::make_hip_memory(0, library);
  if (!memory) return memory.error();
  Result<std::unique_ptr<DeviceReader>> reader = DeviceReader::create(
      std::move(memory).value(),
      {.model_of = router::calibrated_model_by, .channels_kept = 2, .channels_fixed = true});
  if (!reader) return reader.error();
  made = std::move(reader).value();
  return made;
}

}  // namespace

Status runtime::register_memory(void* address, std::size_t bytes, MemoryKind kind,
                                const std::string& library) {
  if (kind != MemoryKind::cuda && kind != MemoryKind::hip) {
    return Error{EINVAL, fmt::format("registering {} bytes at {}: {} is no kind of memory; "
                                     "permitted are 2, CUDA, and 3, HIP",
                                     bytes, address, static_cast<int>(kind))};
  }
  const Result<std::shared_ptr<DeviceReader>> reader = reader_of(kind, library);
  if (!reader) return reader.error();
  return router::RegisteredMemory::of_process().add(address, bytes, reader.value());
}

Status register_memory(void* address, std::size_t bytes, MemoryKind kind) {
  return runtime::register_memory(address, bytes, kind,
                                  kind == MemoryKind::cuda ? "libcuda.so.1" : "");
}

Status unregister_memory(void* address) {
  return router::RegisteredMemory::of_process().remove(address);
}

}  // namespace k2k
