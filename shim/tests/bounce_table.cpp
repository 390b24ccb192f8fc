// For tests: a router library (table.h) by plain preads through a buffer of its own. Like the
// router it opens a twin of each file it reads, at a high number, so that the tests see the effects
// of a twin on the program.
//
//   K2K_BOUNCE_WHOLE=1  whole() is there, as where Linux does not reach device memory
//   K2K_BOUNCE_HOLDS=1  it has pages read ahead from its first read on, until a file is closed; the
//                       statistics' pages_kept are the bytes that it was told the program used
//   K2K_BOUNCE_SPLIT=1  a write is two calls, as none may be: tests that look for it must find it
//
// Threading: any thread.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/api.hpp"
#include "shim/table.h"

namespace {

constexpr int twin_number_min = 1000;

using Inode = std::pair<std::uint64_t, std::uint64_t>;

std::mutex lock;
std::map<Inode, int>* twins = new std::map<Inode, int>;
std::atomic<std::uint64_t> reads{0};
std::atomic<std::uint64_t> writes{0};
std::atomic<std::uint64_t> bytes_moved{0};
std::atomic<std::uint64_t> pages_held{0};
std::atomic<std::uint64_t> bytes_used{0};

bool is_set(const char* name, const char* value) {
  const char* const now = std::getenv(name);
  return now != nullptr && std::strcmp(now, value) == 0;
}

// A close of a low number of the inode would drop locks, so all low numbers are taken while the
// twin is opened.
int open_high(int descriptor) {
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  std::vector<int> low;
  for (int number = 0; number < twin_number_min; number = low.back()) {
    number = dup(descriptor >= 0 ? STDERR_FILENO : -1);
    if (number < 0) break;
    low.push_back(number);
    if (number >= twin_number_min) break;
  }
  int twin = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
  if (twin < 0) twin = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  for (const int number : low) close(number);
  return twin;
}

void open_twin(int descriptor) {
  struct stat status{};
  if (fstat(descriptor, &status) != 0) return;
  const std::lock_guard held(lock);
  const Inode inode{status.st_dev, status.st_ino};
  if (twins->count(inode) == 0) twins->emplace(inode, open_high(descriptor));
}

ssize_t read_at(int descriptor, void* memory, std::size_t bytes, std::int64_t offset) {
  open_twin(descriptor);
  std::vector<char> bounce(std::min<std::size_t>(bytes, 65536));
  std::size_t done = 0;
  while (done < bytes) {
    const std::size_t want = std::min(bounce.size(), bytes - done);
    const ssize_t got =
        pread(descriptor, bounce.data(), want, offset + static_cast<std::int64_t>(done));
    if (got < 0) return done == 0 ? -errno : static_cast<ssize_t>(done);
    std::memcpy(static_cast<char*>(memory) + done, bounce.data(), static_cast<std::size_t>(got));
    done += static_cast<std::size_t>(got);
    if (static_cast<std::size_t>(got) < want) break;
  }
  ++reads;
  if (is_set("K2K_BOUNCE_HOLDS", "1")) pages_held = 1;
  bytes_moved += done;
  return static_cast<ssize_t>(done);
}

ssize_t write_at(int descriptor, const void* memory, std::size_t bytes, std::int64_t offset) {
  open_twin(descriptor);
  const std::vector<char> bounce(static_cast<const char*>(memory),
                                 static_cast<const char*>(memory) + bytes);
  const std::size_t first = is_set("K2K_BOUNCE_SPLIT", "1") ? bytes / 2 : 0;
  if (first > 0 && pwrite(descriptor, bounce.data(), first, offset) < 0) return -errno;
  ssize_t put = pwrite(descriptor, bounce.data() + first, bytes - first,
                       offset + static_cast<std::int64_t>(first));
  if (put < 0) return -errno;
  put += static_cast<ssize_t>(first);
  ++writes;
  bytes_moved += static_cast<std::size_t>(put);
  return put;
}

int advise(int descriptor, std::int64_t offset, std::int64_t bytes, int advice) {
  return posix_fadvise(descriptor, offset, bytes, advice);
}

void forget(int, std::uint64_t device, std::uint64_t inode) {
  const std::lock_guard held(lock);
  const auto found = twins->find({device, inode});
  if (found == twins->end()) return;
  if (found->second >= 0) close(found->second);
  twins->erase(found);
  pages_held = 0;
}

void stats(k2k_io_counts* counts) {
  *counts = {};
  counts->reads = reads;
  counts->writes = writes;
  counts->bytes_cache = bytes_moved;
}

void after_fork_child() {
  ::new (&lock) std::mutex;
  for (const auto& [inode, twin] : *twins) {
    if (twin >= 0) close(twin);
  }
  twins->clear();
  reads = writes = bytes_moved = pages_held = bytes_used = 0;
}

std::uint64_t held() { return pages_held; }

void used_by_host(int, std::int64_t, std::uint64_t bytes) { bytes_used += bytes; }

void ahead(k2k_io_ahead* counts) { *counts = {.held = pages_held, .kept = bytes_used, .again = 0}; }

int owns(int descriptor) {
  const std::lock_guard held(lock);
  return std::any_of(twins->begin(), twins->end(),
                     [&](const auto& entry) { return entry.second == descriptor; });
}

// Makes one call through a buffer with pieces of the program's lengths.
ssize_t whole(const k2k_io_call* call) {
  std::vector<std::vector<char>> buffers;
  std::vector<iovec> pieces;
  for (int i = 0; i < call->count; ++i) {
    const iovec& piece = call->pieces[i];
    const auto* const from = static_cast<const char*>(piece.iov_base);
    buffers.emplace_back(from, from + (call->write ? piece.iov_len : 0));
    buffers.back().resize(piece.iov_len);
    pieces.push_back({buffers.back().data(), piece.iov_len});
  }
  const std::int64_t offset = call->at_position ? -1 : call->offset;
  if (!call->at_position && offset < 0) return -EINVAL;
  const ssize_t moved =
      call->write ? pwritev2(call->descriptor, pieces.data(), call->count, offset, call->flags)
                  : preadv2(call->descriptor, pieces.data(), call->count, offset, call->flags);
  if (moved < 0) return -errno;
  auto left = static_cast<std::size_t>(moved);
  for (int i = 0; i < call->count && !call->write; ++i) {
    const std::size_t bytes = std::min(left, pieces[static_cast<std::size_t>(i)].iov_len);
    std::memcpy(call->pieces[i].iov_base, pieces[static_cast<std::size_t>(i)].iov_base, bytes);
    left -= bytes;
  }
  return moved;
}

// In these tests every kind is memory of the process.
int serves(int) { return 1; }
ssize_t read_in(int, int descriptor, void* memory, std::size_t bytes, std::int64_t offset) {
  return read_at(descriptor, memory, bytes, offset);
}
ssize_t write_in(int, int descriptor, const void* memory, std::size_t bytes, std::int64_t offset) {
  return write_at(descriptor, memory, bytes, offset);
}
ssize_t whole_in(int, const k2k_io_call* call, const unsigned char*) { return whole(call); }

}  // namespace

extern "C" K2K_API const k2k_io_table* k2k_io_table_get(std::uint32_t version) {
  static const k2k_io_table table = {.version = k2k_io_table_version,
                                     .bytes = sizeof(k2k_io_table),
                                     .pread = read_at,
                                     .pwrite = write_at,
                                     .advise = advise,
                                     .forget = forget,
                                     .stats = stats,
                                     .after_fork_child = after_fork_child,
                                     .owns = owns,
                                     .whole = is_set("K2K_BOUNCE_WHOLE", "1") ? whole : nullptr,
                                     .serves = serves,
                                     .pread_in = read_in,
                                     .pwrite_in = write_in,
                                     .whole_in = whole_in,
                                     .held = held,
                                     .used_by_host = used_by_host,
                                     .ahead = ahead,
                                     .writes_direct = nullptr};
  if (version != k2k_io_table_version) return errno = ENOTSUP, nullptr;
  return &table;
}
