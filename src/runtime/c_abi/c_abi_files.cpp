// The files' half of the C ABI, include/k2k/k2k.h: reads by the router, for programs without a
// runtime.

#include <fmt/format.h>
#include <k2k/k2k.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/api.hpp"
#include "k2k/memory.hpp"
#include "router/door/files.hpp"
#include "runtime/c_abi/c_abi_common.hpp"
#include "runtime/report/stats_text.hpp"

struct k2k_files {
  std::shared_ptr<k2k::router::Files> files;
  pid_t creator = ::getpid();
};

namespace {

using k2k::c_abi::failed;
using k2k::c_abi::guarded;
using k2k::c_abi::missing;

// The engines below are the parent's.
int forked() {
  return failed(EPERM, "these files were created before fork(); call k2k_files_create() again");
}

}  // namespace

extern "C" {

K2K_API int k2k_files_create(const k2k_options* options, k2k_files** files) {
  if (files == nullptr) return missing("files");
  *files = nullptr;
  return guarded([&] {
    k2k::router::FilesOptions config;
    if (options != nullptr) {
      const k2k::Result<k2k::LoadedConfig> loaded = k2k::load_config(options->inputs);
      if (!loaded) return failed(loaded.error());
      config = loaded.value().config.files;
    }
    auto made = k2k::router::Files::create(config, k2k::router::RegisteredMemory::of_process());
    if (!made) return failed(made.error());
    *files = new k2k_files{std::move(made).value()};
    return 0;
  });
}

K2K_API void k2k_files_destroy(k2k_files* files) { delete files; }

K2K_API int64_t k2k_files_pread(k2k_files* files, int descriptor, void* memory, size_t bytes,
                                int64_t offset) {
  if (files == nullptr) return missing("files");
  if (memory == nullptr && bytes > 0) return missing("memory");
  return guarded([&]() -> int64_t {
    if (files->creator != ::getpid()) return forked();
    const ssize_t count = files->files->pread(descriptor, memory, bytes, offset);
    if (count >= 0) return count;
    const int code = static_cast<int>(-count);
    return failed({code, fmt::format("reading {} bytes at offset {} of descriptor {}: {}", bytes,
                                     offset, descriptor, std::strerror(code))});
  });
}

K2K_API int k2k_files_closing(k2k_files* files, int descriptor) {
  if (files == nullptr) return missing("files");
  return guarded([&] {
    if (files->creator != ::getpid()) return forked();
    files->files->closing(descriptor);
    return 0;
  });
}

K2K_API int k2k_files_stats_json(const k2k_files* files, char* buffer, size_t bytes,
                                 size_t* needed) {
  if (needed != nullptr) *needed = 0;
  if (files == nullptr) return missing("files");
  if (buffer == nullptr && bytes > 0) return missing("buffer");
  return guarded([&] {
    const std::string text = k2k::files_json_text(files->files->stats());
    return k2k::c_abi::copy_out(text, buffer, bytes, needed);
  });
}

K2K_API int k2k_memory_register(void* address, size_t bytes, int kind) {
  return guarded([&] {
    const bool fits = kind >= 0 && kind <= UINT8_MAX;
    const auto as_kind = fits ? static_cast<k2k::MemoryKind>(kind) : k2k::MemoryKind();
    const k2k::Status done = k2k::register_memory(address, bytes, as_kind);
    return done ? 0 : failed(done.error());
  });
}

K2K_API int k2k_memory_unregister(void* address) {
  return guarded([&] {
    const k2k::Status done = k2k::unregister_memory(address);
    return done ? 0 : failed(done.error());
  });
}

K2K_API int k2k_memory_registered(const void* address, size_t bytes) {
  return k2k::router::RegisteredMemory::of_process().holds(address, bytes) ? 1 : 0;
}

}  // extern "C"
