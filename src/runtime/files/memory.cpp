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

#include "router/door/readers.hpp"
#include "router/read/registered_memory.hpp"
#include "runtime/settings/config.hpp"

namespace k2k {

namespace {

using router::FileReader;

static_assert(static_cast<int>(MemoryKind::cuda) == static_cast<int>(router::Vendor::cuda));
static_assert(static_cast<int>(MemoryKind::hip) == static_cast<int>(router::Vendor::hip));

// Kept for the process, because its pinned memory cannot be allocated again while a kernel runs.
// One per kind and library, and per process, because a child of fork() needs its own.
struct Readers {
  std::mutex mutex;
  std::map<std::tuple<pid_t, MemoryKind, std::string>, std::shared_ptr<FileReader>> made;
};

Readers& readers() {
  static Readers& all = *new Readers;
  return all;
}

Result<std::shared_ptr<FileReader>> reader_of(MemoryKind kind, const std::string& library) {
  const std::lock_guard lock(readers().mutex);
  std::shared_ptr<FileReader>& made = readers().made[{::getpid(), kind, library}];
  if (made) return made;
  // There may be no runtime yet, and there may be several: the operator's settings are for all.
  const Result<LoadedConfig> loaded = load_config(process_inputs());
  if (!loaded) return loaded.error();
  Result<std::unique_ptr<FileReader>> reader = router::make_vendor_reader(
      {.vendor = static_cast<router::Vendor>(kind), .library = library, .for_kernels = true},
      loaded.value().config.files);
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
  const Result<std::shared_ptr<FileReader>> reader = reader_of(kind, library);
  if (!reader) return reader.error();
  return router::RegisteredMemory::of_process().add(address, bytes, reader.value());
}

Status register_memory(void* address, std::size_t bytes, MemoryKind kind) {
  return runtime::register_memory(address, bytes, kind, "");
}

Status unregister_memory(void* address) {
  return router::RegisteredMemory::of_process().remove(address);
}

}  // namespace k2k
