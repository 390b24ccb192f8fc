#include "backend/cuda/driver.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>

namespace k2k::backend::cuda {

namespace {

constexpr int driver_version_min = 13000;  // CUDA 13.0: this backend is compiled with it.

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Error none(const std::string& why, const std::string& fix) {
  return Error{ENODEV,
               "no CUDA device can be used: " + why + "; " + fix + ", or set backend = \"cpu\""};
}

Result<Driver> open_driver() {
  const bool node = ::access("/dev/nvidiactl", F_OK) == 0;
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return none(
        "libcuda.so.1 cannot be loaded (" + std::string(::dlerror()) + ")",
        node ? "the driver's module is there, its library is not: install libcuda1, or start "
               "the container with the NVIDIA runtime"
             : "there is no /dev/nvidiactl either: install NVIDIA's driver 580 or later "
               "where there is a GPU");
  }
  Driver driver;
#define K2K_CUDA_TEXT(name) #name
#define K2K_CUDA_FIND(name)                                                                     \
  driver.name = reinterpret_cast<decltype(driver.name)>(::dlsym(library, K2K_CUDA_TEXT(name))); \
  if (driver.name == nullptr) {                                                                 \
    return none("the driver is too old: it has no " K2K_CUDA_TEXT(name),                        \
                "install driver 580 or later");                                                 \
  }
  K2K_CUDA_ENTRIES(K2K_CUDA_FIND)
#undef K2K_CUDA_FIND
#undef K2K_CUDA_TEXT
  int version = 0;
  driver.cuDriverGetVersion(&version);
  const CUresult started = driver.cuInit(0);
  if (started != CUDA_SUCCESS) {
    return none("cuInit: " + driver.words(started),
                node ? "see nvidia-smi and dmesg" : "there is no /dev/nvidiactl: load the driver");
  }
  if (version < driver_version_min) {
    return none("the driver knows CUDA " + version_text(version) + ", kernels need " +
                    version_text(driver_version_min),
                "install driver 580 or later");
  }
  return driver;
}

}  // namespace

Result<const Driver*> Driver::load() {
  static const Result<Driver> driver = open_driver();
  if (!driver) return driver.error();
  return &driver.value();
}

std::string Driver::words(CUresult result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &text);
  return std::string(name == nullptr ? "unknown error" : name) + " (" +
         (text == nullptr ? std::to_string(result) : text) + ")";
}

Status Driver::call(CUresult result, const std::string& what) const {
  if (result == CUDA_SUCCESS) return {};
  const int code = result == CUDA_ERROR_OUT_OF_MEMORY ? ENOMEM : EIO;
  return Error{code, "the CUDA driver could not " + what + ": " + words(result)};
}

}  // namespace k2k::backend::cuda
