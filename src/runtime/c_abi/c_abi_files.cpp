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
#include "router/read/file_reader.hpp"
#include "router/read/registered_memory.hpp"
#include "runtime/c_abi/c_abi_common.hpp"
#include "runtime/files/files.hpp"
#include "runtime/report/stats_text.hpp"

struct k2k_files {
  std::shared_ptr<k2k::router::FileReader> reader;  // Null: plain pread(2).
  // Of registered memory, whoever reads; counted from here on.
  k2k::router::ReaderStats before = k2k::router::RegisteredMemory::of_process().stats();
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

// What the router would do of it if it were switched off (files.router = false).
ssize_t plain_pread(int descriptor, void* memory, std::size_t bytes, std::int64_t offset) {
  const ssize_t count = ::pread(descriptor, memory, bytes, offset);
  return count < 0 ? -errno : count;
}

ssize_t read_at(const k2k_files& files, int descriptor, void* memory, std::size_t bytes,
                std::int64_t offset) {
  auto& registered = k2k::router::RegisteredMemory::of_process();
  if (const auto answer = registered.pread(descriptor, memory, bytes, offset)) return *answer;
  return files.reader ? files.reader->pread(descriptor, memory, bytes, offset)
                      : plain_pread(descriptor, memory, bytes, offset);
}

}  // namespace

extern "C" {

K2K_API int k2k_files_create(const k2k_options* options, k2k_files** files) {
  if (files == nullptr) return missing("files");
  *files = nullptr;
  return guarded([&] {
    k2k::runtime::FilesConfig config;
    if (options != nullptr) {
      const k2k::Result<k2k::LoadedConfig> loaded = k2k::load_config(options->inputs);
      if (!loaded) return failed(loaded.error());
      config = loaded.value().config.files;
    }
    auto reader = k2k::runtime::create_reader(config);
    if (!reader) return failed(reader.error());
    *files = new k2k_files{std::move(reader).value()};
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
    const ssize_t count = read_at(*files, descriptor, memory, bytes, offset);
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
    if (files->reader) files->reader->closing(descriptor);
    k2k::router::RegisteredMemory::of_process().closing(descriptor);
    return 0;
  });
}

K2K_API int k2k_files_stats_json(const k2k_files* files, char* buffer, size_t bytes,
                                 size_t* needed) {
  if (needed != nullptr) *needed = 0;
  if (files == nullptr) return missing("files");
  if (buffer == nullptr && bytes > 0) return missing("buffer");
  return guarded([&] {
    k2k::router::ReaderStats stats =
        k2k::router::since(files->before, k2k::router::RegisteredMemory::of_process().stats());
    if (files->reader) k2k::router::add_to(stats, files->reader->stats());
    return k2k::c_abi::copy_out(k2k::files_json_text(stats), buffer, bytes, needed);
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
