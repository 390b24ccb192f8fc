#include "runtime/backends.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>

#include "backend/cpu/cpu.hpp"
#include "backend/trace/trace.hpp"
#if defined(K2K_HAS_CUDA)
#include "backend/cuda/cuda.hpp"
#endif
#if defined(K2K_HAS_HIP)
#include "backend/hip/hip.hpp"
#endif

namespace k2k::runtime {

namespace {

struct Entry {
  const char* name;
  Result<std::unique_ptr<backend::Backend>> (*create)(const backend::DeviceConfig&);
};

constexpr Entry entries[] = {
    {"cpu", backend::cpu::create},
    {"trace", backend::trace::create},
#if defined(K2K_HAS_CUDA)
    {"cuda", backend::cuda::create},
#endif
#if defined(K2K_HAS_HIP)
    {"hip", backend::hip::create},
#endif
};

}  // namespace

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const Entry& entry : entries) names.emplace_back(entry.name);
  return names;
}

Result<std::unique_ptr<backend::Backend>> create_backend(const std::string& name,
                                                         const backend::DeviceConfig& config) {
  for (const Entry& entry : entries) {
    if (name == entry.name) return entry.create(config);
  }
  const bool gpu = name == "cuda" || name == "hip";  // Names of presets, too.
  return Error{ENODEV, fmt::format("there is no backend '{}' in this build; backends: {}{}", name,
                                   fmt::join(backend_names(), ", "),
                                   gpu ? "; ./dev build --preset " + name + " has it" : "")};
}

}  // namespace k2k::runtime
