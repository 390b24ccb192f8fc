#include "apps/graph500/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace k2k::graph500 {

namespace {

constexpr std::size_t edges_a_piece = 1 << 16;

Error broken(std::uint32_t rule, std::uint32_t root, const std::string& what) {
  return {EPROTO, fmt::format("the search from vertex {} breaks rule {} of Graph500: {}; report it "
                              "as a bug, with the options and the file's --seed and --scale",
                              root, rule, what)};
}

class Validation {
 public:
  Validation(const GraphFile& file, std::uint32_t root, const Tree& tree, const Stopped& stopped)
      : file_(file), root_(root), tree_(tree), stopped_(stopped), joined_(tree.parents.size()) {}

  Result<Reached> run() {
    // In this order: each check relies on those before it.
    if (Status checked = check_parents(); !checked) return checked.error();
    if (Status checked = check_levels(); !checked) return checked.error();
    if (Status checked = check_edges(); !checked) return checked.error();
    if (Status checked = check_joined(); !checked) return checked.error();
    return reached_;
  }

 private:
  [[nodiscard]] bool in_tree(std::uint32_t vertex) const {
    return tree_.parents[vertex] != no_vertex;
  }
  [[nodiscard]] std::uint32_t vertices() const {
    return static_cast<std::uint32_t>(tree_.parents.size());
  }

  // Rule 1. `arrives` is 1 for vertices whose parents lead to the root, 2 for those of the way that
  // is being followed.
  [[nodiscard]] Status check_parents() const {
    if (tree_.parents[root_] != root_) return broken(1, root_, "the root is not its own parent");
    std::vector<std::uint8_t> arrives(vertices());
    arrives[root_] = 1;
    std::vector<std::uint32_t> way;
    for (std::uint32_t vertex = 0; vertex < vertices(); ++vertex) {
      std::uint32_t at = vertex;
      if (!in_tree(at)) continue;
      for (way.clear(); arrives[at] != 1; at = tree_.parents[at]) {
        if (arrives[at] == 2) {
          return broken(1, root_, fmt::format("the parents of vertex {} form a cycle", at));
        }
        if (tree_.parents[at] >= vertices()) {
          return broken(1, root_,
                        fmt::format("vertex {}, on the way from vertex {} to the root, "
                                    "has no parent",
                                    at, vertex));
        }
        arrives[at] = 2;
        way.push_back(at);
      }
      for (const std::uint32_t passed : way) arrives[passed] = 1;
    }
    return {};
  }

  [[nodiscard]] Status check_levels() {
    if (tree_.levels[root_] != 0) return broken(2, root_, "the root's level is not 0");
    for (std::uint32_t vertex = 0; vertex < vertices(); ++vertex) {
      const std::uint32_t level = tree_.levels[vertex];
      if (!in_tree(vertex)) {
        if (level == no_level) continue;
        return broken(2, root_, fmt::format("vertex {} has level {} and no parent", vertex, level));
      }
      ++reached_.vertices;
      reached_.levels = std::max(reached_.levels, level + 1);
      const std::uint32_t parent = tree_.parents[vertex];
      if (vertex == root_ || level == tree_.levels[parent] + 1) continue;
      return broken(2, root_,
                    fmt::format("vertex {} has level {}, and its parent {} has level {}", vertex,
                                level, parent, tree_.levels[parent]));
    }
    return {};
  }

  [[nodiscard]] Status check_edges() {
    const std::uint64_t all = file_.header.edges;
    std::vector<Edge> piece(std::min<std::uint64_t>(edges_a_piece, all));
    for (std::uint64_t first = 0; first < all; first += piece.size()) {
      const std::uint64_t count = std::min<std::uint64_t>(piece.size(), all - first);
      if (stopped_()) return Error{ECANCELED, "the validation was interrupted"};
      Status read = apps::read_at(file_, piece.data(), count * sizeof(Edge),
                                  file_.sections().edges + first * sizeof(Edge));
      if (!read) return read;
      for (std::uint64_t place = 0; place < count; ++place) {
        if (Status checked = check_edge(piece[place], first + place); !checked) return checked;
      }
    }
    return {};
  }

  [[nodiscard]] Status check_edge(const Edge& edge, std::uint64_t number) {
    if (edge.from >= vertices() || edge.to >= vertices()) {
      return apps::damaged_input(
          file_, fmt::format("edge {} joins vertices {} and {}, and the last vertex "
                             "is {}",
                             number, edge.from, edge.to, vertices() - 1));
    }
    if (in_tree(edge.from) != in_tree(edge.to)) {
      return broken(4, root_,
                    fmt::format("edge {} joins vertex {} with vertex {}, and one of them "
                                "is not in the tree",
                                number, edge.from, edge.to));
    }
    if (!in_tree(edge.from)) return {};
    ++reached_.edges;
    const std::uint32_t from = tree_.levels[edge.from];
    const std::uint32_t to = tree_.levels[edge.to];
    if (std::max(from, to) - std::min(from, to) > 1) {
      return broken(3, root_,
                    fmt::format("edge {} joins vertex {} of level {} with vertex {} of "
                                "level {}",
                                number, edge.from, from, edge.to, to));
    }
    if (tree_.parents[edge.from] == edge.to) joined_[edge.from] = 1;
    if (tree_.parents[edge.to] == edge.from) joined_[edge.to] = 1;
    return {};
  }

  [[nodiscard]] Status check_joined() const {
    for (std::uint32_t vertex = 0; vertex < vertices(); ++vertex) {
      if (vertex == root_ || !in_tree(vertex) || joined_[vertex] != 0) continue;
      return broken(
          5, root_,
          fmt::format("no edge joins vertex {} with its parent {}", vertex, tree_.parents[vertex]));
    }
    return {};
  }

  const GraphFile& file_;
  const std::uint32_t root_;
  const Tree& tree_;
  const Stopped& stopped_;
  std::vector<std::uint8_t> joined_;  // 1: an edge with the parent was seen.
  Reached reached_;
};

}  // namespace

Result<Reached> validate(const GraphFile& file, std::uint32_t root, const Tree& tree,
                         const Stopped& stopped) {
  return Validation(file, root, tree, stopped).run();
}

std::uint64_t digest_of(const Tree& tree) {
  std::uint64_t digest = 14695981039346656037u;  // FNV-1a, by words.
  for (const std::uint32_t level : tree.levels) digest = (digest ^ level) * 1099511628211u;
  return digest;
}

}  // namespace k2k::graph500
