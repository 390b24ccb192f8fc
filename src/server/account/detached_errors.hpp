#pragma once
// Errors of detached calls, kept until they are drained.
//
// Counted by (call, errno), so their memory is bounded whatever a kernel does.
//
// Threading: any thread, under a lock, since errors are rare.

#include <map>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "calls/rows.hpp"
#include "server/account/stats.hpp"

namespace k2k::server {

inline std::string call_name(std::uint16_t number) {
  const int row = calls::find(number);
  return row < 0 ? "call " + std::to_string(number) : calls::shapes[row].name;
}

class DetachedErrors {
 public:
  void add(std::uint16_t number, int error) {
    const std::lock_guard lock(mutex_);
    try {
      ++counts_[{number, error}];
    } catch (const std::bad_alloc&) {
      ++untold_;
    }
  }
  [[nodiscard]] std::vector<DetachedError> list() const {
    const std::lock_guard lock(mutex_);
    return listed(counts_, untold_);
  }
  // Errors that other threads add meanwhile stay for the next drain.
  std::vector<DetachedError> take() {
    Counts taken;
    std::uint64_t untold = 0;
    {
      const std::lock_guard lock(mutex_);
      taken.swap(counts_);
      std::swap(untold, untold_);
    }
    return listed(taken, untold);
  }

 private:
  using Counts = std::map<std::pair<std::uint16_t, int>, std::uint64_t>;

  static std::vector<DetachedError> listed(const Counts& counts, std::uint64_t untold) {
    std::vector<DetachedError> errors;
    for (const auto& [key, count] : counts) {
      errors.push_back({call_name(key.first), key.second, count});
    }
    if (untold != 0) errors.push_back({"calls that there was no memory to tell apart", 0, untold});
    return errors;
  }

  mutable std::mutex mutex_;
  Counts counts_;
  std::uint64_t untold_ = 0;  // Errors for which there was no memory.
};

}  // namespace k2k::server
