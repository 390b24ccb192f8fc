#pragma once
// The reader of a GPU's memory: for kernels' registered ranges and the ranges of libk2k_io.so.
//
// Threading: pure functions.

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "router/door/files_options.hpp"
#include "router/read/file_reader.hpp"

namespace k2k::router {

// As k2k_io_kind of k2k/io.h.
enum class Vendor : std::uint8_t { cuda = 2, hip = 3 };

struct VendorReader {
  Vendor vendor = Vendor::cuda;
  std::string library{};  // The driver; empty: the vendor's usual name.
  // Serves kernels, which wait for it while the driver may pin no memory
  // (DeviceChannelsConfig::channels_fixed).
  bool for_kernels = false;
};

// EINVAL: FilesOptions::direct names no engine of this vendor's. ENODEV: no driver or no device.
// Else FileReader::create()'s.
Result<std::unique_ptr<FileReader>> make_vendor_reader(const VendorReader& wanted,
                                                       const FilesOptions& options);

}  // namespace k2k::router
