#pragma once
// The sleeps of a thread that checks a condition again and again: each is twice as long as the one
// before, up to a maximum.
//
// Threading: an object belongs to one thread.

#include <algorithm>
#include <thread>

#include "base/units.hpp"

namespace k2k {

class Naps {
 public:
  Naps(Nanoseconds first, Nanoseconds longest) : next_(first), longest_(longest) {}

  // Sleeps.
  void take() {
    std::this_thread::sleep_for(next_);
    next_ = std::min(next_ * 2, longest_);
  }
  [[nodiscard]] Nanoseconds next() const { return next_; }

 private:
  Nanoseconds next_;
  const Nanoseconds longest_;
};

}  // namespace k2k
