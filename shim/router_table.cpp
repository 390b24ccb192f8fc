// libk2k_io_router.so: the table of functions behind libk2k_io.so, by the router.
//
// Threading: any thread.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "base/api.hpp"
#include "io/file/raw.hpp"
#include "router/profile/profile.hpp"
#include "router/read/file_reader.hpp"
#include "router/read/registered_memory.hpp"
#include "shim/gpu_readers.hpp"
#include "shim/table.h"

namespace k2k::shim {
namespace {

using router::DeviceReader;
using router::FileReader;

// Made by k2k_io_table_get(), before any other call, and never destroyed: the program may read
// until its last instruction.
FileReader* reader = nullptr;

struct ReadAhead {
  std::uint32_t pages = router::read_ahead_pages_default;
  bool where_free = true;
};

bool is_set(const char* name) {
  const char* const value = ::secure_getenv(name);
  return value != nullptr && *value != '\0' && *value != '0';
}

// K2K_IO_READ_AHEAD_PAGES: what may be in the page cache for sequential device reads alone, on
// whatever device; unset: 512, where that costs nothing. K2K_IO_CONSERVATIVE=1: the kernel's
// affair. Not a number up to the most that there can be: nothing.
std::optional<ReadAhead> read_ahead() {
  if (is_set("K2K_IO_CONSERVATIVE")) return ReadAhead{.pages = 0};
  const char* const wanted = ::secure_getenv("K2K_IO_READ_AHEAD_PAGES");
  if (wanted == nullptr || *wanted == '\0') return ReadAhead{};
  std::uint32_t pages = 0;
  const char* const end = wanted + std::strlen(wanted);
  const auto [behind, error] = std::from_chars(wanted, end, pages);
  if (error != std::errc() || behind != end || pages > router::read_ahead_pages_max) return {};
  return ReadAhead{.pages = pages, .where_free = false};
}

ssize_t read_at(int descriptor, void* memory, std::size_t bytes, std::int64_t offset) {
  return reader->pread(descriptor, memory, bytes, offset);
}

ssize_t write_at(int descriptor, const void* memory, std::size_t bytes, std::int64_t offset) {
  return reader->pwrite(descriptor, memory, bytes, offset);
}

int advise(int descriptor, std::int64_t offset, std::int64_t bytes, int advice) {
  for (DeviceReader* const gpu : gpu_readers_made()) {
    if (gpu != nullptr) gpu->advise(descriptor, offset, bytes, advice);
  }
  return reader->advise(descriptor, offset, bytes, advice);
}

void forget(int descriptor, std::uint64_t device, std::uint64_t inode) {
  for (DeviceReader* const gpu : gpu_readers_made()) {
    if (gpu != nullptr) gpu->forget(descriptor, device, inode);
  }
  reader->forget(descriptor, device, inode);
}

void stats(k2k_io_counts* counts) {
  router::ReaderStats now = reader->stats();
  for (const DeviceReader* const gpu : gpu_readers_made()) {
    if (gpu != nullptr) router::add_to(now, gpu->stats());
  }
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
  reader->after_fork_child();
  gpu_readers_after_fork_child();
}

std::uint64_t held() { return reader->pages_held(); }

void used_by_host(int descriptor, std::int64_t offset, std::uint64_t bytes) {
  reader->used_by_host(descriptor, offset, bytes);
}

void ahead(k2k_io_ahead* counts) {
  const router::ReaderStats now = reader->stats();
  *counts = {.held = now.pages_held, .kept = now.pages_kept, .again = now.pages_again};
}

std::uint64_t writes_direct() { return reader->stats().writes_direct; }

int owns(int descriptor) { return k2k::is_own(descriptor) ? 1 : 0; }

int serves(int kind) { return gpu_reader(kind) != nullptr ? 1 : 0; }

// What follows is called after serves(). There is no other way to device memory: without host
// memory for it, ENOMEM.
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
  static const k2k_io_table table = {
      .version = k2k_io_table_version,
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
      .writes_direct = is_set("K2K_IO_EXCLUSIVE") ? writes_direct : nullptr};
  if (version != k2k_io_table_version) return errno = ENOTSUP, nullptr;
  if (reader == nullptr) {
    const std::optional<ReadAhead> wanted = read_ahead();
    if (!wanted) {
      ::dprintf(
          STDERR_FILENO,
          "k2k_io: K2K_IO_READ_AHEAD_PAGES is not a number of pages from 0 to %u; libc serves "
          "the calls\n",
          k2k::router::read_ahead_pages_max);
      return errno = EINVAL, nullptr;
    }
    k2k::Result<std::unique_ptr<FileReader>> made =
        FileReader::create({.model_of = k2k::router::calibrated_model,
                            .small_file_bytes = k2k::router::small_file_bytes_default,
                            .trial_bytes = k2k::router::trial_bytes_default,
                            .partition_pages = wanted->pages,
                            .partition_where_free = wanted->where_free,
                            .exclusive = is_set("K2K_IO_EXCLUSIVE")});
    if (!made) return errno = made.error().code, nullptr;
    k2k::io::high_numbers_only = true;
    reader = std::move(made).value().release();
  }
  return &table;
}
