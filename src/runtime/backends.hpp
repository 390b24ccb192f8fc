#pragma once
// The backends of this build, by name. A new one is one more line in backends.cpp.

#include <memory>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "base/result.hpp"

namespace k2k::runtime {

std::vector<std::string> backend_names();

// Errors: ENODEV, with the list of names; errors of the backend.
Result<std::unique_ptr<backend::Backend>> create_backend(const std::string& name,
                                                         const backend::DeviceConfig& config);

}  // namespace k2k::runtime
