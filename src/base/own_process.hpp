#pragma once
// The memory and the threads without which K2K cannot continue: slots, rings and the rest of the
// syscall area, private memory of units, threads that K2K started and their stacks. A kernel must
// not unmap, protect, move or discard this memory, nor signal these threads
// (services/own_process.hpp).
//
// Tables of fixed size, searched one by one: calls that change memory or send signals are rare.
// Ranges beyond own_ranges_max and threads beyond own_threads_max count as the program's.
//
// Threading: the functions from anywhere, without a lock. An OwnMemory has one owner at a time, an
// OwnThread lives on its thread.

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace k2k {

inline constexpr std::size_t own_page_bytes = 4096;
inline constexpr std::size_t own_ranges_max = 1024;
inline constexpr std::size_t own_threads_max = 1024;

struct OwnRange {
  std::atomic<std::uintptr_t> first{0};  // 0 = free.
  std::atomic<std::uintptr_t> last{0};   // The byte after the end; 0 = the range meets nothing.
};
inline constinit OwnRange own_ranges[own_ranges_max] = {};
inline constinit std::atomic<std::size_t> own_ranges_end{
    0};  // Ranges from here on were never used.
inline constinit std::atomic<pid_t> own_threads[own_threads_max] = {};  // 0 = free.

// Is one of these bytes K2K's own? A range that exceeds the address space ends with it.
inline bool meets_own_memory(std::uintptr_t first, std::uint64_t bytes) {
  if (bytes == 0) return false;
  const std::uintptr_t last = bytes > UINTPTR_MAX - first ? UINTPTR_MAX : first + bytes;
  const std::size_t end = own_ranges_end.load(std::memory_order_acquire);  // Pairs: OwnMemory().
  for (std::size_t index = 0; index < end; ++index) {
    const OwnRange& range = own_ranges[index];
    if (first < range.last.load(std::memory_order_acquire) &&  // Pairs with OwnMemory().
        last > range.first.load(std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

inline bool is_own_thread(pid_t thread) {
  if (thread <= 0) return false;
  for (const std::atomic<pid_t>& own : own_threads) {
    if (own.load(std::memory_order_relaxed) == thread) return true;
  }
  return false;
}

// Its range, in whole pages, is K2K's own while this object lives.
class OwnMemory {
 public:
  OwnMemory() = default;
  OwnMemory(const void* memory, std::size_t bytes) {
    if (memory == nullptr || bytes == 0) return;
    constexpr std::uintptr_t in_page = own_page_bytes - 1;
    const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(memory) & ~in_page;
    const std::uintptr_t last =
        (reinterpret_cast<std::uintptr_t>(memory) + bytes + in_page) & ~in_page;
    for (std::size_t index = 0; index < own_ranges_max; ++index) {
      OwnRange& range = own_ranges[index];
      std::uintptr_t free = 0;
      if (!range.first.compare_exchange_strong(free, first)) continue;
      range.last.store(last, std::memory_order_release);  // Pairs with meets_own_memory().
      std::size_t end = own_ranges_end.load(std::memory_order_relaxed);
      while (end <= index && !own_ranges_end.compare_exchange_weak(end, index + 1)) {
      }
      range_ = &range;
      return;
    }
  }
  OwnMemory(OwnMemory&& other) noexcept : range_(std::exchange(other.range_, nullptr)) {}
  OwnMemory& operator=(OwnMemory&& other) noexcept {
    std::swap(range_, other.range_);
    return *this;
  }
  ~OwnMemory() {
    if (range_ == nullptr) return;
    range_->last.store(0, std::memory_order_relaxed);
    range_->first.store(0, std::memory_order_release);  // Free only once it meets nothing.
  }

 private:
  OwnRange* range_ = nullptr;
};

// The calling thread and its stack are K2K's own while this object lives.
class OwnThread {
 public:
  OwnThread() : stack_(stack_of_this_thread()) {
    for (std::atomic<pid_t>& place : own_threads) {
      pid_t free = 0;
      if (!place.compare_exchange_strong(free, ::gettid())) continue;
      place_ = &place;
      return;
    }
  }
  OwnThread(const OwnThread&) = delete;
  OwnThread& operator=(const OwnThread&) = delete;
  ~OwnThread() {
    if (place_ != nullptr) place_->store(0);
  }

 private:
  // Nothing if the system has no memory to answer.
  static OwnMemory stack_of_this_thread() {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
    void* lowest = nullptr;
    std::size_t bytes = 0;
    const bool known = pthread_attr_getstack(&attributes, &lowest, &bytes) == 0;
    pthread_attr_destroy(&attributes);
    return known ? OwnMemory(lowest, bytes) : OwnMemory();
  }

  OwnMemory stack_;
  std::atomic<pid_t>* place_ = nullptr;
};

}  // namespace k2k
