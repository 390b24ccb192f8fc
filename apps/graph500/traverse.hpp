#pragma once
// Breadth-first searches of one graph by a machine, level by level, and the plain search of one
// thread that they are compared with.
//
// Threading: one thread.

#include <functional>
#include <vector>

#include "apps/graph500/machine.hpp"

namespace k2k::graph500 {

enum class Direction : std::uint8_t {
  hybrid,  // Beamer et al., SC'12: bottom_up while the frontier has a large part of the edges.
  top_down,
  bottom_up,  // The GPU's part in the thesis (table 4.2).
};

// Gives zeroed memory that the machine's steps may use.
using Allocate = std::function<Result<void*>(std::size_t bytes)>;

// Is the search to end before its time?
using Stopped = std::function<bool()>;

// The tree of a search, in memory of the host.
struct Tree {
  std::vector<std::uint32_t> parents;  // no_vertex: not reached.
  std::vector<std::uint32_t> levels;   // no_level: not reached.
};

class Traversal {
 public:
  // `job` has the graph, the turn and `alone_max`. Errors: as `allocate`.
  static Result<Traversal> create(Machine& machine, const Allocate& allocate, const Job& job);

  // Returns the fault of the file that the search met, if any. Errors: as Machine::run() and
  // copy(); ECANCELED (`stopped` before a step).
  Result<Fault> search(std::uint32_t root, std::uint64_t root_targets, Direction direction,
                       const Stopped& stopped);
  // Of the last search. Errors: as Machine::copy().
  Status copy_tree(Tree& tree) const;
  // Of all searches so far, clear included.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  Traversal(Machine& machine, const Job& job)
      : machine_(&machine), job_(job), alone_max_(job.alone_max) {}
  // Also exchanges the bitmaps for the next step.
  Result<Counters> step(Work work, const Stopped& stopped);

  Machine* machine_;
  Job job_;
  std::uint32_t alone_max_;
  std::uint64_t steps_ = 0;
};

// By a queue, on the calling thread; shares no code with Step. Returns the same. Errors: ECANCELED
// (`stopped` meanwhile).
Result<Fault> search_serially(const Job& graph, std::uint32_t root, Tree& tree,
                              const Stopped& stopped);

}  // namespace k2k::graph500
