// Goal: the inputs of the generators, graphs, nodes and random numbers, have their documented
// properties.

#include "labs/interference/generators/graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "labs/interference/generators/counter_random.hpp"
#include "labs/interference/generators/nodes.hpp"

namespace k2k::labs::generators {
namespace {

bool has_edge(const Graph& graph, std::uint32_t from, std::uint32_t to) {
  const auto begin = graph.targets.begin();
  return std::binary_search(begin + graph.offsets[from], begin + graph.offsets[from + 1], to);
}

TEST(Kronecker, graphs_are_undirected_without_loops_and_ascending) {
  const Graph graph = kronecker(8, 8, 3);
  ASSERT_EQ(graph.vertices(), 256u);
  ASSERT_EQ(graph.offsets.back(), graph.targets.size());
  for (std::uint32_t vertex = 0; vertex < graph.vertices(); ++vertex) {
    for (std::uint32_t edge = graph.offsets[vertex]; edge < graph.offsets[vertex + 1]; ++edge) {
      const std::uint32_t other = graph.targets[edge];
      ASSERT_NE(other, vertex);
      ASSERT_TRUE(has_edge(graph, other, vertex)) << vertex << " to " << other;
      if (edge > graph.offsets[vertex]) {
        ASSERT_LT(graph.targets[edge - 1], other);
      }
    }
  }
}

TEST(Kronecker, graphs_have_few_vertices_with_many_neighbours) {
  const Graph graph = kronecker(10, 16, 1);
  const auto degree = [&](std::uint32_t vertex) {
    return graph.offsets[vertex + 1] - graph.offsets[vertex];
  };
  const double mean = static_cast<double>(graph.targets.size()) / graph.vertices();
  EXPECT_GT(degree(graph.busiest()), 10 * mean);
  for (std::uint32_t vertex = 0; vertex < graph.vertices(); ++vertex) {
    ASSERT_LE(degree(vertex), degree(graph.busiest()));
  }
}

TEST(Kronecker, graphs_follow_from_their_seed) {
  EXPECT_EQ(kronecker(8, 4, 5).targets, kronecker(8, 4, 5).targets);
  EXPECT_NE(kronecker(8, 4, 5).targets, kronecker(8, 4, 6).targets);
}

TEST(Weights, are_the_same_in_both_directions_and_never_zero) {
  std::uint32_t most = 0;
  for (std::uint32_t vertex = 1; vertex < 2'000; ++vertex) {
    const std::uint32_t weight = weight_of(vertex, 0, 1);
    EXPECT_EQ(weight, weight_of(0, vertex, 1));
    ASSERT_GE(weight, 1u);
    ASSERT_LE(weight, 255u);
    most = std::max(most, weight);
  }
  EXPECT_EQ(most, 255u);
}

TEST(CounterRandom, stays_within_its_bounds_and_reaches_them) {
  bool seen[7] = {};
  double sum = 0;
  for (std::uint64_t index = 0; index < 10'000; ++index) {
    const std::uint64_t number = draw(1, index);
    ASSERT_LT(below(7, number), 7u);
    seen[below(7, number)] = true;
    ASSERT_GE(unit(number), 0);
    ASSERT_LT(unit(number), 1);
    sum += unit(number);
  }
  EXPECT_TRUE(std::all_of(std::begin(seen), std::end(seen), [](bool one) { return one; }));
  EXPECT_NEAR(sum / 10'000, 0.5, 0.02);
  EXPECT_EQ(unit(~std::uint64_t{0}), 1 - 0x1p-53);
}

TEST(Nodes, are_read_from_the_kernels_lists) {
  using List = std::vector<int>;
  EXPECT_EQ(parse_list("0"), List({0}));
  EXPECT_EQ(parse_list("0-2,5"), List({0, 1, 2, 5}));
  for (const char* wrong : {"", "x", "1-", "-1", "3-1", "1024", "0 1", "99999999999"}) {
    EXPECT_FALSE(parse_list(wrong)) << wrong;
  }
  EXPECT_FALSE(memory_nodes().empty());
}

}  // namespace
}  // namespace k2k::labs::generators
