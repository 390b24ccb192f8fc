// The functions of HIP's run-time library that clang's code for the host calls: it registers a
// program's kernels before main(). Defined here, so that a program with kernels for HIP links and
// starts without libamdhip64; the backend loads that library when it is needed.
//
//   clang's constructor ─▶ __hipRegisterFatBinary(image) ─▶ __hipRegisterFunction(stub, name)
//   DeviceKernel::load() ─▶ k2k_hip_kernel(stub) ─▶ the image and the name
//
// A library of its own, linked only by such programs. A program that launches kernels by HIP's own
// <<<>>>, too, cannot link it: it needs AMD's functions of the same names.
//
// Threading: registrations come from constructors, also of libraries that are opened later; a
// mutex.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <unordered_map>

#include "backend/hip/hip_kernel.hpp"

using k2k::backend::hip::HipKernel;

namespace {

// As clang writes it (CGCUDANV.cpp of LLVM): one for each source.
struct FatBinary {
  std::uint32_t magic;
  std::uint32_t version;
  const void* image;
  const void* unused;
};
constexpr std::uint32_t fat_binary_magic = 0x48495046;  // "HIPF"

struct Image {
  const void* bytes = nullptr;
  bool registered = true;
};

struct Registry {
  std::mutex mutex;
  std::deque<Image> images;  // Their addresses are clang's handles.
  std::unordered_map<const void*, HipKernel> kernels;
};

// Never destroyed: clang's destructors unregister after those of this file.
Registry& registry() {
  static auto* const all = new Registry;
  return *all;
}

}  // namespace

extern "C" {

const HipKernel* k2k_hip_kernel(const void* stub) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto found = all.kernels.find(stub);
  return found == all.kernels.end() ? nullptr : &found->second;
}

void** __hipRegisterFatBinary(const void* wrapper) {
  const auto& binary = *static_cast<const FatBinary*>(wrapper);
  if (binary.magic != fat_binary_magic) {
    std::fprintf(stderr,
                 "k2k: the kernels of this program were embedded by a compiler that K2K does not "
                 "know (magic %08x): compile them with clang 19 (./dev build --preset hip)\n",
                 binary.magic);
    std::abort();
  }
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  return reinterpret_cast<void**>(&all.images.emplace_back(Image{binary.image}));
}

void __hipRegisterFunction(void** image, const void* stub, char* /*name of the stub*/,
                           const char* name, unsigned, void*, void*, void*, void*, int*) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.kernels[stub] = HipKernel{reinterpret_cast<const Image*>(image)->bytes, name};
}

// A kernel's variables on the device: K2K's kernels have none that the host reads.
void __hipRegisterVar(void**, void*, char*, char*, int, std::size_t, int, int) {}

// A library was closed.
void __hipUnregisterFatBinary(void** image) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto* const closed = reinterpret_cast<const Image*>(image);
  for (auto at = all.kernels.begin(); at != all.kernels.end();) {
    at = at->second.image == closed->bytes ? all.kernels.erase(at) : std::next(at);
  }
}

// Stubs call these two; only <<<>>> calls stubs.
int __hipPopCallConfiguration(void*, void*, std::size_t*, void*) { return 0; }

int hipLaunchKernel() {
  std::fputs(
      "k2k: a kernel was launched by <<<>>>, but this program is linked to K2K's registration of "
      "kernels: launch it by k2k::Runtime::launch(), or link libamdhip64\n",
      stderr);
  std::abort();
}

}  // extern "C"
