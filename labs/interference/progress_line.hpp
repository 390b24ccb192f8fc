#pragma once
// One line on a terminal that says what a laboratory is at, rewritten, and gone at the end. Nothing
// where standard error is no terminal.
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

 private:
  std::size_t total_;
  std::size_t done_ = 0;
  bool shown_;
};

}  // namespace k2k::labs
