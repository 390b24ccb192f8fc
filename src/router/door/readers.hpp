#pragma once
// The readers that the options describe: for memory that the CPU can address, and for a GPU's
// memory, which kernels register and libk2k_io.so tracks. Each has its own bound of read-ahead.
//
// Threading: pure functions.

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "router/door/files_options.hpp"
#include "router/read/file_reader.hpp"

namespace k2k::router {

// Null if files.router is off. Errors: ENOMEM, and EINVAL for a number out of its range.
Result<std::shared_ptr<FileReader>> make_reader(const FilesOptions& options);

// As k2k_io_kind of k2k/io.h.
enum class Vendor : std::uint8_t { cuda = 2, hip = 3 };

struct VendorReader {
  Vendor vendor = Vendor::cuda;
  std::string library{};  // The driver; empty: the vendor's usual name.
  // Serves kernels, which wait for it while the driver may pin no memory
  // (DeviceChannelsConfig::channels_fixed).
  bool for_kernels = false;
};

// With files.router off, too: there is no other way to such memory. EINVAL: FilesOptions::direct
// names no engine of this vendor. ENODEV: no driver or no device. Else FileReader::create()'s.
Result<std::unique_ptr<FileReader>> make_vendor_reader(const VendorReader& wanted,
                                                       const FilesOptions& options);

}  // namespace k2k::router
