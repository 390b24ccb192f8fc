#include "apps/graph500/kronecker.hpp"

#include <algorithm>
#include <numeric>

namespace k2k::graph500 {

namespace {

// The finaliser of SplitMix64 (Steele et al., OOPSLA'14).
constexpr std::uint64_t mixed(std::uint64_t word) {
  word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
  word = (word ^ word >> 27) * 0x94d049bb133111ebu;
  return word ^ word >> 31;
}

// Numbers of one stream; streams of different numbers are independent.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t stream) : state_(mixed(seed) ^ mixed(~stream)) {}
  std::uint64_t next() { return mixed(state_ += 0x9e3779b97f4a7c15u); }
  // Below `limit`, which is at most 2^32.
  std::uint64_t below(std::uint64_t limit) { return (next() >> 32) * limit >> 32; }

 private:
  std::uint64_t state_;
};

// Streams that are no edge's.
constexpr std::uint64_t labels_stream = ~std::uint64_t{0};
constexpr std::uint64_t roots_stream = ~std::uint64_t{1};

// The specification's initiator: A = 0.57, B = C = 0.19. Each bit of an edge is two draws of 32
// bits: the row, and the column given the row.
constexpr auto chance(double probability) {
  return static_cast<std::uint64_t>(probability * 4294967296.0);
}
constexpr std::uint64_t lower_row = chance(0.57 + 0.19);
constexpr std::uint64_t column_of_upper = chance(0.57 / (0.57 + 0.19));
constexpr std::uint64_t column_of_lower = chance(0.19 / (1 - (0.57 + 0.19)));

Edge draw_edge(const Recipe& recipe, std::uint64_t number) {
  Draws draws(recipe.seed, number);
  Edge edge{0, 0};
  for (std::uint32_t bit = 0; bit < recipe.scale; ++bit) {
    const std::uint64_t both = draws.next();
    const bool row = (both >> 32) >= lower_row;
    const bool column = (both & 0xffffffffu) >= (row ? column_of_lower : column_of_upper);
    edge.from |= (row ? 1u : 0u) << bit;
    edge.to |= (column ? 1u : 0u) << bit;
  }
  return edge;
}

std::vector<std::uint32_t> shuffled_labels(const Recipe& recipe) {
  std::vector<std::uint32_t> labels(std::size_t{1} << recipe.scale);
  std::iota(labels.begin(), labels.end(), 0u);
  Draws draws(recipe.seed, labels_stream);
  for (std::size_t left = labels.size(); left > 1; --left) {
    std::swap(labels[left - 1], labels[draws.below(left)]);
  }
  return labels;
}

void rename(std::vector<Edge>& edges, const std::vector<std::uint32_t>& names) {
  for (Edge& edge : edges) edge = {names[edge.from], names[edge.to]};
}

// Adjacency lists that ascend, from edges of both directions.
void fill_lists(Graph& graph, std::size_t vertices) {
  std::vector<std::uint64_t>& offsets = graph.offsets;
  offsets.assign(vertices + 1, 0);
  for (const Edge& edge : graph.edges) {
    if (edge.from == edge.to) continue;
    ++offsets[edge.from + std::size_t{1}];
    ++offsets[edge.to + std::size_t{1}];
  }
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  graph.targets.assign(offsets.back(), 0);
  std::vector<std::uint64_t> next(offsets.begin(), offsets.end() - 1);
  for (const Edge& edge : graph.edges) {
    if (edge.from == edge.to) continue;
    graph.targets[next[edge.from]++] = edge.to;
    graph.targets[next[edge.to]++] = edge.from;
  }
  std::uint64_t kept = 0;  // Targets of the vertices before, without repetitions.
  std::uint64_t begin = 0;
  for (std::size_t vertex = 0; vertex < vertices; ++vertex) {
    auto* const list = graph.targets.data();
    const std::uint64_t end = offsets[vertex + 1];
    std::sort(list + begin, list + end);
    const auto* const last = std::unique(list + begin, list + end);
    for (const std::uint32_t* target = list + begin; target != last; ++target) {
      list[kept++] = *target;
    }
    begin = end;
    offsets[vertex + 1] = kept;
  }
  graph.targets.resize(kept);
  graph.targets.shrink_to_fit();
}

std::vector<std::uint32_t> names_by_degree(const Graph& graph) {
  const auto degree = [&](std::uint32_t vertex) {
    return graph.offsets[vertex + std::size_t{1}] - graph.offsets[vertex];
  };
  std::vector<std::uint32_t> by_degree(graph.offsets.size() - 1);
  std::iota(by_degree.begin(), by_degree.end(), 0u);
  std::stable_sort(by_degree.begin(), by_degree.end(), [&](std::uint32_t one, std::uint32_t other) {
    return degree(one) > degree(other);
  });
  std::vector<std::uint32_t> names(by_degree.size());
  for (std::size_t place = 0; place < by_degree.size(); ++place) {
    names[by_degree[place]] = static_cast<std::uint32_t>(place);
  }
  return names;
}

void shuffle_lists(Graph& graph, std::uint64_t seed) {
  for (std::size_t vertex = 0; vertex + 1 < graph.offsets.size(); ++vertex) {
    Draws draws(~seed, vertex);
    std::uint32_t* const list = graph.targets.data() + graph.offsets[vertex];
    for (std::uint64_t left = graph.offsets[vertex + 1] - graph.offsets[vertex]; left > 1; --left) {
      std::swap(list[left - 1], list[draws.below(left)]);
    }
  }
}

// Different vertices with edges, drawn without replacement.
std::vector<std::uint32_t> draw_roots(const Graph& graph, std::uint64_t seed) {
  std::vector<std::uint32_t> with_edges;
  for (std::size_t vertex = 0; vertex + 1 < graph.offsets.size(); ++vertex) {
    if (graph.offsets[vertex] != graph.offsets[vertex + 1]) {
      with_edges.push_back(static_cast<std::uint32_t>(vertex));
    }
  }
  Draws draws(seed, roots_stream);
  const std::size_t count = std::min<std::size_t>(with_edges.size(), roots_max);
  for (std::size_t place = 0; place < count; ++place) {
    std::swap(with_edges[place], with_edges[place + draws.below(with_edges.size() - place)]);
  }
  with_edges.resize(count);
  return with_edges;
}

}  // namespace

std::uint64_t least_bytes(const Recipe& recipe) {
  const std::uint64_t vertices = std::uint64_t{1} << recipe.scale;
  return vertices * (2 * sizeof(std::uint64_t) + sizeof(std::uint32_t)) +
         vertices * recipe.edge_factor * (sizeof(Edge) + 2 * sizeof(std::uint32_t));
}

Graph make_graph(const Recipe& recipe) {
  Graph graph;
  const std::size_t vertices = std::size_t{1} << recipe.scale;
  graph.edges.resize(vertices * recipe.edge_factor);
  for (std::size_t number = 0; number < graph.edges.size(); ++number) {
    graph.edges[number] = draw_edge(recipe, number);
  }
  rename(graph.edges, shuffled_labels(recipe));
  fill_lists(graph, vertices);
  graph.roots = draw_roots(graph, recipe.seed);
  if (recipe.order == Order::unsorted) {
    shuffle_lists(graph, recipe.seed);
    return graph;
  }
  const std::vector<std::uint32_t> names = names_by_degree(graph);
  rename(graph.edges, names);
  for (std::uint32_t& root : graph.roots) root = names[root];
  fill_lists(graph, vertices);
  return graph;
}

}  // namespace k2k::graph500
