#pragma once
// How file data is read and written: one set of options, with one set of defaults, for kernels, the
// C interface and libk2k_io.so. files_keys.hpp names them for users.
//
// Threading: values.

#include <cstdint>
#include <string>

namespace k2k::router {

struct FilesOptions {
  // automatic: within the bound where the operating system's own windows fit into it. There reads
  // had 0.95 to 1.11 of its throughput with 2,048 pages, and 0.67 to 0.93 in the slowest run with
  // 512 (decision 0029). bounded: everywhere, elsewhere in smaller windows, at about half.
  enum class ReadAhead : std::uint8_t { automatic, bounded };

  bool router = true;  // Longer reads (unprobed_bytes_default): fastest mix of cache and O_DIRECT.
  ReadAhead read_ahead = ReadAhead::automatic;
  // The bound: pages that may be in the page cache only because of read-ahead for a device, 4 KiB
  // each. 0: as conservative.
  std::uint32_t read_ahead_pages = 2048;
  // The operating system reads ahead as it likes, and nothing is evicted.
  bool conservative = false;
  // While a request writes to a file, no other program reads or writes those bytes: a write may be
  // more than one call, and a long one of uncached pages is a direct transfer.
  bool exclusive = false;
  // Direct transfers into a GPU's memory: "staging", or the vendor's library, "cufile" or
  // "hipfile". Empty: the best that is there.
  std::string direct{};
};

}  // namespace k2k::router
