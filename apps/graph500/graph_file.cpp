#include "apps/graph500/graph_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace k2k::graph500 {

namespace {

// What is wrong with a header; empty: nothing.
std::string fault_of(const Header& header) {
  if (std::memcmp(header.magic, magic, sizeof(magic)) != 0) {
    return "is no graph of k2k-graph500, or its generation did not end: it does not begin with "
           "K2KGRAPH";
  }
  if (header.byte_order != byte_order) {
    return "was made on a machine of another byte order";
  }
  if (header.version != version) {
    return fmt::format("has format version {}, and this program reads version {}", header.version,
                       version);
  }
  if (header.scale < 1 || header.scale > scale_max || header.edge_factor < 1 ||
      header.edge_factor > edge_factor_max) {
    return fmt::format(
        "its header has scale {} and edge factor {}, of which 1 to {} and 1 to {} "
        "are possible",
        header.scale, header.edge_factor, scale_max, edge_factor_max);
  }
  const std::uint64_t vertices = std::uint64_t{1} << header.scale;
  if (header.vertices != vertices || header.edges != vertices * header.edge_factor ||
      header.targets > 2 * header.edges || header.order > Order::sorted) {
    return fmt::format(
        "the sizes of its header do not agree: scale {}, edge factor {}, {} vertices,"
        " {} edges, {} targets",
        header.scale, header.edge_factor, header.vertices, header.edges, header.targets);
  }
  if (header.roots < 1 || header.roots > roots_max) {
    return fmt::format("its header has {} roots, of which 1 to {} are possible", header.roots,
                       roots_max);
  }
  const auto* const wrong = std::find_if(header.root, header.root + header.roots,
                                         [&](std::uint32_t root) { return root >= vertices; });
  if (wrong != header.root + header.roots) {
    return fmt::format("its header has root {}, and its last vertex is {}", *wrong, vertices - 1);
  }
  return "";
}

}  // namespace

Result<GraphFile> open_graph(const std::string& path) {
  auto opened = apps::open_input(path);
  if (!opened) return opened.error();
  GraphFile file{std::move(opened.value()), {}};
  Header& header = file.header;
  Status judged = apps::read_header(file, std::as_writable_bytes(std::span(&header, 1)), page);
  if (!judged) return judged.error();
  if (const std::string fault = fault_of(header); !fault.empty()) {
    return apps::damaged_input(file, fault);
  }
  const Sections at = file.sections();
  judged = apps::judge_size(file, at.end,
                            fmt::format("{} vertices, {} targets and {} edges", header.vertices,
                                        header.targets, header.edges));
  if (!judged) return judged.error();
  file.offset = at.offsets;
  file.bytes = at.searched_bytes();
  return Result<GraphFile>(std::move(file));
}

}  // namespace k2k::graph500
