#pragma once
// The stacks of one compute unit: handed out, given back, and used again without being unmapped.
//
//   reserve  | spare | stack 0 | stack 1 | … |        address space, one range a unit
//              └ takes the overflow of stack 0, so that the check below sees it; its lowest
//                page is inaccessible
//
// Only pages that work-items touched take memory. A fibre given back runs its next work-item from
// the loop at its base; a fibre whose work-item was abandoned starts from its base again.
//
// Overflow: in debug builds the lowest page of a stack is inaccessible. Otherwise the stack pointer
// is compared at every switch, and when a work-item ends the lowest 64 bytes must still be zero
// (reading them takes no memory: untouched pages share one frame). crash_report.hpp reports an
// overflow that reaches unmapped memory.
//
// Threading: confined to the unit's thread; range() is constant.

#include <cstddef>
#include <cstdint>

#include "backend/cpu/fibre/fibre_switch.hpp"
#include "backend/cpu/fibre/sanitizers.hpp"
#include "backend/cpu/pages.hpp"

namespace k2k::backend::cpu {

// The C++ runtime keeps these for a thread; a work-item that waits inside a catch block or during
// unwinding takes them along.
struct ExceptionState {
  void* caught = nullptr;
  unsigned int uncaught = 0;
};

struct Fibre {
  Context context;
  SanitizerContext sanitizer;
  ExceptionState exceptions;
  std::byte* stack = nullptr;
  std::size_t top_offset = 0;
  Fibre* next_free = nullptr;
  bool fresh = true;  // Its context has to be prepared.
};

#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__)
inline constexpr bool guard_pages = false;
#else
inline constexpr bool guard_pages = true;
#endif

class FibrePool {
 public:
  // Every fibre runs `base`, which never returns. `range` is reserved for spare + `count`
  // stacks, see bytes_for().
  FibrePool(std::byte* range, std::uint32_t count, std::size_t stack_bytes, void (*base)());
  ~FibrePool();
  FibrePool(const FibrePool&) = delete;
  FibrePool& operator=(const FibrePool&) = delete;

  [[nodiscard]] bool usable() const { return !fibres_.empty(); }

  static std::size_t bytes_for(std::uint32_t count, std::size_t stack_bytes) {
    return (count + std::size_t{1}) * stride_for(stack_bytes);
  }

  // The fibre used last, so that its stack is warm. nullptr if the system refuses memory.
  Fibre* take();
  K2K_ALWAYS_INLINE void give_back(Fibre& fibre) {
    fibre.next_free = free_;
    free_ = &fibre;
  }
  // The work-item on it did not return and never will.
  void give_back_abandoned(Fibre& fibre);

  // Between launches, when all were given back: the memory of all stacks but the first few goes
  // back to the system.
  [[nodiscard]] bool worth_trimming() const { return created_ > kept_stacks; }
  void trim();
  static constexpr std::uint32_t kept_stacks = 1024;

  // Is it beyond its stack now? Cheap enough for every switch.
  [[nodiscard]] K2K_ALWAYS_INLINE bool beyond([[maybe_unused]] const Fibre& fibre) const {
#if defined(K2K_SWITCH_BY_UCONTEXT)
    return false;
#else
    return fibre.context.stack_pointer < fibre.stack;
#endif
  }
  // Has it ever been? Another page to look at, so only when a work-item ends.
  [[nodiscard]] K2K_ALWAYS_INLINE bool was_beyond(const Fibre& fibre) const {
    if (guard_pages) return false;
    const auto* canary = reinterpret_cast<const std::uint64_t*>(fibre.stack);
    return (canary[0] | canary[1] | canary[2] | canary[3] | canary[4] | canary[5] | canary[6] |
            canary[7]) != 0;
  }

 private:
  // Stacks a power of two apart would all meet in the same few sets of the caches. One page more
  // each, and a different line of the page to start at, spreads them over all of them.
  static std::size_t stride_for(std::size_t stack_bytes) { return stack_bytes + page_bytes; }
  bool commit_slab();

  std::byte* const range_;
  const std::uint32_t count_;
  const std::size_t stack_bytes_;
  const std::size_t stride_;
  void (*const base_)();
  Pages fibres_;                 // Fibre[count_]
  std::uint32_t created_ = 0;    // Fibres that exist.
  std::uint32_t committed_ = 0;  // Stacks that may be touched.
  Fibre* free_ = nullptr;
};

}  // namespace k2k::backend::cpu
