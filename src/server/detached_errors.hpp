#pragma once
// The completion ledger: what went wrong with calls nobody waited for, kept until drained.
//
// Counted by (call, errno), so it is bounded whatever a kernel does.
//
// Threading: any thread; a lock, since errors are rare.

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "calls/rows.hpp"
#include "server/stats.hpp"

namespace k2k::server {

inline std::string call_name(std::uint16_t number) {
  const int row = calls::find(number);
  return row < 0 ? "call " + std::to_string(number) : calls::rows[row].name;
}

class DetachedErrors {
 public:
  void add(std::uint16_t number, int error) {
    const std::lock_guard lock(mutex_);
    ++counts_[{number, error}];
  }
  [[nodiscard]] std::vector<DetachedError> list() const {
    const std::lock_guard lock(mutex_);
    return listed(counts_);
  }
  // What is added meanwhile stays for the next one.
  std::vector<DetachedError> take() {
    Counts taken;
    {
      const std::lock_guard lock(mutex_);
      taken.swap(counts_);
    }
    return listed(taken);
  }

 private:
  using Counts = std::map<std::pair<std::uint16_t, int>, std::uint64_t>;

  static std::vector<DetachedError> listed(const Counts& counts) {
    std::vector<DetachedError> errors;
    for (const auto& [key, count] : counts) {
      errors.push_back({call_name(key.first), key.second, count});
    }
    return errors;
  }

  mutable std::mutex mutex_;
  Counts counts_;
};

}  // namespace k2k::server
