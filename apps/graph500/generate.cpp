#include "apps/graph500/generate.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <optional>
#include <span>

#include "apps/common/input_file.hpp"
#include "apps/graph500/format.hpp"
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

Status write_all(const Descriptor& file, const std::string& path, const Recipe& recipe,
                 const Graph& graph) {
  const Header header = header_of(recipe, graph);
  const Sections at(header);
  const struct {
    std::uint64_t at;
    std::span<const std::byte> bytes;
  } parts[] = {{at.offsets, std::as_bytes(std::span(graph.offsets))},
               {at.targets, std::as_bytes(std::span(graph.targets))},
               {at.edges, std::as_bytes(std::span(graph.edges))},
               {0, std::as_bytes(std::span(&header, 1))}};
  for (const auto& part : parts) {
    if (Status written = apps::write_at(file, path, part.bytes, part.at); !written) return written;
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
    auto file = apps::create_new(path);
    if (file) removed.emplace(path);
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
    return write_all(*opened, path, recipe, *graph);
  }();
  if (!made) ::unlink(path.c_str());
  return made;
}

}  // namespace k2k::graph500
