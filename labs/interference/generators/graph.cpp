#include "labs/interference/generators/graph.hpp"

#include <algorithm>
#include <utility>

#include "labs/interference/generators/counter_random.hpp"

namespace k2k::labs::generators {

namespace {

using Edge = std::pair<std::uint32_t, std::uint32_t>;

// One bit of both coordinates selects a quadrant of the adjacency matrix: 0.57, 0.19, 0.19 and 0.05
// of the edges.
Edge draw_edge(std::uint32_t scale, std::uint64_t seed, std::uint64_t number) {
  Edge edge{0, 0};
  for (std::uint32_t bit = 0; bit < scale; ++bit) {
    const std::uint32_t percent = below(100, draw(seed, number * scale + bit));
    const bool low = percent >= 57 && percent < 76;
    const bool left = percent >= 76 && percent < 95;
    const bool corner = percent >= 95;
    edge.first = edge.first << 1 | (left || corner ? 1u : 0u);
    edge.second = edge.second << 1 | (low || corner ? 1u : 0u);
  }
  return edge;
}

}  // namespace

std::uint32_t Graph::busiest() const {
  std::uint32_t best = 0;
  for (std::uint32_t vertex = 0; vertex < vertices(); ++vertex) {
    if (offsets[vertex + 1] - offsets[vertex] > offsets[best + 1] - offsets[best]) best = vertex;
  }
  return best;
}

Graph kronecker(std::uint32_t scale, std::uint32_t edge_factor, std::uint64_t seed) {
  std::vector<Edge> edges;
  const std::uint64_t count = std::uint64_t{edge_factor} << scale;
  for (std::uint64_t number = 0; number < count; ++number) {
    const Edge edge = draw_edge(scale, seed, number);
    if (edge.first == edge.second) continue;
    edges.push_back(edge);
    edges.emplace_back(edge.second, edge.first);
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  Graph graph;
  graph.offsets.assign((std::size_t{1} << scale) + 1, 0);
  for (const Edge& edge : edges) {
    ++graph.offsets[edge.first + 1];
    graph.targets.push_back(edge.second);
  }
  for (std::size_t vertex = 1; vertex < graph.offsets.size(); ++vertex) {
    graph.offsets[vertex] += graph.offsets[vertex - 1];
  }
  return graph;
}

std::uint32_t weight_of(std::uint32_t from, std::uint32_t to, std::uint64_t seed) {
  const std::uint64_t edge = std::uint64_t{std::min(from, to)} << 32 | std::max(from, to);
  return 1 + below(255, draw(seed, edge));
}

}  // namespace k2k::labs::generators
