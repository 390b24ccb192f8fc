#include "apps/graph500/graph_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace k2k::graph500 {

namespace {

Error error_of(const std::string& path, int code, const std::string& what) {
  return Error{code, fmt::format("{}: {}; make the graph anew with --generate", path, what)};
}

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

Error GraphFile::wrong(int code, const std::string& what) const {
  return error_of(path_, code, what);
}

Result<GraphFile> GraphFile::open(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // Of a pipe: at once.
  struct stat found{};
  if (!file.open() || ::fstat(file.number(), &found) != 0) {
    const int error = errno;
    return Error{
        error, fmt::format("{}: {}; name a file that --generate made", path, std::strerror(error))};
  }
  if (!S_ISREG(found.st_mode)) {
    return Error{EINVAL, path + ": not a regular file; name a file that --generate made"};
  }
  Header header{};
  const ssize_t got = ::pread(file.number(), &header, sizeof(header), 0);
  if (got < 0) return error_of(path, errno, std::strerror(errno));
  if (got < static_cast<ssize_t>(sizeof(header))) {
    return error_of(path, EINVAL,
                    fmt::format("has {} bytes, fewer than a header's {}", got, sizeof(header)));
  }
  if (const std::string fault = fault_of(header); !fault.empty()) {
    return error_of(path, EINVAL, fault);
  }
  const std::uint64_t bytes = Sections(header).end;
  if (static_cast<std::uint64_t>(found.st_size) != bytes) {
    return error_of(path, EINVAL,
                    fmt::format("has {} bytes, and its header tells of {}", found.st_size, bytes));
  }
  return GraphFile(std::move(file), path, found, header);
}

Status GraphFile::read(std::uint64_t at, void* to, std::uint64_t bytes) const {
  char* next = static_cast<char*>(to);
  while (bytes != 0) {
    const ssize_t got = ::pread(file_.number(), next, std::min<std::uint64_t>(bytes, 1 << 30),
                                static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return wrong(errno, std::strerror(errno));
    if (got == 0) {
      return wrong(EIO, fmt::format("ends at byte {}, {} bytes too early: it was cut while it was "
                                    "open",
                                    at, bytes));
    }
    next += got;
    at += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::uint64_t>(got);
  }
  return {};
}

Status GraphFile::unchanged() const {
  struct stat found{};
  if (::fstat(file_.number(), &found) != 0) return wrong(errno, std::strerror(errno));
  if (found.st_size == opened_.st_size && found.st_mtim.tv_sec == opened_.st_mtim.tv_sec &&
      found.st_mtim.tv_nsec == opened_.st_mtim.tv_nsec) {
    return {};
  }
  return wrong(EIO, fmt::format("was changed while it was searched: it had {} bytes, and has {}",
                                opened_.st_size, found.st_size));
}

}  // namespace k2k::graph500
