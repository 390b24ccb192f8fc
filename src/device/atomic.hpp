#pragma once
// Atomics for kernels: ordered operations on a word that work-items share, the same on every
// device.
//
//   k2k::AtomicRef(count).fetch_add(1);
//   k2k::AtomicRef(flag).store(1, k2k::memory_order_release, k2k::memory_scope_system);
//
//   order  memory_order_relaxed | _acquire | _release | _acq_rel   default: the strongest possible
//   scope  memory_scope_work_group | _device (default) | _system   the sharers of the word
//
// There is no sequential consistency: GPUs implement it by fences, which ThreadSanitizer does not
// see. At system scope, towards the host and other devices, only load and store exist: over PCIe a
// read-modify-write is not atomic towards the CPU (founding decision 1). Combinations that cannot
// work do not compile. On the cpu backend every scope is equally strong.
//
// C++17, freestanding; bodies as in protocol/words.hpp. Threading: from anywhere, the host too.

#include <cstdint>
#include <type_traits>

#include "base/attributes.hpp"

namespace k2k {

enum class MemoryOrder : std::uint8_t { relaxed, acquire, release, acq_rel };
enum class MemoryScope : std::uint8_t { work_group, device, system };

namespace device {

template <MemoryOrder order>
struct InOrder {};
template <MemoryScope scope>
struct InScope {};

}  // namespace device

inline constexpr device::InOrder<MemoryOrder::relaxed> memory_order_relaxed{};
inline constexpr device::InOrder<MemoryOrder::acquire> memory_order_acquire{};
inline constexpr device::InOrder<MemoryOrder::release> memory_order_release{};
inline constexpr device::InOrder<MemoryOrder::acq_rel> memory_order_acq_rel{};
inline constexpr device::InScope<MemoryScope::work_group> memory_scope_work_group{};
inline constexpr device::InScope<MemoryScope::device> memory_scope_device{};
inline constexpr device::InScope<MemoryScope::system> memory_scope_system{};

namespace device::atomics {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

#if defined(__CUDA_ARCH__)

// One instruction: `sem` and `at` are PTX's words, `kind` the type, `reg` the constraint.
#define K2K_PTX_LOAD(sem, at, kind, reg) \
  asm volatile("ld." sem "." at ".u" kind " %0, [%1];" : "=" reg(seen) : "l"(word) : "memory")
#define K2K_PTX_STORE(sem, at, kind, reg) \
  asm volatile("st." sem "." at ".u" kind " [%0], %1;" ::"l"(word), reg(value) : "memory")
#define K2K_PTX_MODIFY(name, sem, at, kind, reg)                     \
  asm volatile("atom." sem "." at "." name "." kind " %0, [%1], %2;" \
               : "=" reg(seen)                                       \
               : "l"(word), reg(value)                               \
               : "memory")
#define K2K_PTX_EXCHANGE(sem, at, kind, reg) K2K_PTX_MODIFY("exch", sem, at, "b" kind, reg)
#define K2K_PTX_ADD(sem, at, kind, reg) K2K_PTX_MODIFY("add", sem, at, "u" kind, reg)
#define K2K_PTX_AND(sem, at, kind, reg) K2K_PTX_MODIFY("and", sem, at, "b" kind, reg)
#define K2K_PTX_OR(sem, at, kind, reg) K2K_PTX_MODIFY("or", sem, at, "b" kind, reg)
#define K2K_PTX_XOR(sem, at, kind, reg) K2K_PTX_MODIFY("xor", sem, at, "b" kind, reg)
#define K2K_PTX_MIN_U(sem, at, kind, reg) K2K_PTX_MODIFY("min", sem, at, "u" kind, reg)
#define K2K_PTX_MAX_U(sem, at, kind, reg) K2K_PTX_MODIFY("max", sem, at, "u" kind, reg)
#define K2K_PTX_MIN_S(sem, at, kind, reg) K2K_PTX_MODIFY("min", sem, at, "s" kind, reg)
#define K2K_PTX_MAX_S(sem, at, kind, reg) K2K_PTX_MODIFY("max", sem, at, "s" kind, reg)
#define K2K_PTX_SWAP(sem, at, kind, reg)                             \
  asm volatile("atom." sem "." at ".cas.b" kind " %0, [%1], %2, %3;" \
               : "=" reg(seen)                                       \
               : "l"(word), reg(expected), reg(value)                \
               : "memory")
// By width, by scope, by order: each branch but one is discarded.
#define K2K_PTX_WIDTHS(what, sem, at) \
  if constexpr (sizeof(T) == 8) {     \
    what(sem, at, "64", "l");         \
  } else {                            \
    what(sem, at, "32", "r");         \
  }
#define K2K_PTX_SCOPES(what, sem)                      \
  if constexpr (scope == MemoryScope::work_group) {    \
    K2K_PTX_WIDTHS(what, sem, "cta")                   \
  } else if constexpr (scope == MemoryScope::device) { \
    K2K_PTX_WIDTHS(what, sem, "gpu")                   \
  } else {                                             \
    K2K_PTX_WIDTHS(what, sem, "sys")                   \
  }
#define K2K_PTX_ORDERS(what)                            \
  if constexpr (order == MemoryOrder::relaxed) {        \
    K2K_PTX_SCOPES(what, "relaxed")                     \
  } else if constexpr (order == MemoryOrder::acquire) { \
    K2K_PTX_SCOPES(what, "acquire")                     \
  } else if constexpr (order == MemoryOrder::release) { \
    K2K_PTX_SCOPES(what, "release")                     \
  } else {                                              \
    K2K_PTX_SCOPES(what, "acq_rel")                     \
  }

template <MemoryOrder order, MemoryScope scope, class T>
K2K_HD inline T load(const T* word) {
  Bits<T> seen;
  if constexpr (order == MemoryOrder::relaxed) {
    K2K_PTX_SCOPES(K2K_PTX_LOAD, "relaxed")
  } else {
    K2K_PTX_SCOPES(K2K_PTX_LOAD, "acquire")
  }
  return static_cast<T>(seen);
}
template <MemoryOrder order, MemoryScope scope, class T>
K2K_HD inline void store(T* word, T given) {
  const auto value = static_cast<Bits<T>>(given);
  if constexpr (order == MemoryOrder::relaxed) {
    K2K_PTX_SCOPES(K2K_PTX_STORE, "relaxed")
  } else {
    K2K_PTX_SCOPES(K2K_PTX_STORE, "release")
  }
}
// Returns the previous value; `given` is stored if that equals `wanted`.
template <MemoryOrder order, MemoryScope scope, class T>
K2K_HD inline T swap_if(T* word, T wanted, T given) {
  const auto expected = static_cast<Bits<T>>(wanted);
  const auto value = static_cast<Bits<T>>(given);
  Bits<T> seen;
  K2K_PTX_ORDERS(K2K_PTX_SWAP)
  return static_cast<T>(seen);
}
// Each returns the previous value.
#define K2K_ATOMIC_MODIFY(name, of_unsigned, of_signed)    \
  template <MemoryOrder order, MemoryScope scope, class T> \
  K2K_HD inline T name(T* word, T given) {                 \
    const auto value = static_cast<Bits<T>>(given);        \
    Bits<T> seen;                                          \
    if constexpr (std::is_signed_v<T>) {                   \
      K2K_PTX_ORDERS(of_signed)                            \
    } else {                                               \
      K2K_PTX_ORDERS(of_unsigned)                          \
    }                                                      \
    return static_cast<T>(seen);                           \
  }
K2K_ATOMIC_MODIFY(exchange, K2K_PTX_EXCHANGE, K2K_PTX_EXCHANGE)
K2K_ATOMIC_MODIFY(add, K2K_PTX_ADD, K2K_PTX_ADD)
K2K_ATOMIC_MODIFY(bit_and, K2K_PTX_AND, K2K_PTX_AND)
K2K_ATOMIC_MODIFY(bit_or, K2K_PTX_OR, K2K_PTX_OR)
K2K_ATOMIC_MODIFY(bit_xor, K2K_PTX_XOR, K2K_PTX_XOR)
K2K_ATOMIC_MODIFY(least, K2K_PTX_MIN_U, K2K_PTX_MIN_S)
K2K_ATOMIC_MODIFY(most, K2K_PTX_MAX_U, K2K_PTX_MAX_S)

#undef K2K_ATOMIC_MODIFY
#undef K2K_PTX_ORDERS
#undef K2K_PTX_SCOPES
#undef K2K_PTX_WIDTHS
#undef K2K_PTX_SWAP
#undef K2K_PTX_MAX_S
#undef K2K_PTX_MIN_S
#undef K2K_PTX_MAX_U
#undef K2K_PTX_MIN_U
#undef K2K_PTX_XOR
#undef K2K_PTX_OR
#undef K2K_PTX_AND
#undef K2K_PTX_ADD
#undef K2K_PTX_EXCHANGE
#undef K2K_PTX_MODIFY
#undef K2K_PTX_STORE
#undef K2K_PTX_LOAD

#else

template <MemoryOrder order>
inline constexpr int built_in = order == MemoryOrder::relaxed   ? __ATOMIC_RELAXED
                                : order == MemoryOrder::acquire ? __ATOMIC_ACQUIRE
                                : order == MemoryOrder::release ? __ATOMIC_RELEASE
                                                                : __ATOMIC_ACQ_REL;
// A failed compare-exchange stores nothing.
template <MemoryOrder order>
inline constexpr int built_in_load =
    order == MemoryOrder::relaxed || order == MemoryOrder::release ? __ATOMIC_RELAXED
                                                                   : __ATOMIC_ACQUIRE;

#if defined(__HIP_DEVICE_COMPILE__)
template <MemoryScope scope>
inline constexpr int hip_scope = scope == MemoryScope::work_group ? __HIP_MEMORY_SCOPE_WORKGROUP
                                 : scope == MemoryScope::device   ? __HIP_MEMORY_SCOPE_AGENT
                                                                  : __HIP_MEMORY_SCOPE_SYSTEM;
#define K2K_ATOMIC(hip, host, ...) hip(__VA_ARGS__, built_in<order>, hip_scope<scope>)
#else
#define K2K_ATOMIC(hip, host, ...) host(__VA_ARGS__, built_in<order>)
#endif

template <MemoryOrder order, MemoryScope scope, class T>
K2K_HD inline T load(const T* word) {
  return K2K_ATOMIC(__hip_atomic_load, __atomic_load_n, word);
}
template <MemoryOrder order, MemoryScope scope, class T>
K2K_HD inline void store(T* word, T value) {
  K2K_ATOMIC(__hip_atomic_store, __atomic_store_n, word, value);
}
// Returns the previous value; `value` is stored if that equals `expected`.
template <MemoryOrder order, MemoryScope scope, class T>
K2K_HD inline T swap_if(T* word, T expected, T value) {
#if defined(__HIP_DEVICE_COMPILE__)
  __hip_atomic_compare_exchange_strong(word, &expected, value, built_in<order>,
                                       built_in_load<order>, hip_scope<scope>);
#else
  __atomic_compare_exchange_n(word, &expected, value, false, built_in<order>, built_in_load<order>);
#endif
  return expected;
}
// Each returns the previous value.
#define K2K_ATOMIC_MODIFY(name, hip, host)                 \
  template <MemoryOrder order, MemoryScope scope, class T> \
  K2K_HD inline T name(T* word, T value) {                 \
    return K2K_ATOMIC(hip, host, word, value);             \
  }
K2K_ATOMIC_MODIFY(exchange, __hip_atomic_exchange, __atomic_exchange_n)
K2K_ATOMIC_MODIFY(add, __hip_atomic_fetch_add, __atomic_fetch_add)
K2K_ATOMIC_MODIFY(bit_and, __hip_atomic_fetch_and, __atomic_fetch_and)
K2K_ATOMIC_MODIFY(bit_or, __hip_atomic_fetch_or, __atomic_fetch_or)
K2K_ATOMIC_MODIFY(bit_xor, __hip_atomic_fetch_xor, __atomic_fetch_xor)
#undef K2K_ATOMIC_MODIFY
#undef K2K_ATOMIC

#if defined(__HIP_DEVICE_COMPILE__)
template <MemoryOrder order, MemoryScope scope, class T>
K2K_HD inline T least(T* word, T value) {
  return __hip_atomic_fetch_min(word, value, built_in<order>, hip_scope<scope>);
}
template <MemoryOrder order, MemoryScope scope, class T>
K2K_HD inline T most(T* word, T value) {
  return __hip_atomic_fetch_max(word, value, built_in<order>, hip_scope<scope>);
}
#else
// An exchange even if the value stays the same: it has the order of a store.
template <MemoryOrder order, MemoryScope scope, class T>
K2K_HD inline T least(T* word, T value) {
  T seen = load<MemoryOrder::relaxed, scope>(word);
  while (true) {
    const T before = swap_if<order, scope>(word, seen, value < seen ? value : seen);
    if (before == seen) return seen;
    seen = before;
  }
}
template <MemoryOrder order, MemoryScope scope, class T>
K2K_HD inline T most(T* word, T value) {
  T seen = load<MemoryOrder::relaxed, scope>(word);
  while (true) {
    const T before = swap_if<order, scope>(word, seen, value > seen ? value : seen);
    if (before == seen) return seen;
    seen = before;
  }
}
#endif

#endif

}  // namespace device::atomics

// A word that work-items and the host share. While any of them uses it, all must use only these
// operations. T is an integer of 32 or 64 bits; the word must outlive the reference. fetch_* return
// the previous value; fetch_add and fetch_sub wrap around.
template <class T>
class AtomicRef {
  static_assert(std::is_integral_v<T> && !std::is_same_v<T, bool> &&
                    (sizeof(T) == 4 || sizeof(T) == 8),
                "AtomicRef takes integers of 32 or 64 bits");

 public:
  K2K_HD explicit AtomicRef(T& word) : word_(&word) {}

  template <MemoryOrder order = MemoryOrder::acquire, MemoryScope scope = MemoryScope::device>
  K2K_HD T load(device::InOrder<order> = {}, device::InScope<scope> = {}) const {
    static_assert(order == MemoryOrder::relaxed || order == MemoryOrder::acquire,
                  "a load is relaxed or acquire: it writes nothing that it could release");
    return device::atomics::load<order, scope>(word_);
  }
  template <MemoryOrder order = MemoryOrder::release, MemoryScope scope = MemoryScope::device>
  K2K_HD void store(T value, device::InOrder<order> = {}, device::InScope<scope> = {}) const {
    static_assert(order == MemoryOrder::relaxed || order == MemoryOrder::release,
                  "a store is relaxed or release: it reads nothing that it could acquire");
    device::atomics::store<order, scope>(word_, value);
  }
  template <MemoryOrder order = MemoryOrder::acq_rel, MemoryScope scope = MemoryScope::device>
  K2K_HD T exchange(T value, device::InOrder<order> = {}, device::InScope<scope> = {}) const {
    check<scope>();
    return device::atomics::exchange<order, scope>(word_, value);
  }
  // Returns true if the word was `expected` and is now `desired`; otherwise sets `expected` to its
  // value. Never fails spuriously.
  template <MemoryOrder order = MemoryOrder::acq_rel, MemoryScope scope = MemoryScope::device>
  K2K_HD bool compare_exchange(T& expected, T desired, device::InOrder<order> = {},
                               device::InScope<scope> = {}) const {
    check<scope>();
    const T wanted = expected;
    expected = device::atomics::swap_if<order, scope>(word_, wanted, desired);
    return expected == wanted;
  }
  template <MemoryOrder order = MemoryOrder::acq_rel, MemoryScope scope = MemoryScope::device>
  K2K_HD T fetch_add(T value, device::InOrder<order> = {}, device::InScope<scope> = {}) const {
    check<scope>();
    return device::atomics::add<order, scope>(word_, value);
  }
  template <MemoryOrder order = MemoryOrder::acq_rel, MemoryScope scope = MemoryScope::device>
  K2K_HD T fetch_sub(T value, device::InOrder<order> = {}, device::InScope<scope> = {}) const {
    check<scope>();
    using Bits = device::atomics::Bits<T>;
    const Bits negative = Bits{0} - static_cast<Bits>(value);
    return device::atomics::add<order, scope>(word_, static_cast<T>(negative));
  }
  template <MemoryOrder order = MemoryOrder::acq_rel, MemoryScope scope = MemoryScope::device>
  K2K_HD T fetch_and(T value, device::InOrder<order> = {}, device::InScope<scope> = {}) const {
    check<scope>();
    return device::atomics::bit_and<order, scope>(word_, value);
  }
  template <MemoryOrder order = MemoryOrder::acq_rel, MemoryScope scope = MemoryScope::device>
  K2K_HD T fetch_or(T value, device::InOrder<order> = {}, device::InScope<scope> = {}) const {
    check<scope>();
    return device::atomics::bit_or<order, scope>(word_, value);
  }
  template <MemoryOrder order = MemoryOrder::acq_rel, MemoryScope scope = MemoryScope::device>
  K2K_HD T fetch_xor(T value, device::InOrder<order> = {}, device::InScope<scope> = {}) const {
    check<scope>();
    return device::atomics::bit_xor<order, scope>(word_, value);
  }
  template <MemoryOrder order = MemoryOrder::acq_rel, MemoryScope scope = MemoryScope::device>
  K2K_HD T fetch_min(T value, device::InOrder<order> = {}, device::InScope<scope> = {}) const {
    check<scope>();
    return device::atomics::least<order, scope>(word_, value);
  }
  template <MemoryOrder order = MemoryOrder::acq_rel, MemoryScope scope = MemoryScope::device>
  K2K_HD T fetch_max(T value, device::InOrder<order> = {}, device::InScope<scope> = {}) const {
    check<scope>();
    return device::atomics::most<order, scope>(word_, value);
  }

 private:
  template <MemoryScope scope>
  K2K_HD static constexpr void check() {
    static_assert(
        scope != MemoryScope::system,
        "at system scope there are load and store alone: over PCIe a read-modify-write is "
        "not atomic towards the CPU (docs/decisions/0000-founding.md); use memory_scope_device");
  }

  T* word_;
};

}  // namespace k2k
