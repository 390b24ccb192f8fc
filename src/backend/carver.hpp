#pragma once
// Divides one allocation into parts with their own cache lines: words of different writers never
// share a line.
//
// Threading: as for any value.

#include <cstddef>
#include <cstdint>

namespace k2k::backend {

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Hands out parts of a range one after the other; with no range it only counts.
template <std::size_t line_bytes>
class Carver {
 public:
  // Expects a range that begins on a line; host or device memory.
  explicit Carver(void* base) : base_(reinterpret_cast<std::uintptr_t>(base)) {}
  template <class T>
  T* take(std::size_t count) {
    const std::size_t begin = used();
    used_ = begin + count * sizeof(T);
    return base_ == 0 ? nullptr : reinterpret_cast<T*>(base_ + begin);
  }
  // In whole lines.
  [[nodiscard]] std::size_t used() const { return round_up(used_, line_bytes); }

 private:
  std::uintptr_t base_;
  std::size_t used_ = 0;
};

}  // namespace k2k::backend
