// libk2k_io_router.so: the table of functions behind libk2k_io.so, by the router.
//
// Threading: any thread.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "base/api.hpp"
#include "io/file/raw.hpp"
#include "router/door/files.hpp"
#include "router/door/files_keys.hpp"
#include "shim/gpu_readers.hpp"
#include "shim/table.h"

namespace k2k::shim {
namespace {

using router::Files;

// Made by k2k_io_table_get(), before any other call, and never destroyed: the program may read
// until its last instruction. One set per process, because calls of libc have no argument for it.
struct OfProcess {
  explicit OfProcess(const router::FilesOptions& wanted) : options(wanted) {}

  const router::FilesOptions options;
  router::RegisteredMemory registered;  // Has readers and no ranges: libk2k_io.so has the ranges.
  std::shared_ptr<Files> files;
};
OfProcess* process = nullptr;
Files* files = nullptr;  // process->files, without an indirection.

const char* environment(const char* name) { return ::secure_getenv(name); }

ssize_t read_at(int descriptor, void* memory, std::size_t bytes, std::int64_t offset) {
  return files->pread(descriptor, memory, bytes, offset);
}

ssize_t write_at(int descriptor, const void* memory, std::size_t bytes, std::int64_t offset) {
  return files->pwrite(descriptor, memory, bytes, offset);
}

int advise(int descriptor, std::int64_t offset, std::int64_t bytes, int advice) {
  return files->advise(descriptor, offset, bytes, advice);
}

void forget(int descriptor, std::uint64_t device, std::uint64_t inode) {
  files->forget(descriptor, device, inode);
}

void stats(k2k_io_counts* counts) {
  const router::ReaderStats now = files->stats();
  *counts = {.reads = now.reads,
             .writes = now.writes,
             .unprobed = now.unprobed,
             .mixed = now.mixed,
             .bytes_cache = now.bytes_cache,
             .bytes_direct = now.bytes_direct,
             .fall_backs = now.fall_backs,
             .files_refused = now.files_refused,
             .misaligned = now.misaligned,
             .pages_ahead = now.pages_ahead,
             .pages_evicted = now.pages_evicted};
}

void after_fork_child() {
  files->after_fork_child();
  gpu_readers_after_fork_child();
}

std::uint64_t held() { return files->pages_held(); }

void used_by_host(int descriptor, std::int64_t offset, std::uint64_t bytes) {
  files->used_by_host(descriptor, offset, bytes);
}

void ahead(k2k_io_ahead* counts) {
  const router::ReaderStats now = files->stats();
  *counts = {.held = now.pages_held, .kept = now.pages_kept, .again = now.pages_again};
}

std::uint64_t writes_direct() { return files->stats().writes_direct; }

int owns(int descriptor) { return k2k::is_own(descriptor) ? 1 : 0; }

int serves(int kind) { return gpu_reader(kind) != nullptr ? 1 : 0; }

// The functions below are called after serves(). They have no other way to device memory: without
// host memory for the transfer they return ENOMEM.
template <class Call>
ssize_t or_no_memory(const Call& call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
}

ssize_t read_in(int kind, int descriptor, void* memory, std::size_t bytes, std::int64_t offset) {
  return or_no_memory([&] { return gpu_reader(kind)->pread(descriptor, memory, bytes, offset); });
}

ssize_t write_in(int kind, int descriptor, const void* memory, std::size_t bytes,
                 std::int64_t offset) {
  return or_no_memory([&] { return gpu_reader(kind)->pwrite(descriptor, memory, bytes, offset); });
}

ssize_t whole_in(int kind, const k2k_io_call* call, const unsigned char* in_kind) {
  std::array<bool, IOV_MAX> is_device;
  const auto count = static_cast<std::size_t>(call->count);
  std::transform(in_kind, in_kind + count, is_device.begin(),
                 [](unsigned char each) { return each != 0; });
  return or_no_memory([&] {
    return gpu_reader(kind)->whole(
        {.descriptor = call->descriptor,
         .pieces = {call->pieces, count},
         .is_device = {is_device.data(), count},
         .write = call->write != 0,
         .offset = call->at_position != 0 ? std::optional<std::int64_t>() : call->offset,
         .flags = call->flags});
  });
}

}  // namespace
}  // namespace k2k::shim

extern "C" K2K_API const k2k_io_table* k2k_io_table_get(std::uint32_t version) {
  using namespace k2k::shim;
  static k2k_io_table table = {.version = k2k_io_table_version,
                               .bytes = sizeof(k2k_io_table),
                               .pread = read_at,
                               .pwrite = write_at,
                               .advise = advise,
                               .forget = forget,
                               .stats = stats,
                               .after_fork_child = after_fork_child,
                               .owns = owns,
                               .whole = nullptr,
                               .serves = serves,
                               .pread_in = read_in,
                               .pwrite_in = write_in,
                               .whole_in = whole_in,
                               .held = held,
                               .used_by_host = used_by_host,
                               .ahead = ahead,
                               .writes_direct = nullptr};
  if (version != k2k_io_table_version) return errno = ENOTSUP, nullptr;
  if (process != nullptr) return &table;
  const k2k::router::FilesVariables variables = k2k::router::files_options_from(environment);
  for (const std::string& ignored : variables.ignored) {
    ::dprintf(STDERR_FILENO, "k2k_io: %s; the variable is ignored\n", ignored.c_str());
  }
  auto made = std::make_unique<OfProcess>(variables.options);
  auto files_made = Files::create(made->options, made->registered);
  if (!files_made) return errno = files_made.error().code, nullptr;
  k2k::io::high_numbers_only = true;
  made->files = std::move(files_made).value();
  files = made->files.get();
  process = made.release();
  set_up_gpu_readers(process->options, process->registered);
  if (process->options.exclusive) table.writes_direct = writes_direct;
  return &table;
}
