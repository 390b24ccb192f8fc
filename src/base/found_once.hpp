#pragma once
// A value that a process computes once, without a lock. So a child of fork() finds it known or
// unknown, and never waits for a thread that the child does not have. A static variable of a
// function has a guard, on which such a child would wait for ever.
//
// Several threads may compute the value at once; the first result is kept. It is never freed.
//
// Threading: any thread.

#include <atomic>
#include <memory>
#include <utility>

namespace k2k {

template <class Value>
class FoundOnce {
 public:
  constexpr FoundOnce() = default;

  // nullptr: not computed yet.
  [[nodiscard]] const Value* known() const {
    return known_.load(std::memory_order_acquire);  // Pairs with keep().
  }
  const Value& keep(Value value) {
    auto made = std::make_unique<const Value>(std::move(value));
    const Value* before = nullptr;
    if (!known_.compare_exchange_strong(before, made.get(), std::memory_order_acq_rel,
                                        std::memory_order_acquire)) {
      return *before;
    }
    return *made.release();
  }
  template <class Find>
  const Value& get(const Find& find) {
    const Value* const value = known();
    return value != nullptr ? *value : keep(find());
  }

 private:
  std::atomic<const Value*> known_{nullptr};
};

}  // namespace k2k
