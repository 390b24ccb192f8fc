#pragma once
// Lines on standard error while a benchmark or a laboratory runs, in a terminal and in a log: what
// is done, and the time that is left. At most one line in ten seconds, so a short run prints none.
//
// Threading: one call at a time.

#include <cstddef>
#include <string>

#include "base/clock.hpp"

namespace k2k::bench {

// Of a program's name: "bench demand: 3 of 20 rounds, about 71 s left"
std::string progress_line(const std::string& name, std::size_t done, std::size_t all,
                          const char* what, double seconds_left);

class Progress {
 public:
  // `what`: is counted, in the plural.
  Progress(std::string name, const char* what);

  // `done` of about `all` are done. Parts are taken to last equally long.
  void tell(std::size_t done, std::size_t all);

 private:
  std::string name_;
  const char* what_;
  Instant begin_;
  Instant told_;
};

}  // namespace k2k::bench
