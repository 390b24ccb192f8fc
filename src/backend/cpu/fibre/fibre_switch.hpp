#pragma once
// Leaving one stack and continuing on another: the heart of the executor.
//
// x86-64 has its own switch of a dozen instructions: the compiler saves live registers, the switch
// swaps the stack pointer. Signal masks and the floating-point control words are not part of a
// work-item. Elsewhere, or with -DK2K_UCONTEXT, the C library's ucontext does it, about a hundred
// times slower.
//
// Threading: a context belongs to one thread. Sanitizers are told around the switch
// (sanitizers.hpp), not here. Compiled without ThreadSanitizer's instrumentation.

#include <cstddef>

#if defined(K2K_UCONTEXT) || !defined(__x86_64__)
#define K2K_SWITCH_BY_UCONTEXT 1
#include <ucontext.h>
#endif

namespace k2k::backend::cpu {

struct Context {
#if defined(K2K_SWITCH_BY_UCONTEXT)
  ucontext_t registers;
#else
  void* stack_pointer = nullptr;
#endif
};

// The next switch to `context` calls `entry` on this stack. `entry` never returns.
void prepare_context(Context& context, std::byte* stack, std::size_t stack_bytes, void (*entry)());

#if defined(K2K_SWITCH_BY_UCONTEXT)

inline void switch_context(Context& from, Context& to) {
  swapcontext(&from.registers, &to.registers);
}

#else

// Inline, without a call or a return: every call of the two stacks keeps its own return, so the
// processor's return predictor stays right. (As a function it cost 45 ns a round trip instead
// of 10.)
__attribute__((always_inline)) inline void switch_context(Context& from, Context& to) {
  void** save = &from.stack_pointer;
  void* next = to.stack_pointer;
  asm volatile(
      "leaq -128(%%rsp), %%rsp\n\t"  // The red zone of a leaf function.
      "pushq %%rbp\n\t"
      "pushq %%rbx\n\t"
      "leaq 1f(%%rip), %%rax\n\t"
      "pushq %%rax\n\t"
      "movq %%rsp, (%0)\n\t"
      "movq %1, %%rsp\n\t"
      "popq %%rax\n\t"
      "jmp *%%rax\n"
      "1:\n\t"
      "popq %%rbx\n\t"
      "popq %%rbp\n\t"
      "leaq 128(%%rsp), %%rsp"
      : "+D"(save), "+S"(next)
      :
      : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1",
        "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
        "xmm13", "xmm14", "xmm15", "memory", "cc");
}

#endif

}  // namespace k2k::backend::cpu
