// Runs all parts; the exit status is 1 if one was wrong.

#include <cstdio>

#include "emulator/cuda/tests/nvcc/parts.hpp"

int main() {
  const bool matrices = parts::matrices();
  const bool right = parts::clusters() && matrices;
  std::printf(right ? "all parts are right\n" : "a part is wrong\n");
  return right ? 0 : 1;
}
