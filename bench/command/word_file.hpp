#pragma once
// A file in memory with the search words of ./dev demo.
//
// Threading: one thread.

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "base/descriptor.hpp"
#include "demo_words.hpp"

namespace k2k::bench {

// The destructor removes the file.
class WordFile {
 public:
  WordFile() : file_(::memfd_create("k2k-bench-words", 0)) {
    const std::size_t bytes = sizeof(demo_words) - 1;
    ok_ = file_.number() >= 0 &&
          ::write(file_.number(), demo_words, bytes) == static_cast<ssize_t>(bytes);
  }
  [[nodiscard]] bool ok() const { return ok_; }
  // A path for this process' children, which inherit the descriptor.
  [[nodiscard]] std::string path() const {
    return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file_.number());
  }

 private:
  Descriptor file_;
  bool ok_ = false;
};

}  // namespace k2k::bench
