#include "apps/graph500/traverse.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace k2k::graph500 {

namespace {

// Beamer's constants: bottom-up from the level on whose targets are more than a part of those of
// unseen vertices, and top-down again once the frontier is a small part of all vertices.
constexpr std::uint64_t alpha = 14;
constexpr std::uint64_t beta = 24;

constexpr std::size_t vertices_a_check = 4'096;  // Of the serial search, for `stopped`.

Error interrupted() { return {ECANCELED, "the search was interrupted"}; }

std::size_t bitmap_words(std::uint64_t vertices) { return (vertices + 63) / 64; }

}  // namespace

Result<Traversal> Traversal::create(Machine& machine, const Allocate& allocate, const Job& job) {
  Traversal made(machine, job);
  Job& mine = made.job_;
  const std::size_t words = bitmap_words(job.vertices);
  const auto trees = allocate(2 * job.vertices * sizeof(std::uint32_t));
  const auto bitmaps = allocate(4 * words * sizeof(std::uint64_t));
  const auto counters = allocate(sizeof(Counters));
  const auto lists = allocate(2 * std::size_t{job.alone_max} * sizeof(std::uint32_t));
  for (const auto* const each : {&trees, &bitmaps, &counters, &lists}) {
    if (!*each) return each->error();
  }
  mine.parents = static_cast<std::uint32_t*>(*trees);
  mine.levels = mine.parents + job.vertices;
  mine.seen = static_cast<std::uint64_t*>(*bitmaps);
  mine.front = mine.seen + words;
  mine.next = mine.front + words;
  mine.spare = mine.next + words;
  mine.counters = static_cast<Counters*>(*counters);
  mine.lists = static_cast<std::uint32_t*>(*lists);
  return made;
}

Result<Counters> Traversal::step(Work work, const Stopped& stopped) {
  if (stopped()) return interrupted();
  Counters counters;
  if (Status put = machine_->copy(job_.counters, &counters, sizeof(counters)); !put) {
    return put.error();
  }
  ++steps_;
  if (Status ran = machine_->run(work, job_); !ran) return ran.error();
  if (Status got = machine_->copy(&counters, job_.counters, sizeof(counters)); !got) {
    return got.error();
  }
  // The next step's.
  job_.level += counters.alone.levels;
  std::uint64_t* const old = job_.front;
  job_.front = job_.next;
  job_.next = job_.spare;  // Cleared by the step that ended.
  job_.spare = old;
  return counters;
}

Result<Fault> Traversal::search(std::uint32_t root, std::uint64_t root_targets, Direction direction,
                                const Stopped& stopped) {
  job_.root = root;
  job_.level = 0;
  job_.alone_max = direction == Direction::bottom_up ? 0 : alone_max_;
  std::uint64_t frontier = 1;
  std::uint64_t frontier_targets = root_targets;
  std::uint64_t unseen_targets = job_.target_count - root_targets;
  const auto pass = [&](std::uint64_t found, std::uint64_t targets, std::uint64_t all_targets) {
    frontier = found;
    frontier_targets = targets;
    unseen_targets -= std::min(unseen_targets, all_targets);
  };
  const auto pass_alone = [&](const Alone& alone) {
    if (alone.levels != 0) pass(alone.found, alone.found_edges, alone.all_edges);
  };
  const auto cleared = step(Work::clear, stopped);
  if (!cleared) return cleared.error();
  if (cleared->fault.kind != 0) return cleared->fault;
  pass_alone(cleared->alone);
  Work work = direction == Direction::bottom_up ? Work::bottom_up : Work::top_down;
  while (frontier != 0) {
    if (direction == Direction::hybrid) {
      const bool up = work == Work::bottom_up ? frontier * beta >= job_.vertices
                                              : frontier_targets * alpha > unseen_targets;
      work = up ? Work::bottom_up : Work::top_down;
    }
    ++job_.level;
    const auto done = step(work, stopped);
    if (!done) return done.error();
    if (done->fault.kind != 0) return done->fault;
    pass(done->found, done->found_edges, done->found_edges);
    pass_alone(done->alone);
  }
  return Fault{};
}

Status Traversal::copy_tree(Tree& tree) const {
  tree.parents.resize(job_.vertices);
  tree.levels.resize(job_.vertices);
  const std::size_t bytes = job_.vertices * sizeof(std::uint32_t);
  if (Status copied = machine_->copy(tree.parents.data(), job_.parents, bytes); !copied) {
    return copied;
  }
  return machine_->copy(tree.levels.data(), job_.levels, bytes);
}

Result<Fault> search_serially(const Job& graph, std::uint32_t root, Tree& tree,
                              const Stopped& stopped) {
  tree.parents.assign(graph.vertices, no_vertex);
  tree.levels.assign(graph.vertices, no_level);
  tree.parents[root] = root;
  tree.levels[root] = 0;
  std::vector<std::uint32_t> queue = {root};
  for (std::size_t at = 0; at < queue.size(); ++at) {
    if (at % vertices_a_check == 0 && stopped()) return interrupted();
    const std::uint32_t vertex = queue[at];
    const std::uint64_t begin = graph.offsets[vertex];
    const std::uint64_t end = graph.offsets[vertex + std::size_t{1}];
    if (begin > end || end > graph.target_count) return Fault{wrong_offsets, vertex, begin, end};
    for (std::uint64_t place = begin; place < end; ++place) {
      const std::uint32_t target = graph.targets[place];
      if (target >= graph.vertices) return Fault{wrong_target, vertex, place, target};
      if (tree.parents[target] != no_vertex) continue;
      tree.parents[target] = vertex;
      tree.levels[target] = tree.levels[vertex] + 1;
      queue.push_back(target);
    }
  }
  return Fault{};
}

}  // namespace k2k::graph500
