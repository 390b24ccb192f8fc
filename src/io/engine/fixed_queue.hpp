#pragma once
// A FIFO queue of fixed capacity, allocated once.
//
// Threading: one owner, or a lock shared by its users.

#include <cstddef>
#include <vector>

#include "base/contract.hpp"

namespace k2k::io {

template <class T>
class FixedQueue {
 public:
  explicit FixedQueue(std::size_t capacity) : items_(capacity) {}

  [[nodiscard]] std::size_t size() const { return size_; }

  // Expects size() < capacity.
  void push(const T& item) {
    K2K_EXPECT(size_ < items_.size());
    items_[(first_ + size_++) % items_.size()] = item;
  }

  // Expects size() > 0.
  T pop() {
    K2K_EXPECT(size_ > 0);
    const T& item = items_[first_];
    first_ = (first_ + 1) % items_.size();
    --size_;
    return item;
  }

 private:
  std::vector<T> items_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace k2k::io
