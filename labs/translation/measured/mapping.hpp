#pragma once
// Memory that mmap(2) gave, until the owner goes.
//
// Threading: confined to one thread.

#include <cstddef>
#include <utility>

#include "base/result.hpp"

namespace k2k::labs::translation {

class Mapping {
 public:
  // Errors: as mmap(2).
  static Result<Mapping> create(std::size_t bytes, int protection, int flags, int file);
  ~Mapping();
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  Mapping& operator=(Mapping&&) = delete;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  [[nodiscard]] char* data() const { return data_; }

 private:
  Mapping(char* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
  char* data_;
  std::size_t bytes_;
};

// Private memory of zeros, to read and to write; `flags` beside those of such memory.
Result<Mapping> anonymous(std::size_t bytes, int flags = 0);

}  // namespace k2k::labs::translation
