#pragma once
// The device memory that calls use right now: a thread that frees memory waits for its calls.
//
//   a call     Using(first, last); continues only if its memory is still registered
//   a free     takes the range back; wait() until no earlier call uses it
//
// The two exchange one word a call by read-modify-writes, so one of them comes first: the free sees
// the call, or the call sees that the range is gone.
//
//   slot: free ──enter──▶ claimed (may be any memory) ──▶ known ──leave──▶ free
//
// Threading: any thread. A call that finds no slot is not waited for.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace k2k::shim {

class InUse {
 public:
  static constexpr std::size_t calls_max = 64;

  // The slot's number, or calls_max if there is none.
  std::size_t enter(std::uintptr_t first, std::uintptr_t last) {
    for (std::size_t at = 0; at < calls_max; ++at) {
      Slot& slot = slots_[at];
      State free = State::free;
      // Acquire and release: pairs with uses().
      if (!slot.state.compare_exchange_strong(free, State::claimed, std::memory_order_acq_rel)) {
        continue;
      }
      slot.first.store(first, std::memory_order_relaxed);
      slot.last.store(last, std::memory_order_relaxed);
      slot.state.store(State::known, std::memory_order_release);  // Pairs with uses().
      return at;
    }
    return calls_max;
  }
  void leave(std::size_t at) {
    // The call's accesses to the memory happen before its free; pairs with uses().
    if (at < calls_max) slots_[at].state.store(State::free, std::memory_order_release);
  }

  // Does any call use a byte of these? To be called after the range was taken back.
  [[nodiscard]] bool uses(std::uintptr_t first, std::uintptr_t last) {
    for (Slot& slot : slots_) {
      State state = State::free;
      // Writes the present value: this orders it with the writes of the calls.
      while (!slot.state.compare_exchange_weak(state, state, std::memory_order_acq_rel)) {
      }
      if (state == State::claimed) return true;
      const std::uintptr_t begin = slot.first.load(std::memory_order_relaxed);
      const std::uintptr_t end = slot.last.load(std::memory_order_relaxed);
      if (state == State::known && begin < last && end > first) return true;
    }
    return false;
  }
  // In the child of fork(): the calls are the parent's.
  void clear() {
    for (Slot& slot : slots_) slot.state.store(State::free, std::memory_order_relaxed);
  }

 private:
  enum class State : std::uint32_t { free, claimed, known };
  struct Slot {
    std::atomic<State> state{State::free};
    std::atomic<std::uintptr_t> first{0};
    std::atomic<std::uintptr_t> last{0};
  };

  Slot slots_[calls_max];
};

// One call, for a scope.
class Using {
 public:
  Using(InUse& in_use, std::uintptr_t first, std::uintptr_t last)
      : in_use_(in_use), slot_(in_use.enter(first, last)) {}
  ~Using() { in_use_.leave(slot_); }
  Using(const Using&) = delete;
  Using& operator=(const Using&) = delete;

 private:
  InUse& in_use_;
  const std::size_t slot_;
};

}  // namespace k2k::shim
