#include "labs/interference/progress_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace k2k::labs {

ProgressLine::ProgressLine(std::size_t total) : total_(total), shown_(isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
}

void ProgressLine::next(const std::string& what) {
  ++done_;
  again(what);
}

void ProgressLine::again(const std::string& what) {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K[{}/{}] {}", done_, total_, what);
  std::fflush(stderr);
}

}  // namespace k2k::labs
