#pragma once
// A condition that another thread makes true: a test waits up to ten seconds for it.

#include <chrono>
#include <functional>
#include <thread>

namespace k2k::router {

inline bool comes_true(const std::function<bool()>& condition) {
  for (int wait = 0; wait < 2000; ++wait) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

}  // namespace k2k::router
