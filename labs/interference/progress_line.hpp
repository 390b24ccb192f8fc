#pragma once
// One line on a terminal that shows the current step of a laboratory. It is rewritten, and erased
// at the end. Prints nothing if standard error is not a terminal.
//
// Threading: one thread.

#include <cstddef>
#include <string>

namespace k2k::labs {

class ProgressLine {
 public:
  explicit ProgressLine(std::size_t total);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void next(const std::string& what);
  // Rewrites the current step's text.
  void again(const std::string& what);

 private:
  std::size_t total_;
  std::size_t done_ = 0;
  bool shown_;
};

}  // namespace k2k::labs
