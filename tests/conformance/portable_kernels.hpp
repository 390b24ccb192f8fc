#pragma once
// The kernels of portable_test.cpp, in a form that a GPU can run: closures by value, results in
// shared memory, no host function. They are separate from the tests, because not every compiler of
// device code can compile GoogleTest's headers (clang 15 cannot).

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "device/k2k.hpp"

namespace k2k::conformance {
namespace {

constexpr std::uint32_t items = 48;  // One wave and a half.

K2K_DEVICE inline bool same(const char* left, const char* right, std::size_t bytes) {
  for (std::size_t place = 0; place < bytes; ++place) {
    if (left[place] != right[place]) return false;
  }
  return true;
}

struct OwnAnswerKernel {
  long* answers;
  K2K_DEVICE void operator()() const {
    const long pid = k2k::getpid(k2k::work_item);
    answers[k2k::global_rank()] = k2k::lseek(k2k::work_item, -1, 0, 0) + 1000 * pid;
  }
};

struct GroupCallKernel {
  int fd;
  long* answers;
  K2K_DEVICE void operator()() const {
    answers[k2k::global_rank()] = k2k::write(k2k::work_group, fd, "abc", 3);
  }
};

struct StrongWriteKernel {
  int fd;
  K2K_DEVICE void operator()() const {
    K2K_LOCAL(char[items], text);
    text[k2k::item_rank()] = static_cast<char>('a' + k2k::group_rank());
    k2k::pwrite(k2k::work_group, fd, text, items, k2k::group_rank() * items);
    text[k2k::item_rank()] = '!';  // The call is over, so the host no longer reads it.
  }
};

struct RelaxedWriteKernel {
  int fd;
  long* answers;
  K2K_DEVICE void operator()() const {
    K2K_LOCAL(char[items], text);
    text[k2k::item_rank()] = static_cast<char>('0' + k2k::item_rank() % 10);
    answers[k2k::item_rank()] = k2k::pwrite(k2k::work_group, k2k::relaxed, fd, text, items, 0);
  }
};

struct RelaxedReadKernel {
  int fd;
  int* right;
  K2K_DEVICE void operator()() const {
    K2K_LOCAL(char[items], text);
    const std::uint32_t me = k2k::item_rank();
    const long first = k2k::pread(k2k::work_group, k2k::relaxed, fd, text, items, 0);
    const char mine = text[(me + 7) % items];
    k2k::barrier();  // The buffer is used again: relaxed order does not wait for its readers.
    const long second = k2k::pread(k2k::work_group, k2k::relaxed, fd, text, 5, items);
    right[k2k::global_rank()] = first == items && mine == 'r' && second == 5 && text[4] == 's';
  }
};

struct MixedCallsKernel {
  int fd;
  int* wrong;
  K2K_DEVICE void operator()() const {
    char text[32];
    K2K_LOCAL(char[32], shared);
    int mine = 0;
    for (long count = 1; count < 12; ++count) {
      const auto size = static_cast<std::size_t>(count);
      mine += k2k::pread(k2k::work_group, k2k::relaxed, fd, shared, size, 0) != count;
      mine += k2k::pread(k2k::work_group, fd, shared, size + 1, 0) != count + 1;
      mine += k2k::pread(k2k::work_item, fd, text, size + 2, 0) != count + 2;
      mine += k2k::lseek(k2k::work_group, k2k::relaxed, -1, 0, 0) != -EBADF;
      const long written = k2k::fsync(k2k::work_group, k2k::relaxed, -1);
      mine += written != (k2k::item_rank() == 0 ? -EBADF : -EINPROGRESS);
    }
    wrong[k2k::global_rank()] = mine;
  }
};

struct LocalMemoryKernel {
  int* wrong;
  K2K_DEVICE void operator()() const {
    K2K_LOCAL(std::uint32_t[64], counts);
    int mine = 0;
    for (std::uint32_t place = 0; place < 64; ++place) mine += counts[place] != 0;
    k2k::barrier();
    counts[k2k::item_rank()] = 4711;  // A later group must not see this.
    k2k::barrier();
    mine += counts[(k2k::item_rank() + 1) % k2k::group_size()] != 4711;
    wrong[k2k::global_rank()] = mine;
  }
};

struct WaveKernel {
  int* right;
  K2K_DEVICE void operator()() const {
    const std::uint32_t lane = k2k::lane();
    const std::uint64_t odd = k2k::ballot(lane % 2 == 1);
    const std::uint64_t live = k2k::ballot(true);
    const std::uint64_t big = (std::uint64_t{lane} << 40) + lane;
    const std::uint64_t got = k2k::shuffle(big, 3);
    const bool good = (odd & ~(live & 0xaaaaaaaaaaaaaaaau)) == 0 &&
                      odd == (live & 0xaaaaaaaaaaaaaaaau) && (live >> lane & 1) != 0 &&
                      got == (std::uint64_t{3} << 40) + 3 &&
                      k2k::shuffle(big, k2k::wave_lanes()) == 0;
    right[k2k::global_rank()] = good ? 1 : 0;
  }
};

struct LastGroupKernel {
  int fd;
  char* text;
  std::size_t bytes;
  long* answers;
  K2K_DEVICE void operator()() const {
    if (k2k::item_rank() == 5) {
      text[k2k::group_rank()] = static_cast<char>('A' + k2k::group_rank() % 26);
    }
    answers[k2k::global_rank()] = k2k::pwrite(k2k::kernel(3), k2k::relaxed, fd, text, bytes, 0);
  }
};

struct FirstGroupKernel {
  int fd;
  char* text;
  std::size_t bytes;
  int* right;
  K2K_DEVICE void operator()() const {
    const long answer = k2k::read(k2k::kernel(0), k2k::relaxed, fd, text, bytes);
    right[k2k::global_rank()] =
        answer == static_cast<long>(bytes) && same(text, "for everybody", 13) ? 1 : 0;
  }
};

struct SiteKernel {
  long* answers;
  K2K_DEVICE void operator()() const {
    const long first = k2k::fsync(k2k::kernel(1), k2k::relaxed, -1);
    const long second = k2k::fsync(k2k::kernel(1), k2k::relaxed, -1);
    const long beyond = k2k::fsync(k2k::kernel(64), k2k::relaxed, -1);
    if (k2k::item_rank() != 0) return;
    answers[0] = first;
    answers[1] = second;
    answers[2] = beyond;
  }
};

struct WaveWideKernel {
  int fd;
  int* right;
  K2K_DEVICE void operator()() const {
    char letter = 0;
    const bool mistaken = k2k::item_rank() % 4 == 1;
    const long answer =
        k2k::pread(k2k::work_item, k2k::wave_wide, mistaken ? -1 : fd, &letter, 1, 0);
    right[k2k::global_rank()] = mistaken ? answer == -EBADF : answer == 1 && letter == 'w';
  }
};

struct HaltingKernel {
  int fd;
  long pid;
  int* right;
  K2K_DEVICE void operator()() const {
    char letter = 0;
    const long got = k2k::read(k2k::work_item, k2k::halting, fd, &letter, 1);
    const long answer = k2k::getpid(k2k::work_group, k2k::halting);
    right[k2k::global_rank()] = got == 1 && letter == 'h' && answer == pid;
  }
};

struct TicketKernel {
  int fd;
  int* right;
  K2K_DEVICE void operator()() const {
    char first[4] = {};
    char second[4] = {};
    auto one = k2k::pread(k2k::work_item, k2k::async, fd, first, 4, 0);
    auto two = k2k::pread(k2k::work_item, k2k::async, fd, second, 4, 4);
    while (!two.ready()) k2k::yield();
    bool good = two.redeem() == 4 && same(second, "4567", 4);
    good = one.redeem() == 4 && same(first, "0123", 4) && good;
    right[k2k::global_rank()] = good && two.redeem() == -EINVAL;
  }
};

struct UnredeemedKernel {
  K2K_DEVICE void operator()() const { static_cast<void>(k2k::getpid(k2k::work_item, k2k::async)); }
};

struct DetachedKernel {
  int fd;
  K2K_DEVICE void operator()() const {
    char text[8];
    for (char& letter : text) letter = static_cast<char>('a' + k2k::item_rank() % 26);
    k2k::pwrite(k2k::work_item, k2k::detached, fd, text, sizeof(text),
                static_cast<std::int64_t>(k2k::global_rank() * sizeof(text)));
    for (char& letter : text) letter = '!';  // Ours again, at once.
    k2k::write(k2k::work_item, k2k::detached, -1, text, 1);
  }
};

struct StackKernel {
  int* right;
  K2K_DEVICE void operator()() const {
    const char path[] = "/proc/self/comm";
    struct stat status;
    char text[8] = {};
    const int fd = k2k::open(k2k::work_item, path, O_RDONLY | O_CLOEXEC).fd();
    bool good = fd >= 0 && k2k::fstat(k2k::work_item, fd, &status) == 0;
    good = good && (status.st_mode & S_IFMT) == S_IFREG;
    good = k2k::read(k2k::work_item, fd, text, 4) == 4 && text[4] == 0 && good;
    good = k2k::close(k2k::work_item, fd) == 0 && good;
    good = k2k::open(k2k::work_item, "/nowhere/at/all", 0) == -ENOENT && good;
    right[k2k::global_rank()] = good;
  }
};

struct PiecesKernel {
  int source;
  int target;
  char* memory;
  std::int64_t bytes;
  long* answers;
  K2K_DEVICE void operator()() const {
    std::int64_t done = 0;
    long first = 0;
    while (done < bytes) {
      const long count = k2k::pread(k2k::work_group, source, memory + done,
                                    static_cast<std::size_t>(bytes - done), done);
      if (count <= 0) break;
      if (done == 0) first = count;
      done += count;
    }
    const std::int64_t got = done;
    done = 0;
    while (done < bytes) {
      const long count = k2k::pwrite(k2k::work_group, target, memory + done,
                                     static_cast<std::size_t>(bytes - done), done);
      if (count <= 0) break;
      done += count;
    }
    if (k2k::item_rank() != 0) return;
    answers[0] = first;
    answers[1] = got;
    answers[2] = done;
  }
};

struct InPlaceKernel {
  int fd;
  char* memory;
  std::size_t bytes;
  long* answer;
  K2K_DEVICE void operator()() const { *answer = k2k::pread(k2k::work_item, fd, memory, bytes, 0); }
};

struct RefusedKernel {
  int fd;
  char* device;
  long* answers;
  K2K_DEVICE void operator()() const {
    char stack[16] = {};
    // Not a read: memory of allocate() is registered for reads where the device is a GPU.
    constexpr long getcwd_number = 79;
    answers[0] = k2k::syscall(k2k::work_item, k2k::strong, getcwd_number, device, 1);
    answers[1] = k2k::pread(k2k::work_item, fd, stack, 1, 0);
    answers[2] = k2k::syscall(k2k::work_item, k2k::strong, 5000, 1, 2, 3);
    answers[3] = k2k::syscall(k2k::work_item, k2k::strong, 231, 3);  // exit_group
  }
};

// A file of `bytes` by all items together: as a whole, across its end, behind it, and an error.
struct TogetherKernel {
  int fd;
  char* memory;
  std::size_t bytes;
  long* answers;  // Four an item.

  K2K_DEVICE void operator()() const {
    long* const mine = answers + 4 * k2k::global_rank();
    mine[0] = k2k::pread_together(fd, memory, bytes, 0);
    mine[1] = k2k::pread_together(fd, memory, bytes, 5'000);
    mine[2] = k2k::pread_together(fd, memory, bytes, static_cast<std::int64_t>(bytes));
    mine[3] = k2k::pread_together(-1, memory, bytes, 0);
  }
};

// Each item has a page of each region: it adds the first bytes of its copied page and its page of
// the file to its zero page, which is then written to a file by a call.
struct RegionsKernel {
  static constexpr std::size_t page = 4096;
  unsigned char* zeros;
  const unsigned char* copied;
  const unsigned char* file;
  int target;
  long* written;

  K2K_DEVICE void operator()() const {
    const std::size_t mine = k2k::global_rank() * page;
    zeros[mine] = static_cast<unsigned char>(zeros[mine] + copied[mine] + file[mine]);
    written[k2k::global_rank()] = k2k::pwrite(k2k::work_item, target, zeros + mine, 1,
                                              static_cast<std::int64_t>(k2k::global_rank()));
  }
};

// mmap() gives no address that the device cannot follow.
struct MapKernel {
  long* answers;
  K2K_DEVICE void operator()() const {
    constexpr int read_write = 3;
    constexpr int private_anonymous = 0x22;
    const Reply mapped =
        k2k::mmap(k2k::work_item, nullptr, 8192, read_write, private_anonymous, -1, 0);
    answers[0] = mapped.error();
    if (!mapped.ok()) return;
    auto* const bytes = static_cast<volatile char*>(mapped.address());
    bytes[8191] = 'm';
    answers[1] = bytes[8191];
    answers[2] = k2k::munmap(k2k::work_item, mapped.address(), 8192);
  }
};

// The expected word after all work-items of the launch did one operation each.
namespace atomic_word {
enum : std::uint32_t { added, taken, set, cleared, flipped, least, most, swapped, handed_on, sum };
inline constexpr std::uint32_t count = sum + 1;
}  // namespace atomic_word

template <class T>
struct AtomicsKernel {
  T* words;
  K2K_DEVICE void operator()() const {
    const auto me = static_cast<T>(k2k::global_rank());
    const auto bit = static_cast<T>(T{1} << (k2k::global_rank() % 31));
    const auto word = [this](std::uint32_t which) { return k2k::AtomicRef<T>(words[which]); };
    word(atomic_word::added).fetch_add(T{2}, k2k::memory_order_relaxed);
    word(atomic_word::taken).fetch_sub(T{1});
    word(atomic_word::set).fetch_or(bit, k2k::memory_order_release);
    word(atomic_word::cleared).fetch_and(static_cast<T>(~bit), k2k::memory_order_acquire);
    word(atomic_word::flipped).fetch_xor(static_cast<T>(me + 1));
    word(atomic_word::least).fetch_min(static_cast<T>(me - T{5}));
    word(atomic_word::most).fetch_max(static_cast<T>(me - T{5}), k2k::memory_order_relaxed);
    T seen = word(atomic_word::swapped).load(k2k::memory_order_relaxed);
    while (!word(atomic_word::swapped).compare_exchange(seen, static_cast<T>(seen + 3))) {
    }
    const T before = word(atomic_word::handed_on).exchange(static_cast<T>(me + 1));
    word(atomic_word::sum).fetch_add(before);
  }
};

// Plain data behind atomics: in the group by its local memory, in the launch by its last group,
// towards the host by a store.
struct HandOverKernel {
  std::uint64_t* plain;  // One a work-item.
  std::uint32_t* arrived;
  std::uint64_t* total;
  std::uint32_t* told;
  std::uint32_t* wrong;
  K2K_DEVICE void operator()() const {
    K2K_LOCAL(std::uint32_t[2], local);
    const std::uint32_t last = k2k::group_size() - 1;
    if (k2k::item_rank() == last) {
      local[0] = 7;
      k2k::AtomicRef(local[1]).store(1, k2k::memory_order_release, k2k::memory_scope_work_group);
    }
    const k2k::AtomicRef flag(local[1]);
    while (flag.load(k2k::memory_order_acquire, k2k::memory_scope_work_group) == 0) k2k::yield();
    if (local[0] != 7) k2k::AtomicRef(*wrong).fetch_add(1);
    plain[k2k::global_rank()] = k2k::global_rank();
    const std::uint32_t before = k2k::AtomicRef(*arrived).fetch_add(1);
    if (before + 1 != k2k::global_size()) return;
    for (std::uint64_t item = 0; item < k2k::global_size(); ++item) *total += plain[item];
    k2k::AtomicRef(*told).store(1, k2k::memory_order_release, k2k::memory_scope_system);
  }
};

struct StuckKernel {
  int started;
  int never;
  K2K_DEVICE void operator()() const {
    char letter = 's';
    k2k::write(k2k::work_item, started, &letter, 1);
    k2k::read(k2k::work_item, never, &letter, 1);
  }
};

}  // namespace
}  // namespace k2k::conformance
