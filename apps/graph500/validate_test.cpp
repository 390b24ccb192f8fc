// Goal: Graph500's five rules accept every right tree, and each refuses the tree that breaks it.

#include "apps/graph500/validate.hpp"

#include <cerrno>
#include <functional>

#include "apps/graph500/graph_fixture.hpp"

namespace k2k::graph500 {
namespace {

const Stopped goes_on = [] { return false; };

class Validation : public GraphFiles {
 protected:
  Validation() : file_(open(graph({.scale = 6, .edge_factor = 4}))), root_(file_.header.root[0]) {
    const Sections at = file_.sections();
    offsets_.resize(file_.header.vertices + 1);
    targets_.resize(file_.header.targets);
    EXPECT_TRUE(
        apps::read_at(file_, offsets_.data(), offsets_.size() * sizeof(offsets_[0]), at.offsets));
    EXPECT_TRUE(
        apps::read_at(file_, targets_.data(), targets_.size() * sizeof(targets_[0]), at.targets));
    job_.offsets = offsets_.data();
    job_.targets = targets_.data();
    job_.vertices = file_.header.vertices;
    job_.target_count = file_.header.targets;
    const auto fault = search_serially(job_, root_, tree_, goes_on);
    EXPECT_TRUE(fault && fault->kind == 0);
  }

  [[nodiscard]] std::string verdict() const {
    const auto reached = validate(file_, root_, tree_, goes_on);
    return reached ? "valid" : reached.error().message;
  }
  [[nodiscard]] std::string breaks(int rule, const std::string& what) const {
    return "the search from vertex " + std::to_string(root_) + " breaks rule " +
           std::to_string(rule) + " of Graph500: " + what +
           "; report it as a bug, with the options and the file's --seed and --scale";
  }
  [[nodiscard]] bool says(int rule, const std::string& begin) const {
    const std::string whole = breaks(rule, begin);
    return verdict().find(whole.substr(0, whole.find("; report"))) == 0;
  }
  [[nodiscard]] bool neighbours(std::uint32_t one, std::uint32_t other) const {
    for (std::uint64_t at = offsets_[one]; at < offsets_[one + std::size_t{1}]; ++at) {
      if (targets_[at] == other) return true;
    }
    return false;
  }
  // The first vertex of the tree that `wanted` accepts.
  [[nodiscard]] std::uint32_t vertex_with(const std::function<bool(std::uint32_t)>& wanted) const {
    for (std::uint32_t vertex = 0; vertex < job_.vertices; ++vertex) {
      if (tree_.parents[vertex] != no_vertex && vertex != root_ && wanted(vertex)) return vertex;
    }
    ADD_FAILURE() << "no such vertex";
    return root_;
  }
  [[nodiscard]] bool is_leaf(std::uint32_t vertex) const {
    for (std::uint32_t other = 0; other < job_.vertices; ++other) {
      if (tree_.parents[other] == vertex) return false;
    }
    return true;
  }
  // A tree of the same component, depth first.
  void go_deep(std::uint32_t vertex) {
    for (std::uint64_t at = offsets_[vertex]; at < offsets_[vertex + std::size_t{1}]; ++at) {
      const std::uint32_t target = targets_[at];
      if (tree_.parents[target] != no_vertex) continue;
      tree_.parents[target] = vertex;
      tree_.levels[target] = tree_.levels[vertex] + 1;
      go_deep(target);
    }
  }

  GraphFile file_;
  const std::uint32_t root_;
  std::vector<std::uint64_t> offsets_;
  std::vector<std::uint32_t> targets_;
  Job job_;
  Tree tree_;
};

TEST_F(Validation, accepts_the_tree_and_counts_its_edges_with_loops_and_repetitions) {
  const auto reached = validate(file_, root_, tree_, goes_on);
  ASSERT_TRUE(reached) << reached.error().message;
  std::vector<Edge> edges(file_.header.edges);
  ASSERT_TRUE(
      apps::read_at(file_, edges.data(), edges.size() * sizeof(Edge), file_.sections().edges));
  std::uint64_t within = 0;
  std::uint64_t loops = 0;
  for (const Edge& edge : edges) {
    if (tree_.parents[edge.from] == no_vertex) continue;
    ++within;
    loops += edge.from == edge.to ? 1 : 0;
  }
  EXPECT_GT(loops, 0u);
  EXPECT_EQ(reached->edges, within);
  EXPECT_GT(reached->vertices, 30u);
  EXPECT_GE(reached->levels, 3u);
  EXPECT_LT(reached->vertices, file_.header.vertices) << "some vertices have no edges";
}

TEST_F(Validation, rule_1_refuses_a_cycle_and_a_way_that_does_not_lead_to_the_root) {
  const Tree right = tree_;
  const std::uint32_t child =
      vertex_with([&](std::uint32_t vertex) { return tree_.parents[vertex] != root_; });
  const std::uint32_t parent = tree_.parents[child];
  tree_.parents[parent] = child;
  EXPECT_TRUE(says(1, "the parents of vertex ")) << verdict();
  EXPECT_NE(verdict().find(" form a cycle; report"), std::string::npos) << verdict();
  tree_ = right;
  tree_.parents[parent] = no_vertex;
  EXPECT_NE(verdict().find("vertex " + std::to_string(parent) + ", on the way from vertex "),
            std::string::npos)
      << verdict();
  EXPECT_NE(verdict().find(" to the root, has no parent; report"), std::string::npos) << verdict();
  tree_ = right;
  tree_.parents[root_] = child;
  EXPECT_EQ(verdict(), breaks(1, "the root is not its own parent"));
}

TEST_F(Validation, rule_2_refuses_a_level_that_is_not_the_parent_s_and_one) {
  const Tree right = tree_;
  const std::uint32_t leaf = vertex_with([&](std::uint32_t vertex) { return is_leaf(vertex); });
  const std::uint32_t level = tree_.levels[leaf]++;
  EXPECT_EQ(verdict(),
            breaks(2, "vertex " + std::to_string(leaf) + " has level " + std::to_string(level + 1) +
                          ", and its parent " + std::to_string(tree_.parents[leaf]) +
                          " has level " + std::to_string(level - 1)));
  tree_ = right;
  tree_.levels[root_] = 1;
  EXPECT_EQ(verdict(), breaks(2, "the root's level is not 0"));
  tree_ = right;
  const auto outside = static_cast<std::uint32_t>(
      std::find(tree_.parents.begin(), tree_.parents.end(), no_vertex) - tree_.parents.begin());
  tree_.levels[outside] = 3;
  EXPECT_EQ(verdict(),
            breaks(2, "vertex " + std::to_string(outside) + " has level 3 and no parent"));
}

TEST_F(Validation, rule_3_refuses_a_tree_that_is_not_by_breadth) {
  tree_.parents.assign(job_.vertices, no_vertex);
  tree_.levels.assign(job_.vertices, no_level);
  tree_.parents[root_] = root_;
  tree_.levels[root_] = 0;
  go_deep(root_);
  EXPECT_TRUE(says(3, "edge ")) << verdict();
}

TEST_F(Validation, rule_4_refuses_a_tree_that_lacks_a_vertex_of_its_component) {
  const std::uint32_t leaf = vertex_with([&](std::uint32_t vertex) { return is_leaf(vertex); });
  tree_.parents[leaf] = no_vertex;
  tree_.levels[leaf] = no_level;
  EXPECT_TRUE(says(4, "edge ")) << verdict();
  EXPECT_NE(verdict().find(", and one of them is not in the tree; report"), std::string::npos);
}

TEST_F(Validation, rule_5_refuses_a_parent_without_an_edge) {
  std::uint32_t stranger = root_;
  const std::uint32_t child = vertex_with([&](std::uint32_t vertex) {
    for (stranger = 0; stranger < job_.vertices; ++stranger) {
      if (tree_.levels[stranger] == tree_.levels[vertex] - 1 && !neighbours(vertex, stranger)) {
        return true;
      }
    }
    return false;
  });
  tree_.parents[child] = stranger;
  EXPECT_EQ(verdict(), breaks(5, "no edge joins vertex " + std::to_string(child) +
                                     " with its parent " + std::to_string(stranger)));
}

TEST_F(Validation, refuses_an_edge_without_a_vertex) {
  put(file_.path, file_.sections().edges + 5 * sizeof(Edge), Edge{64, 3});
  EXPECT_EQ(verdict(), file_.path +
                           ": edge 5 joins vertices 64 and 3, and the last vertex is 63; "
                           "make the file anew with --generate");
}

TEST_F(Validation, ends_when_it_is_told_to) {
  const auto reached = validate(file_, root_, tree_, [] { return true; });
  ASSERT_FALSE(reached);
  EXPECT_EQ(reached.error().code, ECANCELED);
}

TEST_F(Validation, the_digest_is_that_of_levels_and_not_of_parents) {
  const std::uint64_t digest = digest_of(tree_);
  Tree other = tree_;
  other.parents[root_] = 1;
  EXPECT_EQ(digest_of(other), digest);
  other.levels[root_] = 1;
  EXPECT_NE(digest_of(other), digest);
}

}  // namespace
}  // namespace k2k::graph500
