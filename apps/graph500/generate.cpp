#include "apps/graph500/generate.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <optional>

#include "base/descriptor.hpp"
#include "base/signals_blocked.hpp"

namespace k2k::graph500 {

namespace {

constexpr int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};

// While it lives, a signal that ends the process removes the file first.
class RemovedOnSignal {
 public:
  explicit RemovedOnSignal(const std::string& path) {
    removed = path.c_str();
    struct sigaction action{};
    action.sa_handler = [](int number) {
      ::unlink(removed);
      ::signal(number, SIG_DFL);
      ::raise(number);  // Pending until the handler returns.
    };
    for (std::size_t at = 0; at < std::size(ending_signals); ++at) {
      ::sigaction(ending_signals[at], &action, &before_[at]);
      // A program that was told to ignore the signal, as by nohup(1), goes on ignoring it.
      if (before_[at].sa_handler == SIG_IGN) ::sigaction(ending_signals[at], &before_[at], nullptr);
    }
  }
  ~RemovedOnSignal() {
    for (std::size_t at = 0; at < std::size(ending_signals); ++at) {
      ::sigaction(ending_signals[at], &before_[at], nullptr);
    }
  }
  RemovedOnSignal(const RemovedOnSignal&) = delete;
  RemovedOnSignal& operator=(const RemovedOnSignal&) = delete;

 private:
  static inline const char* removed = nullptr;
  struct sigaction before_[std::size(ending_signals)] = {};
};

Status put(int file, const std::string& path, std::uint64_t at, const void* data,
           std::uint64_t bytes) {
  const char* from = static_cast<const char*>(data);
  while (bytes != 0) {
    const ssize_t put =
        ::pwrite(file, from, std::min<std::uint64_t>(bytes, 1 << 30), static_cast<off_t>(at));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      const int error = put == 0 ? ENOSPC : errno;
      return Error{error, fmt::format("{}: {}; the graph needs {} more bytes there", path,
                                      std::strerror(error), bytes)};
    }
    from += put;
    at += static_cast<std::uint64_t>(put);
    bytes -= static_cast<std::uint64_t>(put);
  }
  return {};
}

Header header_of(const Recipe& recipe, const Graph& graph) {
  Header header{};
  std::memcpy(header.magic, magic, sizeof(magic));
  header.version = version;
  header.byte_order = byte_order;
  header.scale = recipe.scale;
  header.edge_factor = recipe.edge_factor;
  header.seed = recipe.seed;
  header.order = recipe.order;
  header.roots = static_cast<std::uint32_t>(graph.roots.size());
  header.vertices = graph.offsets.size() - 1;
  header.targets = graph.targets.size();
  header.edges = graph.edges.size();
  std::copy(graph.roots.begin(), graph.roots.end(), header.root);
  return header;
}

Status write_all(int file, const std::string& path, const Recipe& recipe, const Graph& graph) {
  const Header header = header_of(recipe, graph);
  const Sections at(header);
  struct Part {
    std::uint64_t at;
    const void* data;
    std::uint64_t bytes;
  };
  const Part parts[] = {
      {at.offsets, graph.offsets.data(), graph.offsets.size() * sizeof(graph.offsets[0])},
      {at.targets, graph.targets.data(), graph.targets.size() * sizeof(graph.targets[0])},
      {at.edges, graph.edges.data(), graph.edges.size() * sizeof(graph.edges[0])},
      {0, &header, sizeof(header)}};
  for (const Part& part : parts) {
    if (Status written = put(file, path, part.at, part.data, part.bytes); !written) return written;
  }
  return {};
}

Status check(const Recipe& recipe) {
  if (recipe.scale < 1 || recipe.scale > scale_max) {
    return Error{EINVAL, fmt::format("--scale {} is not in 1 to {}: a graph has 2^scale vertices",
                                     recipe.scale, scale_max)};
  }
  if (recipe.edge_factor < 1 || recipe.edge_factor > edge_factor_max) {
    return Error{EINVAL, fmt::format("--edge-factor {} is not in 1 to {}", recipe.edge_factor,
                                     edge_factor_max)};
  }
  return {};
}

Result<Graph> graph_in_memory(const Recipe& recipe) {
  try {
    return make_graph(recipe);
  } catch (const std::bad_alloc&) {
    return Error{ENOMEM,
                 fmt::format("no memory for a graph of scale {} and edge factor {}, which takes at "
                             "least {} MiB; take a smaller --scale or --edge-factor",
                             recipe.scale, recipe.edge_factor, least_bytes(recipe) >> 20)};
  }
}

}  // namespace

Status generate(const std::string& path, const Recipe& recipe) {
  if (Status right = check(recipe); !right) return right;
  // First: a path that cannot be written to is told before the work.
  std::optional<RemovedOnSignal> removed;
  const Result<Descriptor> opened = [&]() -> Result<Descriptor> {
    const SignalsBlocked blocked;  // None between the new file and its handler.
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file.open()) {
      const int error = errno;
      return Error{error, fmt::format("{}: {}; name a file that does not exist, in a folder that "
                                      "may be written to",
                                      path, std::strerror(error))};
    }
    removed.emplace(path);
    return file;
  }();
  if (!opened) return opened.error();
  const auto made = [&]() -> Status {
    const auto graph = graph_in_memory(recipe);
    if (!graph) return graph.error();
    if (graph->roots.empty()) {
      return Error{EINVAL,
                   fmt::format("a graph of scale {}, edge factor {} and seed {} has no edge "
                               "between two vertices; take another --seed or a larger "
                               "--scale",
                               recipe.scale, recipe.edge_factor, recipe.seed)};
    }
    return write_all(opened->number(), path, recipe, *graph);
  }();
  if (!made) ::unlink(path.c_str());
  return made;
}

}  // namespace k2k::graph500
