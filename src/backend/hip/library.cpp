#include "backend/hip/library.hpp"

#include <dlfcn.h>
#include <unistd.h>

namespace k2k::backend::hip {

namespace {

// The first one that is there. That of ROCm 5 is too old, and this is said by its version.
constexpr const char* sonames[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                   "libamdhip64.so"};
// HIP 6.0: clang writes code objects of version 5, and gfx942 came with it.
constexpr int hip_version_min = 60'000'000;
constexpr int version_of_major = 10'000'000;
constexpr int version_of_minor = 100'000;

void* open_named(const std::string& name) {
  if (!name.empty()) return ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  for (const char* const soname : sonames) {
    if (void* const handle = ::dlopen(soname, RTLD_NOW | RTLD_LOCAL)) return handle;
  }
  return nullptr;
}

template <class Function>
void find(void* handle, const char* name, Function& function, std::string& missing) {
  function = reinterpret_cast<Function>(::dlsym(handle, name));
  if (function == nullptr && missing.empty()) missing = name;
}

}  // namespace

Error no_hip(const std::string& why, const std::string& remedy) {
  return gpu::no_device("HIP", why, remedy);
}

std::string version_text(int version) {
  return std::to_string(version / version_of_major) + "." +
         std::to_string(version % version_of_major / version_of_minor);
}

std::string Library::words(Code code) const {
  return gpu::words_of(code, error_name(code), error_string(code));
}

Result<Library> Library::load(const std::string& name) {
  const bool node = ::access("/dev/kfd", F_OK) == 0;
  void* const handle = open_named(name);
  if (handle == nullptr) {
    const char* const reason = ::dlerror();
    return no_hip((name.empty() ? std::string("libamdhip64") : name) + " cannot be loaded (" +
                      (reason == nullptr ? "no reason given" : reason) + ")",
                  node ? "/dev/kfd is there, the library is not: install ROCm's HIP runtime 6.0 or "
                         "later"
                       : "there is no /dev/kfd either: install AMD's driver and ROCm 6.0 or later "
                         "where there is a GPU");
  }
  Library library;
  std::string missing;
  find(handle, "hipGetErrorName", library.error_name, missing);
  find(handle, "hipGetErrorString", library.error_string, missing);
#define K2K_HIP_FIND(member, name, parameters) find(handle, #name, library.member, missing);
  K2K_HIP_ENTRIES(K2K_HIP_FIND)
#undef K2K_HIP_FIND
  if (!missing.empty()) {
    return no_hip("the HIP runtime has no " + missing, "install ROCm 6.0 or later");
  }
  if (const Code code = library.init(0); code != gpu::success) {
    return no_hip("hipInit: " + library.words(code),
                  node ? "see rocminfo and dmesg" : "there is no /dev/kfd: load the driver amdgpu");
  }
  int version = 0;
  if (const Code code = library.version(&version); code != gpu::success) {
    return no_hip("hipRuntimeGetVersion: " + library.words(code), "install ROCm 6.0 or later");
  }
  if (version < hip_version_min) {
    return no_hip("the HIP runtime has version " + version_text(version) + ", kernels need " +
                      version_text(hip_version_min),
                  "install ROCm 6.0 or later");
  }
  return library;
}

}  // namespace k2k::backend::hip
