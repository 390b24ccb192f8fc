// Goal: the generator makes a skewed graph, the same for the same seed; its adjacency lists are
// those of its edges; both orders have the same graph by other numbers.

#include "apps/graph500/kronecker.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

namespace k2k::graph500 {
namespace {

using Pairs = std::set<std::pair<std::uint32_t, std::uint32_t>>;

std::uint64_t degree(const Graph& graph, std::uint32_t vertex) {
  return graph.offsets[vertex + std::size_t{1}] - graph.offsets[vertex];
}

bool ascends(const Graph& graph, std::uint32_t vertex) {
  const auto* const list = graph.targets.data();
  return std::is_sorted(list + graph.offsets[vertex],
                        list + graph.offsets[vertex + std::size_t{1}]);
}

Pairs pairs_of_lists(const Graph& graph) {
  Pairs pairs;
  for (std::uint32_t vertex = 0; vertex + 1 < graph.offsets.size(); ++vertex) {
    for (std::uint64_t at = graph.offsets[vertex]; at < graph.offsets[vertex + 1]; ++at) {
      EXPECT_TRUE(pairs.emplace(vertex, graph.targets[at]).second) << "twice";
    }
  }
  return pairs;
}

Pairs pairs_of_edges(const Graph& graph) {
  Pairs pairs;
  for (const Edge& edge : graph.edges) {
    if (edge.from == edge.to) continue;
    pairs.emplace(edge.from, edge.to);
    pairs.emplace(edge.to, edge.from);
  }
  return pairs;
}

TEST(Kronecker, gives_equal_graphs_for_equal_seeds_alone) {
  const Recipe recipe{.scale = 7, .edge_factor = 8, .seed = 5};
  const Graph graph = make_graph(recipe);
  const Graph again = make_graph(recipe);
  EXPECT_EQ(graph.targets, again.targets);
  EXPECT_EQ(graph.roots, again.roots);
  Recipe other = recipe;
  other.seed = 6;
  EXPECT_NE(make_graph(other).targets, graph.targets);
}

TEST(Kronecker, has_the_edges_of_its_list_in_both_directions_without_loops) {
  for (const Order order : {Order::unsorted, Order::sorted}) {
    const Graph graph = make_graph({.scale = 6, .edge_factor = 8, .order = order});
    EXPECT_EQ(graph.edges.size(), 64u * 8);
    EXPECT_EQ(graph.offsets.size(), 65u);
    EXPECT_EQ(graph.offsets.back(), graph.targets.size());
    EXPECT_EQ(pairs_of_lists(graph), pairs_of_edges(graph));
  }
}

TEST(Kronecker, is_as_skewed_as_the_initiator) {
  const std::uint32_t scale = 10;
  const Graph graph = make_graph({.scale = scale, .edge_factor = 16});
  std::uint64_t most = 0;
  std::uint64_t without = 0;
  for (std::uint32_t vertex = 0; vertex < 1u << scale; ++vertex) {
    most = std::max(most, degree(graph, vertex));
    without += degree(graph, vertex) == 0 ? 1 : 0;
  }
  // Of uniform edges, the largest degree would be near 60, and no vertex would be without.
  EXPECT_GT(most, 250u);
  EXPECT_GT(without, 50u);
}

TEST(Kronecker, sorts_vertices_by_degree_and_keeps_the_graph) {
  const Graph unsorted = make_graph({.scale = 8, .order = Order::unsorted});
  const Graph sorted = make_graph({.scale = 8, .order = Order::sorted});
  std::vector<std::uint64_t> degrees;
  bool all_ascend = true;
  for (std::uint32_t vertex = 0; vertex < 256; ++vertex) {
    degrees.push_back(degree(unsorted, vertex));
    EXPECT_TRUE(ascends(sorted, vertex));
    all_ascend &= ascends(unsorted, vertex);
    EXPECT_LE(degree(sorted, vertex), degree(sorted, vertex == 0 ? 0 : vertex - 1));
  }
  EXPECT_FALSE(all_ascend);
  std::sort(degrees.rbegin(), degrees.rend());
  for (std::uint32_t vertex = 0; vertex < 256; ++vertex) {
    ASSERT_EQ(degree(sorted, vertex), degrees[vertex]);
  }
  ASSERT_EQ(sorted.roots.size(), unsorted.roots.size());
  for (std::size_t place = 0; place < sorted.roots.size(); ++place) {
    EXPECT_EQ(degree(sorted, sorted.roots[place]), degree(unsorted, unsorted.roots[place]));
  }
}

TEST(Kronecker, draws_different_roots_that_have_edges) {
  const Graph graph = make_graph({.scale = 8});
  EXPECT_EQ(graph.roots.size(), roots_max);
  EXPECT_EQ(std::set<std::uint32_t>(graph.roots.begin(), graph.roots.end()).size(), roots_max);
  for (const std::uint32_t root : graph.roots) EXPECT_GT(degree(graph, root), 0u);
  EXPECT_LE(make_graph({.scale = 3}).roots.size(), 8u);
}

}  // namespace
}  // namespace k2k::graph500
