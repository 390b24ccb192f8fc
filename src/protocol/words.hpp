#pragma once
// All accesses of K2K to words that device and host share.
//
// Two kinds of words exist, and they never mix:
//   * host-visible words: written by one owner at a time, plain release store and acquire load at
//     system scope. There is no read-modify-write on them: over PCIe it would not be atomic
//     towards the CPU (docs/decisions/0001).
//     A side that does not own a word may read it as a hint: store_hint and load_hint. A store that
//     only the device relies on is released at device scope (slot.hpp): at system scope a GPU waits
//     until the bus has taken all its earlier stores, about a microsecond.
//   * device words: lock words and counters in device memory, touched by the device alone with
//     compare-exchange, add, or and clear at device scope.
//
// C++17, freestanding; one body for g++/clang (`__atomic`), one for HIP, one for CUDA (inline PTX).

#include <cstdint>

#include "base/attributes.hpp"

namespace k2k::protocol {

#if defined(__CUDA_ARCH__)

// Addresses are generic: the same functions order words of local memory. K2K_HD, because callers on
// both sides name them; the host's pass has the other body.
K2K_HD inline std::uint32_t load_acquire(const std::uint32_t* word) {
  std::uint32_t value;
  asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}
K2K_HD inline std::uint64_t load_acquire(const std::uint64_t* word) {
  std::uint64_t value;
  asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}
K2K_HD inline void store_release(std::uint32_t* word, std::uint32_t value) {
  asm volatile("st.release.sys.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}
K2K_HD inline void store_release(std::uint64_t* word, std::uint64_t value) {
  asm volatile("st.release.sys.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}
K2K_HD inline std::uint32_t load_hint(const std::uint32_t* word) {
  std::uint32_t value;
  asm volatile("ld.relaxed.sys.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}
K2K_HD inline std::uint64_t load_hint(const std::uint64_t* word) {
  std::uint64_t value;
  asm volatile("ld.relaxed.sys.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}
K2K_HD inline void store_hint(std::uint32_t* word, std::uint32_t value) {
  asm volatile("st.relaxed.sys.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}
K2K_HD inline void store_hint(std::uint64_t* word, std::uint64_t value) {
  asm volatile("st.relaxed.sys.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}
K2K_HD inline std::uint64_t device_load(const std::uint64_t* word) {
  std::uint64_t value;
  asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}
K2K_HD inline std::uint32_t device_load(const std::uint32_t* word) {
  std::uint32_t value;
  asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}
K2K_HD inline void device_store(std::uint64_t* word, std::uint64_t value) {
  asm volatile("st.release.gpu.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}
K2K_HD inline void device_store(std::uint32_t* word, std::uint32_t value) {
  asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}
// True if *word was `expected` and is now `desired`.
K2K_HD inline bool device_compare_exchange(std::uint64_t* word, std::uint64_t expected,
                                           std::uint64_t desired) {
  std::uint64_t seen;
  asm volatile("atom.acq_rel.gpu.cas.b64 %0, [%1], %2, %3;"
               : "=l"(seen)
               : "l"(word), "l"(expected), "l"(desired)
               : "memory");
  return seen == expected;
}
K2K_HD inline bool device_compare_exchange(std::uint32_t* word, std::uint32_t expected,
                                           std::uint32_t desired) {
  std::uint32_t seen;
  asm volatile("atom.acq_rel.gpu.cas.b32 %0, [%1], %2, %3;"
               : "=r"(seen)
               : "l"(word), "r"(expected), "r"(desired)
               : "memory");
  return seen == expected;
}
K2K_HD inline std::uint64_t device_add(std::uint64_t* word, std::uint64_t amount) {
  std::uint64_t seen;
  asm volatile("atom.acq_rel.gpu.add.u64 %0, [%1], %2;"
               : "=l"(seen)
               : "l"(word), "l"(amount)
               : "memory");
  return seen;
}
K2K_HD inline std::uint32_t device_add(std::uint32_t* word, std::uint32_t amount) {
  std::uint32_t seen;
  asm volatile("atom.acq_rel.gpu.add.u32 %0, [%1], %2;"
               : "=r"(seen)
               : "l"(word), "r"(amount)
               : "memory");
  return seen;
}
// Returns the word's previous value.
K2K_HD inline std::uint64_t device_or(std::uint64_t* word, std::uint64_t bits) {
  std::uint64_t seen;
  asm volatile("atom.acq_rel.gpu.or.b64 %0, [%1], %2;"
               : "=l"(seen)
               : "l"(word), "l"(bits)
               : "memory");
  return seen;
}
// A release. It returns nothing, so the caller does not wait for the result.
K2K_HD inline void device_clear(std::uint64_t* word, std::uint64_t bits) {
  asm volatile("red.release.gpu.and.b64 [%0], %1;" ::"l"(word), "l"(~bits) : "memory");
}
K2K_HD inline void fence_system() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }
// A release, together with the fence_system() that the caller made before and after which it stored
// nothing else.
K2K_HD inline void store_after_fence(std::uint32_t* word, std::uint32_t value) {
  store_hint(word, value);
}

#else

#if defined(__HIP_DEVICE_COMPILE__)
#define K2K_SCOPED_LOAD(word, order, scope) __hip_atomic_load(word, order, scope)
#define K2K_SCOPED_STORE(word, value, order, scope) __hip_atomic_store(word, value, order, scope)
#define K2K_SYSTEM_SCOPE __HIP_MEMORY_SCOPE_SYSTEM
#define K2K_AGENT_SCOPE __HIP_MEMORY_SCOPE_AGENT
#else
#define K2K_SCOPED_LOAD(word, order, scope) __atomic_load_n(word, order)
#define K2K_SCOPED_STORE(word, value, order, scope) __atomic_store_n(word, value, order)
#endif

template <class Word>
K2K_HD inline Word load_acquire(const Word* word) {
  return K2K_SCOPED_LOAD(word, __ATOMIC_ACQUIRE, K2K_SYSTEM_SCOPE);
}
template <class Word>
K2K_HD inline void store_release(Word* word, Word value) {
  K2K_SCOPED_STORE(word, value, __ATOMIC_RELEASE, K2K_SYSTEM_SCOPE);
}
template <class Word>
K2K_HD inline Word load_hint(const Word* word) {
  return K2K_SCOPED_LOAD(word, __ATOMIC_RELAXED, K2K_SYSTEM_SCOPE);
}
template <class Word>
K2K_HD inline void store_hint(Word* word, Word value) {
  K2K_SCOPED_STORE(word, value, __ATOMIC_RELAXED, K2K_SYSTEM_SCOPE);
}
template <class Word>
K2K_HD inline Word device_load(const Word* word) {
  return K2K_SCOPED_LOAD(word, __ATOMIC_ACQUIRE, K2K_AGENT_SCOPE);
}
template <class Word>
K2K_HD inline void device_store(Word* word, Word value) {
  K2K_SCOPED_STORE(word, value, __ATOMIC_RELEASE, K2K_AGENT_SCOPE);
}
// True if *word was `expected` and is now `desired`.
template <class Word>
K2K_HD inline bool device_compare_exchange(Word* word, Word expected, Word desired) {
#if defined(__HIP_DEVICE_COMPILE__)
  return __hip_atomic_compare_exchange_strong(word, &expected, desired, __ATOMIC_ACQ_REL,
                                              __ATOMIC_ACQUIRE, K2K_AGENT_SCOPE);
#else
  return __atomic_compare_exchange_n(word, &expected, desired, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE);
#endif
}
// Sequentially consistent on the cpu backend: a server that parks relies on it
// (backend/cpu/server_parking.hpp).
template <class Word>
K2K_HD inline Word device_add(Word* word, Word amount) {
#if defined(__HIP_DEVICE_COMPILE__)
  return __hip_atomic_fetch_add(word, amount, __ATOMIC_ACQ_REL, K2K_AGENT_SCOPE);
#else
  return __atomic_fetch_add(word, amount, __ATOMIC_SEQ_CST);
#endif
}
// Returns the word's previous value.
template <class Word>
K2K_HD inline Word device_or(Word* word, Word bits) {
#if defined(__HIP_DEVICE_COMPILE__)
  return __hip_atomic_fetch_or(word, bits, __ATOMIC_ACQ_REL, K2K_AGENT_SCOPE);
#else
  return __atomic_fetch_or(word, bits, __ATOMIC_ACQ_REL);
#endif
}
// A release: gives up the resources that the bits represent.
template <class Word>
K2K_HD inline void device_clear(Word* word, Word bits) {
#if defined(__HIP_DEVICE_COMPILE__)
  __hip_atomic_fetch_and(word, static_cast<Word>(~bits), __ATOMIC_RELEASE, K2K_AGENT_SCOPE);
#else
  __atomic_fetch_and(word, static_cast<Word>(~bits), __ATOMIC_RELEASE);
#endif
}
// Buffers the caller wrote become visible to the host before the next release store. On a CPU the
// release store alone does that, so nothing is left to do (and TSan does not see bare fences).
K2K_HD inline void fence_system() {
#if defined(__HIP_DEVICE_COMPILE__)
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "");  // "" = system scope.
#endif
}

// Here the store itself is the release: TSan does not see fences.
template <class Word>
K2K_HD inline void store_after_fence(Word* word, Word value) {
  store_release(word, value);
}

#undef K2K_SCOPED_LOAD
#undef K2K_SCOPED_STORE
#undef K2K_SYSTEM_SCOPE
#undef K2K_AGENT_SCOPE

#endif

// Which threads run the device's code. Many threads, except on a cpu backend with one compute unit.
// There no other access can come between a load and a store, and a read-modify-write without a
// locked instruction need not wait until the caches have completed all earlier stores (measured:
// 0.1 us of a round trip of 0.4). A parking server pays instead, with a heavy barrier
// (backend/cpu/server_parking.hpp).
enum class DeviceScope : std::uint32_t { many_threads, one_thread };

template <class Word>
K2K_HD inline bool device_compare_exchange([[maybe_unused]] DeviceScope scope, Word* word,
                                           Word expected, Word desired) {
#if !defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__)
  if (scope == DeviceScope::one_thread) {
    if (device_load(word) != expected) return false;
    device_store(word, desired);
    return true;
  }
#endif
  return device_compare_exchange(word, expected, desired);
}

template <class Word>
K2K_HD inline Word device_add([[maybe_unused]] DeviceScope scope, Word* word, Word amount) {
#if !defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__)
  if (scope == DeviceScope::one_thread) {
    const Word before = device_load(word);
    device_store(word, static_cast<Word>(before + amount));
    return before;
  }
#endif
  return device_add(word, amount);
}

template <class Word>
K2K_HD inline Word device_or([[maybe_unused]] DeviceScope scope, Word* word, Word bits) {
#if !defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__)
  if (scope == DeviceScope::one_thread) {
    const Word before = device_load(word);
    device_store(word, static_cast<Word>(before | bits));
    return before;
  }
#endif
  return device_or(word, bits);
}

template <class Word>
K2K_HD inline void device_clear([[maybe_unused]] DeviceScope scope, Word* word, Word bits) {
#if !defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__)
  if (scope == DeviceScope::one_thread) {
    device_store(word, static_cast<Word>(device_load(word) & ~bits));
    return;
  }
#endif
  device_clear(word, bits);
}

}  // namespace k2k::protocol
