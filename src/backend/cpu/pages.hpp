#pragma once
// An owner of address space in pages: zeroed, and without cost until it is accessed.
//
// All memory with a size that depends on the configuration (slots, stacks, work-items) lies in such
// mappings, so an idle device of any size takes almost no memory.
//
// Threading: as any owner; the user synchronises access to the mapped bytes.

#include <sys/mman.h>

#include <cstddef>
#include <utility>

#include "backend/carver.hpp"

namespace k2k::backend::cpu {

inline constexpr std::size_t page_bytes = 4096;

class Pages {
 public:
  enum class Access { read_write, none };

  Pages() = default;
  // Empty if the system refuses.
  explicit Pages(std::size_t bytes, Access access = Access::read_write)
      : bytes_(round_up(bytes, page_bytes)) {
    const int protection = access == Access::none ? PROT_NONE : PROT_READ | PROT_WRITE;
    void* const address =
        mmap(nullptr, bytes_, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address != MAP_FAILED) data_ = static_cast<std::byte*>(address);
  }
  Pages(Pages&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Pages() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return data_ == nullptr ? 0 : bytes_; }
  [[nodiscard]] bool empty() const { return data_ == nullptr; }
  template <class T>
  [[nodiscard]] T* as() const {
    return reinterpret_cast<T*>(data_);
  }
  // Does any of these bytes lie inside? With `length` 0, the first byte counts.
  [[nodiscard]] bool overlaps(const void* address, std::size_t length) const {
    const auto* begin = static_cast<const std::byte*>(address);
    return data_ != nullptr && begin < data_ + bytes_ && begin + (length == 0 ? 1 : length) > data_;
  }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace k2k::backend::cpu
