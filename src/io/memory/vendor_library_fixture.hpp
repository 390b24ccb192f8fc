#pragma once
// The library of vendor_fixture/, beside io's test program. For tests; never installed.

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "io/memory/vendor_fixture/control.hpp"

namespace k2k::io {

inline std::string vendor_library() {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  return folder.parent_path() / "io" / "libk2k_io_vendor.so";
}

inline vendor::Control& vendor_control() {
  void* const library = ::dlopen(vendor_library().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::abort();
  return *static_cast<vendor::Control*>(::dlsym(library, "k2k_vendor"));
}

}  // namespace k2k::io
