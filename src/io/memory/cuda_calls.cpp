#include "io/memory/cuda_calls.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cerrno>

namespace k2k::io::cuda {

namespace {

Error none(const std::string& why, const std::string& mend) {
  return Error{ENODEV, fmt::format("CUDA memory: {}; {}", why, mend)};
}

}  // namespace

Result<Calls> Calls::load(const std::string& library) {
  void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return none(fmt::format("{} cannot be loaded ({})", library, ::dlerror()),
                "install NVIDIA's driver where there is a GPU, or start the container with the "
                "NVIDIA runtime");
  }
  Calls calls;
#define K2K_IO_CUDA_FIND(member, name, ...)                                            \
  calls.member = reinterpret_cast<decltype(calls.member)>(::dlsym(handle, name));      \
  if (calls.member == nullptr) {                                                       \
    return none(fmt::format("{} has no {}", library, name), "install a newer driver"); \
  }
  K2K_IO_CUDA_ENTRIES(K2K_IO_CUDA_FIND)
#undef K2K_IO_CUDA_FIND
  if (const Code code = calls.init(0); code != success) {
    return none("the driver does not start: " + calls.words(code), "see nvidia-smi and dmesg");
  }
  int devices = 0;
  if (const Code code = calls.device_count(&devices); code != success || devices == 0) {
    return none(code != success ? calls.words(code) : "the driver shows no device",
                "see nvidia-smi and CUDA_VISIBLE_DEVICES");
  }
  return calls;
}

std::string Calls::words(Code code) const {
  const char* name = nullptr;
  const char* text = nullptr;
  error_name(code, &name);
  error_string(code, &text);
  return fmt::format("{} ({})", name == nullptr ? "an error without a name" : name,
                     text == nullptr ? std::to_string(code) : text);
}

int errno_of(Code code) {
  switch (code) {
    case success:
      return 0;
    case out_of_memory:
      return ENOMEM;
    case not_initialized:
    case deinitialized:
    case no_device:
      return ENODEV;
    case invalid_value:  // The address, for all else is ours.
    case illegal_address:
      return EFAULT;
    default:
      return EIO;
  }
}

}  // namespace k2k::io::cuda
