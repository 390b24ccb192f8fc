#pragma once
// File data for device code: the router behind pread, by what k2k calibrate found out of each
// device.
//
// Threading: values; create_reader() from anywhere.

#include <memory>

#include "base/result.hpp"
#include "router/file_reader.hpp"

namespace k2k::runtime {

struct FilesConfig {
  bool router = true;  // Reads of 16 KiB and more by the fastest mix of page cache and O_DIRECT.
  // What may be in the page cache only because it was read ahead for kernels, 4 KiB each. 0: the
  // operating system reads ahead as it likes, which is faster, and nothing is evicted.
  std::uint32_t read_ahead_pages = 0;
};

// Nothing if the configuration does not want one.
Result<std::shared_ptr<router::FileReader>> create_reader(const FilesConfig& config);

}  // namespace k2k::runtime
