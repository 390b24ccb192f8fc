#pragma once
// A full barrier for a handshake in which both sides do store, barrier, load, but one side does it
// a million times as often. The rare side pays the cost.
//
//   often   store; light_barrier_then_load(word)   a plain load
//   seldom  store; heavy_barrier(); load           membarrier(2): every running thread of the
//                                                  process passes a full barrier, about 2-10 us
//
// If Linux has no membarrier, the light side uses a read-modify-write, and so does the heavy side.
//
// Threading: anywhere. register_asymmetric_barrier() once before the others.

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace k2k {

inline std::atomic<bool> asymmetric{false};

inline void register_asymmetric_barrier() noexcept {
  const int errno_before = errno;
  const long registered = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
  if (registered == 0) asymmetric.store(true, std::memory_order_relaxed);
  errno = errno_before;
}

inline void heavy_barrier() noexcept {
  if (!asymmetric.load(std::memory_order_relaxed)) return;
  const int errno_before = errno;
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) {
    // A forked child may have to register again.
    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  }
  errno = errno_before;
}

template <class Word>
inline Word light_barrier_then_load(std::atomic<Word>& word) noexcept {
  if (!asymmetric.load(std::memory_order_relaxed)) {
    return word.fetch_add(0, std::memory_order_seq_cst);
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);  // The compiler keeps the order, too.
  return word.load(std::memory_order_relaxed);
}

}  // namespace k2k
