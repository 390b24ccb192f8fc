// For tests: plays scenes with memory of CUDA (cuda_scenes.cpp). Loads them, as interpreters load
// modules, so that no other library sees their libraries.
//
//   K2K_SCENES=LIBRARY cuda_loader SCENE FOLDER     "none": calls cudaMalloc() without a library

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "shim/tests/cuda_scenes.hpp"

namespace {

template <class Function>
Function* find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

// The search for cudaMalloc() finds libk2k_io.so's.
int call_none() {
  void* memory = nullptr;
  auto* const allocate = find<int(void**, std::size_t)>(RTLD_DEFAULT, "cudaMalloc");
  auto* const give_back = find<int(void*)>(RTLD_DEFAULT, "cudaFree");
  if (allocate == nullptr || give_back == nullptr) return std::puts("there is none"), 0;
  std::printf("%d %d\n", allocate(&memory, 100), give_back(memory));
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  if (std::strcmp(words[1], "none") == 0) return call_none();
  void* const library = dlopen(std::getenv("K2K_SCENES"), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 2;
  return find<decltype(cuda_play)>(library, "cuda_play")(words[1], words[2]);
}
