#pragma once
// The cpu backend: a SIMT device made of threads and fibres (docs/design/cpu-backend.md).

#include <functional>
#include <memory>
#include <string>

#include "backend/backend.hpp"

namespace k2k::backend::cpu {

// Builds the device; its threads start with the first launch and end with the backend.
// Errors: EINVAL with the value and the permitted range; ENOMEM.
Result<std::unique_ptr<Backend>> create(const DeviceConfig& config);

// Receives one line that names the work-items waiting for the host.
using StallReport = std::function<void(const std::string&)>;

// Called on the thread in launch(), once for each period of DeviceConfig::watchdog_ms without
// progress; the launch continues. Without a StallReport, the line goes to stderr. Expects a device
// of create() and no launch in progress.
void set_stall_report(Backend& device, StallReport report);

}  // namespace k2k::backend::cpu
