#pragma once
// File data for device code: the router behind pread, by what k2k calibrate found out of each
// device.
//
// Threading: values; create_reader() from anywhere.

#include <cstdint>
#include <memory>

#include "base/result.hpp"
#include "router/ahead/read_ahead_limits.hpp"

namespace k2k::router {
class FileReader;
}

namespace k2k::runtime {

struct FilesConfig {
  // automatic: within the bound where that costs nothing, that is, where the operating system's own
  // windows fit into it. bounded: everywhere, elsewhere in smaller windows.
  enum class ReadAhead : std::uint8_t { automatic, bounded };

  bool router = true;  // Reads of 16 KiB and more by the fastest mix of page cache and O_DIRECT.
  ReadAhead read_ahead = ReadAhead::automatic;
  // The bound: what may be in the page cache only because it was read ahead for kernels, 4 KiB
  // each. 0: as conservative.
  std::uint32_t read_ahead_pages = router::read_ahead_pages_default;
  // The operating system reads ahead as it likes, and nothing is evicted.
  bool conservative = false;
  // While a kernel writes to a file, nobody else reads or writes those bytes: a write may be more
  // than one call, and a long one of uncached pages is a direct transfer (router/read/writes.hpp).
  bool exclusive = false;
};

// Nothing if the configuration does not want one.
Result<std::shared_ptr<router::FileReader>> create_reader(const FilesConfig& config);

}  // namespace k2k::runtime
