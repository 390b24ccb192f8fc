#pragma once
// Memory of a workload that kernels write, and tables that they read without page faults: shared by
// host and device, whichever device it is.
//
// Threading: confined to one thread; kernels use data(). The runtime must outlive it.

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "k2k/runtime.hpp"

namespace k2k::labs::generators {

template <class T>
class Output {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  // Errors: as Runtime::allocate_shared().
  static Result<Output> create(Runtime& runtime, std::size_t count, const T& first = T{}) {
    const Result<void*> memory = runtime.allocate_shared(count * sizeof(T));
    if (!memory) return memory.error();
    Output made(runtime, static_cast<T*>(memory.value()), count);
    std::fill(made.begin(), made.end(), first);
    return Result<Output>(std::move(made));
  }
  static Result<Output> copy_of(Runtime& runtime, const std::vector<T>& values) {
    Result<Output> made = create(runtime, values.size());
    if (made) std::copy(values.begin(), values.end(), made->begin());
    return made;
  }
  ~Output() { runtime_->free_shared(values_); }
  Output(Output&& other) noexcept
      : runtime_(other.runtime_),
        values_(std::exchange(other.values_, nullptr)),
        count_(other.count_) {}
  Output& operator=(Output&&) = delete;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  [[nodiscard]] T* data() const { return values_; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] T* begin() const { return values_; }
  [[nodiscard]] T* end() const { return values_ + count_; }
  [[nodiscard]] T& operator[](std::size_t place) const { return values_[place]; }

 private:
  Output(Runtime& runtime, T* values, std::size_t count)
      : runtime_(&runtime), values_(values), count_(count) {}

  Runtime* runtime_;
  T* values_;
  std::size_t count_;
};

}  // namespace k2k::labs::generators
