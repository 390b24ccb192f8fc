#include "shim/serve.hpp"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "k2k/io.h"
#include "router/door/position.hpp"
#include "shim/counts.hpp"
#include "shim/descriptors.hpp"
#include "shim/in_use.hpp"
#include "shim/real.hpp"
#include "shim/router_library.hpp"

// This library is linked without the compiler's start files, whose cost to a program is four
// look-ups of undefined names. pthread_atfork() reads this word; null: the library is never
// unloaded.
extern "C" [[gnu::visibility("hidden")]] constinit void* const __dso_handle = nullptr;

namespace k2k::shim {

static_assert(Ranges::ranges_max == k2k_io_ranges_max);

constinit Ranges ranges;
constinit Counts counts;

namespace {

constinit InUse in_use;  // Memory of the kinds whose frees this library sees.

// Linux' maximum for one call: the last whole page below 2 GiB.
constexpr std::size_t call_bytes_max = 0x7ffff000;
// Writes under these flags must be made by the program's own descriptor and in one call.
constexpr int whole_write_flags = O_APPEND | O_DIRECT | O_DSYNC | O_SYNC;

pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

// A forced unwinding would leave locks and the router library's channels taken.
class NoCancellation {
 public:
  NoCancellation() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancellation() { pthread_setcancelstate(before_, nullptr); }
  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;

 private:
  int before_ = 0;
};

// The contents of the vector. A piece is device memory if it lies within one range.
struct Contents {
  std::size_t bytes = 0;
  int filled = 0;  // Pieces that are not empty.
  bool device = false;
  bool wrong = false;  // Linux answers with the error.
  // The kind and the address range of memory that neither CPU nor kernel can address.
  int unmapped_kind = 0;
  std::uintptr_t first = UINTPTR_MAX;
  std::uintptr_t last = 0;
};

bool is_unmapped(int kind) { return kind > k2k_io_mapped; }

Contents contents_of(const HostCall& request) {
  Contents contents;
  if (request.count < 0 || request.count > IOV_MAX) contents.wrong = true;
  for (int i = 0; i < request.count && !contents.wrong; ++i) {
    const iovec& piece = request.pieces[i];
    if (piece.iov_len > SSIZE_MAX) contents.wrong = true;
    if (piece.iov_len == 0) continue;
    ++contents.filled;
    contents.bytes =
        std::min(contents.bytes + std::min(piece.iov_len, call_bytes_max), call_bytes_max);
    const int kind = ranges.kind_of(piece.iov_base, piece.iov_len);
    contents.device |= kind != 0;
    if (!is_unmapped(kind)) continue;
    // No engine moves memory of two such kinds.
    contents.wrong |= contents.unmapped_kind != 0 && contents.unmapped_kind != kind;
    contents.unmapped_kind = kind;
    const auto first = reinterpret_cast<std::uintptr_t>(piece.iov_base);
    contents.first = std::min(contents.first, first);
    contents.last = std::max(contents.last, first + piece.iov_len);
  }
  return contents;
}

// Does not wait for the lock: the next call tries again.
void watch(bool all) {
  if (pthread_mutex_trylock(&changing) != 0) return;
  ranges.watch(all);
  pthread_mutex_unlock(&changing);
}

// To be called after a call with device memory: does the router library hold pages that it read
// ahead, and that the program may want to keep?
void look_at_held(const k2k_io_table& router) {
  const bool held = router.held != nullptr && router.held() != 0;
  if (held != ranges.watched()) watch(held);
}

// Moves one piece. Returns the count or a negative errno.
ssize_t move(const k2k_io_table& router, const HostCall& request, const iovec& piece,
             std::size_t bytes, std::int64_t offset) {
  const int kind = ranges.kind_of(piece.iov_base, bytes);
  if (is_unmapped(kind)) {
    return request.write ? router.pwrite_in(kind, request.descriptor, piece.iov_base, bytes, offset)
                         : router.pread_in(kind, request.descriptor, piece.iov_base, bytes, offset);
  }
  if (kind != 0) {
    return request.write ? router.pwrite(request.descriptor, piece.iov_base, bytes, offset)
                         : router.pread(request.descriptor, piece.iov_base, bytes, offset);
  }
  const ssize_t moved = real.pread(request.descriptor, piece.iov_base, bytes, offset);
  if (moved > 0 && router.used_by_host != nullptr && ranges.watched()) {
    router.used_by_host(request.descriptor, offset, static_cast<std::uint64_t>(moved));
  }
  return moved < 0 ? -errno : moved;
}

// Moves piece after piece, until a piece falls short: the file has ended, or the next call gets an
// error.
ssize_t move_all(const k2k_io_table& router, const HostCall& request, std::int64_t offset) {
  std::size_t done = 0;
  for (int i = 0; i < request.count && done < call_bytes_max; ++i) {
    const iovec& piece = request.pieces[i];
    const std::size_t bytes = std::min(piece.iov_len, call_bytes_max - done);
    if (bytes == 0) continue;
    const ssize_t moved =
        move(router, request, piece, bytes, offset + static_cast<std::int64_t>(done));
    if (moved < 0) return done == 0 ? moved : static_cast<ssize_t>(done);
    done += static_cast<std::size_t>(moved);
    if (static_cast<std::size_t>(moved) < bytes) break;
  }
  return static_cast<ssize_t>(done);
}

// Returns false where Linux must answer: no position, or the number of a device by now.
bool move_at_position(const k2k_io_table& router, const HostCall& request, std::size_t bytes,
                      ssize_t* moved) {
  const File file = tracked.file_of(request.descriptor);
  const router::Position position(request.descriptor, file.device, file.inode,
                                  router::Patience::endless);
  return position.read(
      bytes, [&](off_t offset) { return move_all(router, request, offset); }, *moved);
}

bool may_be_split(const HostCall& request, const Contents& contents) {
  if ((request.flags & ~RWF_HIPRI) != 0) return false;
  const std::uint32_t routing = look_at(request.descriptor);
  if (!request.write) return (routing & routes_reads) != 0;
  // Several requests of a write would be several writes. The description's flags are read each
  // time, because another process may have changed them.
  if ((routing & routes_writes) == 0 || contents.filled != 1) return false;
  const int flags = real.fcntl(request.descriptor, F_GETFL);
  return flags >= 0 && (flags & whole_write_flags) == 0;
}

// Makes one call of Linux. Returns false if libc has to make the program's own call.
bool move_whole(const k2k_io_table& router, const HostCall& request, int unmapped_kind,
                ssize_t* moved) {
  if (router.whole == nullptr && unmapped_kind == 0) return false;
  const k2k_io_call call{.pieces = request.pieces,
                         .count = request.count,
                         .descriptor = request.descriptor,
                         .write = request.write,
                         .at_position = request.at_position,
                         .offset = request.offset,
                         .flags = request.flags};
  if (unmapped_kind == 0) {
    *moved = router.whole(&call);
    return true;
  }
  unsigned char in_kind[IOV_MAX];
  for (int i = 0; i < request.count; ++i) {
    const iovec& piece = request.pieces[i];
    in_kind[i] = ranges.kind_of(piece.iov_base, piece.iov_len) == unmapped_kind ? 1 : 0;
  }
  *moved = router.whole_in(unmapped_kind, &call, in_kind);
  return true;
}

bool move_request(const k2k_io_table& router, const HostCall& request, const Contents& contents,
                  ssize_t* moved) {
  const auto by_kernel = [&] {
    count(counts.by_kernel);
    return move_whole(router, request, contents.unmapped_kind, moved);
  };
  if (!may_be_split(request, contents)) return by_kernel();
  if (request.at_position) {
    // A writer that is killed leaves no hole: Linux moves the position with the data. Where no
    // other program uses the file, the data may be written by more than one call.
    if (request.write && router.writes_direct == nullptr) {
      count(counts.writes);
      return move_whole(router, request, contents.unmapped_kind, moved);
    }
    if (!move_at_position(router, request, contents.bytes, moved)) return by_kernel();
  } else {
    if (request.offset < 0) return by_kernel();
    *moved = move_all(router, request, request.offset);
  }
  count(request.write ? counts.writes : counts.reads);
  if (contents.filled > 1) counts.pieces.fetch_add(static_cast<unsigned>(contents.filled));
  return true;
}

void before_fork() {
  pthread_mutex_lock(&changing);
  descriptors_before_fork();
  router_library_before_fork();
}

void after_fork(bool child) {
  router_library_after_fork(child);
  descriptors_after_fork(child);
  if (child) {
    router::positions_after_fork_child();
    in_use.clear();
  }
  pthread_mutex_unlock(&changing);
}

void after_fork_parent() { after_fork(false); }
void after_fork_child() { after_fork(true); }

// Expects the lock.
void watch_forks() {
  static constinit bool forks_seen = false;
  if (!forks_seen)
    forks_seen = pthread_atfork(before_fork, after_fork_parent, after_fork_child) == 0;
}

// A call with memory that the program may free at any time. Returns false if libc has to make it.
bool move_unmapped(const k2k_io_table& router, const HostCall& request, ssize_t* moved) {
  const Contents before = contents_of(request);
  if (router.serves(before.unmapped_kind) == 0) return count(counts.without_router), false;
  const Using now(in_use, before.first, before.last);
  // The second look-up is valid to the end: a thread that frees the memory now waits for this call.
  const Contents contents = contents_of(request);
  if (contents.unmapped_kind != before.unmapped_kind || contents.first != before.first ||
      contents.last != before.last) {
    return false;
  }
  return move_request(router, request, contents, moved);
}

}  // namespace

bool serve(const HostCall& request, ssize_t* answer) {
  if (in_router_library(request.caller)) return false;
  if (Inside::now()) return count(counts.nested), false;
  const Contents contents = contents_of(request);
  if (contents.wrong || !contents.device) return false;
  const int before = errno;
  const k2k_io_table* const router = router_library();
  if (router == nullptr) return count(counts.without_router), false;

  if (request.by_number) {
    count(counts.by_number);
  } else {
    pthread_testcancel();
  }
  const NoCancellation off;
  const Inside inside;
  ssize_t moved = 0;
  const bool served = contents.unmapped_kind != 0
                          ? move_unmapped(*router, request, &moved)
                          : move_request(*router, request, contents, &moved);
  look_at_held(*router);
  if (!served) return errno = before, false;
  errno = moved < 0 ? static_cast<int>(-moved) : before;
  *answer = moved < 0 ? -1 : moved;
  return true;
}

bool serve_at(int descriptor, void* memory, std::size_t bytes, std::int64_t offset,
              ssize_t* answer) {
  const k2k_io_table* const router = router_library_if_loaded();
  if (router == nullptr || Inside::now() || (tracked.routing_of(descriptor) & routes_reads) == 0)
    return false;
  if (offset < 0 || bytes == 0 || bytes > call_bytes_max) return false;
  const int before = errno;
  pthread_testcancel();
  const NoCancellation off;
  const Inside inside;
  const ssize_t moved = router->pread(descriptor, memory, bytes, offset);
  look_at_held(*router);
  count(counts.reads);
  errno = moved < 0 ? static_cast<int>(-moved) : before;
  *answer = moved < 0 ? -1 : moved;
  return true;
}

void host_used(int descriptor, bool at_position, std::int64_t offset, ssize_t moved) {
  const k2k_io_table* const router = router_library_if_loaded();
  if (router == nullptr || router->held == nullptr || router->used_by_host == nullptr) return;
  if (Inside::now()) return;  // A signal handler during a served call must not wait for a lock.
  const Inside inside;
  const int before = errno;
  if (router->held() == 0) {
    watch(false);
  } else {
    const off_t end = at_position ? lseek(descriptor, 0, SEEK_CUR) : offset + moved;
    if (end >= moved)
      router->used_by_host(descriptor, end - moved, static_cast<std::uint64_t>(moved));
  }
  errno = before;
}

bool near_any(const iovec* pieces, int count) {
  // Linux answers EFAULT to a wrong address of the vector. The wrong addresses that occur are small
  // numbers; others end the program here.
  if (reinterpret_cast<std::uintptr_t>(pieces) < 65536) return false;
  if (count > IOV_MAX) return false;  // Linux refuses the call, and reads no piece.
  for (int i = 0; i < count; ++i) {
    if (ranges.near(pieces[i].iov_base)) return true;
  }
  return false;
}

bool advise(int descriptor, off_t offset, off_t bytes, int advice, const void* caller,
            int* answer) {
  if (in_router_library(caller) || Inside::now() || (look_at(descriptor) & routes_reads) == 0)
    return false;
  const k2k_io_table* const router = router_library();
  if (router == nullptr) return false;
  const Inside inside;
  const int before = errno;
  *answer = router->advise(descriptor, offset, bytes, advice);
  errno = before;
  return true;
}

int add_range(const void* memory, std::size_t bytes, int kind) {
  if (kind < k2k_io_mapped || kind > k2k_io_hip) return -EINVAL;
  pthread_mutex_lock(&changing);
  watch_forks();
  check_calls();
  const int added = ranges.add(memory, bytes, kind);
  pthread_mutex_unlock(&changing);
  return added;
}

int remove_range(const void* memory) {
  pthread_mutex_lock(&changing);
  const int removed = ranges.remove(memory);
  pthread_mutex_unlock(&changing);
  return removed;
}

void note_allocated(const void* memory, std::size_t bytes, int kind) {
  pthread_mutex_lock(&changing);
  watch_forks();
  check_calls();
  ranges.remove_overlapping(memory, bytes);
  const int added = ranges.add(memory, bytes, kind);
  pthread_mutex_unlock(&changing);
  if (added == -ENOSPC) count(counts.unregistered);
}

Ranges::Held note_freeing(const void* memory) {
  Ranges::Held was;
  pthread_mutex_lock(&changing);
  ranges.remove(memory, &was);
  pthread_mutex_unlock(&changing);
  if (!is_unmapped(was.kind)) return was;
  constexpr timespec nap{0, 50'000};
  constexpr int naps_max = 20'000;  // Ends the wait for a hanging file system.
  for (int naps = 0; naps < naps_max && in_use.uses(was.first, was.last); ++naps) {
    nanosleep(&nap, nullptr);
  }
  return was;
}

}  // namespace k2k::shim
