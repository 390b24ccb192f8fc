#pragma once
// An open file of a graph whose header was checked (format.hpp).
//
// Threading: const members may be used by any thread.

#include <string>

#include "apps/common/input_file.hpp"
#include "apps/graph500/format.hpp"
#include "base/result.hpp"

namespace k2k::graph500 {

// The part that kernels use is Sections::searched_bytes() from Sections::offsets on.
struct GraphFile : apps::InputFile {
  Header header{};

  [[nodiscard]] Sections sections() const { return Sections(header); }
};

// Reads the header alone, so that a search decides when the rest comes into memory. Errors, each
// with the path and the remedy: as apps::open_input() and apps::read_at(); EINVAL (no graph,
// another version or byte order, sizes that do not agree, a file shorter or longer than its header
// says).
Result<GraphFile> open_graph(const std::string& path);

}  // namespace k2k::graph500
