#pragma once
// A file descriptor of K2K itself (own_descriptors.hpp); the destructor closes it. The limit of
// files' lengths.
//
// Threading: one owner.

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "base/own_descriptors.hpp"

namespace k2k {

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) { set_own(number_, true); }
  ~Descriptor() {
    if (number_ < 0) return;
    set_own(number_, false);  // First: after close(), another thread may get the number.
    ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  // The program closed it: the number is not K2K's any more, and is not to be closed.
  void forget() { set_own(std::exchange(number_, -1), false); }
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool open() const { return number_ >= 0; }

 private:
  int number_;
};

// May the process make its files so long (RLIMIT_FSIZE)? A write that reaches beyond is cut or
// refused, with SIGXFSZ, which ends the process.
inline bool file_may_reach(std::uint64_t bytes) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes <= limit.rlim_cur;
}

}  // namespace k2k
