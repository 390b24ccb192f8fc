#pragma once
// Checks for bugs of K2K itself: a violated contract ends the process with one line that names it.
//
// Not for external failures (return a Result), and not for a caller's mistakes (return an errno).

#include <cstdio>
#include <cstdlib>

namespace k2k {

[[noreturn]] inline void broken_contract(const char* promise, const char* file, int line) {
  std::fprintf(stderr, "k2k: broken contract: %s (%s:%d); please report this\n", promise, file,
               line);
  std::abort();
}

}  // namespace k2k

#define K2K_EXPECT(condition) \
  ((condition) ? void() : ::k2k::broken_contract(#condition, __FILE__, __LINE__))
