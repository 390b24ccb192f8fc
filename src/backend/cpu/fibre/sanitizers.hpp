#pragma once
// Tells ThreadSanitizer and AddressSanitizer of fibres, so that they check device code.
//
// ThreadSanitizer: every fibre is a thread of its own, and a switch orders nothing. The edges that
// the model promises are declared one by one with release() and acquire() on a token:
//   launch begins → every work-item; every work-item → launch ends; barrier; ballot and shuffle.
// So two work-items that share data without a barrier are reported although one OS thread runs
// both. The scheduler itself is compiled without instrumentation (src/backend/CMakeLists.txt) and
// ignores the accesses that intercepted C library calls would record for it: its own data would be
// seen to race between fibres, and an edge through it would hide races of the kernel. In those
// files use no inline function that instrumented files use too unless it is always inlined
// (std::atomic of integers is): the linker keeps one copy of each.
//
// AddressSanitizer: is told which stack is current.
//
// Without a sanitizer everything here is empty. Threading: call on the thread that switches.

#include <cstddef>

#if defined(K2K_TSAN)
#include <sanitizer/tsan_interface.h>
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#define K2K_ALWAYS_INLINE __attribute__((always_inline)) inline

namespace k2k::backend::cpu {

// A place where happens-before edges meet. Two bytes apart suffice, a word is simple.
using EdgeToken = unsigned long;

K2K_ALWAYS_INLINE void release_edge([[maybe_unused]] EdgeToken& token) {
#if defined(K2K_TSAN)
  __tsan_release(&token);
#endif
}
K2K_ALWAYS_INLINE void acquire_edge([[maybe_unused]] EdgeToken& token) {
#if defined(K2K_TSAN)
  __tsan_acquire(&token);
#endif
}

// The record that a sanitizer keeps of one stack of execution.
struct SanitizerContext {
#if defined(K2K_TSAN)
  void* thread = nullptr;
#endif
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack = nullptr;
  const void* stack = nullptr;
  std::size_t stack_bytes = 0;
#endif
};

// The calling thread, before it first switches. Its stack is learnt at the first arrival.
K2K_ALWAYS_INLINE void adopt_thread([[maybe_unused]] SanitizerContext& context) {
#if defined(K2K_TSAN)
  context.thread = __tsan_get_current_fiber();
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
}
K2K_ALWAYS_INLINE void release_thread() {
#if defined(K2K_TSAN)
  AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#endif
}

// A fibre before its first work-item, and again after one was abandoned on it.
K2K_ALWAYS_INLINE void adopt_stack([[maybe_unused]] SanitizerContext& context,
                                   [[maybe_unused]] const std::byte* stack,
                                   [[maybe_unused]] std::size_t bytes) {
#if defined(K2K_TSAN)
  if (context.thread != nullptr) __tsan_destroy_fiber(context.thread);
  context.thread = __tsan_create_fiber(0);
#endif
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(stack, bytes);  // Frames that never returned.
  context.fake_stack = nullptr;
  context.stack = stack;
  context.stack_bytes = bytes;
#endif
}
K2K_ALWAYS_INLINE void forget_stack([[maybe_unused]] SanitizerContext& context) {
#if defined(K2K_TSAN)
  if (context.thread != nullptr) __tsan_destroy_fiber(context.thread);
  context.thread = nullptr;
#endif
}

// Around a switch: leave() before it on the old stack, arrive() behind it on that stack again.
K2K_ALWAYS_INLINE void leave([[maybe_unused]] SanitizerContext& from,
                             [[maybe_unused]] SanitizerContext& to) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&from.fake_stack, to.stack, to.stack_bytes);
#endif
#if defined(K2K_TSAN)
  __tsan_switch_to_fiber(to.thread, __tsan_switch_to_fiber_no_sync);
#endif
}
// `from` is where the switch came from; its stack is filled in if it is a thread's.
K2K_ALWAYS_INLINE void arrive([[maybe_unused]] SanitizerContext& here,
                              [[maybe_unused]] SanitizerContext& from) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(here.fake_stack, &from.stack, &from.stack_bytes);
#endif
}

// Says the edge for a work-item that will never say it itself: it was abandoned on `fibre`.
K2K_ALWAYS_INLINE void release_edge_of([[maybe_unused]] SanitizerContext& fibre,
                                       [[maybe_unused]] SanitizerContext& here,
                                       [[maybe_unused]] EdgeToken& token) {
#if defined(K2K_TSAN)
  __tsan_switch_to_fiber(fibre.thread, __tsan_switch_to_fiber_no_sync);
  __tsan_release(&token);
  __tsan_switch_to_fiber(here.thread, __tsan_switch_to_fiber_no_sync);
#endif
}

// Zeroes memory of which no work-item may remember anything. Not by memset(): under
// ThreadSanitizer the interceptor would make it an access that races with the last users.
void zero_fresh(std::byte* memory, std::size_t bytes);

}  // namespace k2k::backend::cpu
