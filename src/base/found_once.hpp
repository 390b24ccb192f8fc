#pragma once
// What a process finds out once, without a lock: a child of fork() finds it known or not, never
// under way by a thread that the child does not have. A static variable of a function has a guard
// that such a child would wait for for ever.
//
// Several threads may find it out at once; the first to be done is believed. It is never freed.
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

  // nullptr: not yet.
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
