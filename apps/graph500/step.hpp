#pragma once
// One step of a breadth-first search: from the vertices of one level to those of the next. The
// kernel and the threads of the CPU counterpart run the same code.
//
//   clear      no vertex but the root is seen
//   top_down   each vertex of the frontier claims its unseen neighbours
//   bottom_up  each unseen vertex looks for a neighbour in the frontier, and stops at the first
//
// A launch is one step, because work-groups of one launch cannot wait for each other. But the part
// that ends last has nothing to wait for: while a level is small, it searches the next one alone,
// sooner than another launch would begin.
//
// `seen`, `front`, `next` and `spare` are bitmaps; the host lets the last three change places
// between steps, and a step clears `spare`, so that no launch only clears. A step, clear too,
// leaves the new frontier in `next`.
//
// Offsets and targets come from a file that may be wrong or change: each is checked before its use,
// and the first wrong one is told in `fault`.
//
// The lists of a Kronecker graph differ a millionfold in length, so work-items that wait in step
// for each other would wait for one list. There the items of a group share the long lists
// (shared_step.hpp).
//
// Threading: device code and host code; a part (first, step) may run beside the others. C++17.

#include <cstdint>

#include "base/attributes.hpp"
#include "base/bits.hpp"
#include "device/atomic.hpp"

namespace k2k::graph500 {

inline constexpr std::uint32_t no_vertex = 0xffffffffu;
inline constexpr std::uint32_t no_level = 0xffffffffu;

enum class Work : std::uint8_t { clear, top_down, bottom_up };

// The first wrong word of the file.
struct Fault {
  std::uint32_t kind = 0;  // 0: none; 1: the offsets of a vertex; 2: a target.
  std::uint32_t vertex = 0;
  std::uint64_t place = 0;  // Of a target.
  std::uint64_t value = 0;  // The target, or the end of the vertex's targets.
};
inline constexpr std::uint32_t wrong_offsets = 1;
inline constexpr std::uint32_t wrong_target = 2;

// The levels that the last part of a step searched alone.
struct Alone {
  std::uint32_t levels = 0;
  std::uint64_t found = 0;        // Vertices of the last one of them.
  std::uint64_t found_edges = 0;  // Their targets.
  std::uint64_t all_edges = 0;    // Targets of the vertices of all of them.
};

// Of a step.
struct Counters {
  std::uint64_t found = 0;        // Vertices of the new level; of clear, none.
  std::uint64_t found_edges = 0;  // Their targets.
  std::uint64_t parts = 0;        // Parts that have ended.
  Alone alone;
  Fault fault;
};

struct Job {
  const std::uint64_t* offsets = nullptr;
  const std::uint32_t* targets = nullptr;
  std::uint64_t vertices = 0;
  std::uint64_t target_count = 0;
  std::uint32_t* parents = nullptr;
  std::uint32_t* levels = nullptr;
  std::uint64_t* seen = nullptr;
  std::uint64_t* front = nullptr;
  std::uint64_t* next = nullptr;
  std::uint64_t* spare = nullptr;
  Counters* counters = nullptr;
  std::uint32_t root = 0;
  std::uint32_t level = 0;  // Of the vertices that the step finds.
  std::uint32_t turn = 64;  // Neighbouring vertices that an item takes at a time: a power of two.
                            // On a GPU 1, so that neighbouring lanes load neighbours.
  std::uint32_t alone_max = 0;  // Vertices and targets of a level that is searched alone; 0: none.
  std::uint32_t* lists = nullptr;  // Room for twice as many vertices.
  std::uint32_t share_min = 0;     // Targets of a list that a group's items share; 0: none.
};

// Words of a bitmap that one part looks through as fast as another launch begins.
inline constexpr std::uint64_t alone_words_max = 65'536;

// One item's part of a step.
class Step {
 public:
  K2K_HD explicit Step(const Job& job) : job_(job) {}

  // Part `first` of `step` parts, each of which is run once: each `step`-th turn from `first` on.
  K2K_HD void run(Work work, std::uint64_t first, std::uint64_t step) {
    take_turns(work, first, step, [](std::uint64_t, std::uint64_t) { return false; });
    end(work, step);
  }

  // The two halves of run(). Between them the caller claims the targets of vertices that
  // `takes_over` took: it is asked with a vertex of the frontier and the number of its targets.
  template <class TakesOver>
  K2K_HD void take_turns(Work work, std::uint64_t first, std::uint64_t step,
                         const TakesOver& takes_over) {
    for (std::uint64_t turn = first * job_.turn; turn < job_.vertices; turn += step * job_.turn) {
      const std::uint64_t left = job_.vertices - turn;
      const std::uint64_t end = turn + (left < job_.turn ? left : job_.turn);
      for (std::uint64_t at = turn; at < end; at += 64) run_word(work, at, takes_over);
    }
  }
  K2K_HD void end(Work work, std::uint64_t step) {
    if (found_ != 0) add(job_.counters->found, found_);
    if (found_edges_ != 0) add(job_.counters->found_edges, found_edges_);
    if (job_.alone_max == 0) return;
    // The part that ends last sees what all others have written.
    if (AtomicRef(job_.counters->parts).fetch_add(1, memory_order_acq_rel) + 1 == step) {
      go_on_alone(work);
    }
  }

  // Of the vertex' targets, those at `first`, `first` + `stride` and so on.
  K2K_HD void claim_targets(std::uint64_t vertex, std::uint64_t first, std::uint64_t stride) {
    claim_targets(vertex, range_of(vertex), first, stride);
  }

 private:
  struct Range {
    std::uint64_t begin;
    std::uint64_t end;
  };

  template <class TakesOver>
  K2K_HD void run_word(Work work, std::uint64_t at, const TakesOver& takes_over) {
    if (work == Work::clear) return clear(at);
    if (at % 64 == 0) job_.spare[at / 64] = 0;
    if (work == Work::top_down) {
      top_down(at, takes_over);
    } else {
      bottom_up(at);
    }
  }

  K2K_HD static void add(std::uint64_t& word, std::uint64_t amount) {
    AtomicRef(word).fetch_add(amount, memory_order_relaxed);
  }
  K2K_HD static std::uint64_t bit_of(std::uint64_t vertex) {
    return std::uint64_t{1} << vertex % 64;
  }

  // Bits of the turn's vertices, from bit 0 on.
  K2K_HD std::uint64_t turn_bits(std::uint64_t at) const {
    const std::uint64_t left = job_.vertices - at;
    const std::uint64_t most = job_.turn < 64 ? job_.turn : 64;
    const std::uint64_t count = left < most ? left : most;
    return count == 64 ? ~std::uint64_t{0} : bit_of(count) - 1;
  }

  K2K_HD void clear(std::uint64_t at) const {
    for (std::uint64_t bits = turn_bits(at); bits != 0; bits &= bits - 1) {
      const std::uint64_t vertex = at + lowest_bit(bits);
      job_.parents[vertex] = vertex == job_.root ? job_.root : no_vertex;
      job_.levels[vertex] = vertex == job_.root ? 0 : no_level;
    }
    if (at % 64 != 0) return;
    const std::uint64_t root = at / 64 == job_.root / 64 ? bit_of(job_.root) : 0;
    job_.seen[at / 64] = job_.next[at / 64] = root;
    job_.front[at / 64] = job_.spare[at / 64] = 0;
  }

  template <class TakesOver>
  K2K_HD void top_down(std::uint64_t at, const TakesOver& takes_over) {
    std::uint64_t bits = job_.front[at / 64] >> at % 64 & turn_bits(at);
    for (; bits != 0; bits &= bits - 1) {
      const std::uint64_t vertex = at + lowest_bit(bits);
      const Range range = range_of(vertex);
      if (!takes_over(vertex, range.end - range.begin)) claim_targets(vertex, range, 0, 1);
    }
  }
  K2K_HD void claim_targets(std::uint64_t vertex, const Range& range, std::uint64_t first,
                            std::uint64_t stride) {
    for (std::uint64_t place = range.begin + first; place < range.end; place += stride) {
      const std::uint32_t target = job_.targets[place];
      if (!is_vertex(vertex, place, target)) return;
      const std::uint64_t bit = bit_of(target);
      AtomicRef seen(job_.seen[target / 64]);
      if ((seen.load(memory_order_relaxed) & bit) != 0) continue;
      if ((seen.fetch_or(bit, memory_order_relaxed) & bit) != 0) continue;
      AtomicRef(job_.next[target / 64]).fetch_or(bit, memory_order_relaxed);
      take(target, vertex, range_of(target));
    }
  }

  K2K_HD void bottom_up(std::uint64_t at) {
    const std::uint64_t seen = AtomicRef(job_.seen[at / 64]).load(memory_order_relaxed);
    std::uint64_t taken = 0;
    for (std::uint64_t bits = ~(seen >> at % 64) & turn_bits(at); bits != 0; bits &= bits - 1) {
      const std::uint32_t place = lowest_bit(bits);
      if (has_parent(at + place)) taken |= std::uint64_t{1} << place;
    }
    if (taken == 0) return;
    AtomicRef(job_.seen[at / 64]).fetch_or(taken << at % 64, memory_order_relaxed);
    AtomicRef(job_.next[at / 64]).fetch_or(taken << at % 64, memory_order_relaxed);
  }
  K2K_HD bool has_parent(std::uint64_t vertex) {
    const Range range = range_of(vertex);
    for (std::uint64_t place = range.begin; place < range.end; ++place) {
      const std::uint32_t target = job_.targets[place];
      if (!is_vertex(vertex, place, target)) return false;
      if ((job_.front[target / 64] & bit_of(target)) == 0) continue;
      take(vertex, target, range);
      return true;
    }
    return false;
  }

  // --- By the last part, after all others have ended.

  K2K_HD void go_on_alone(Work work) {
    Alone alone;
    alone.found = job_.counters->found;
    alone.found_edges = job_.counters->found_edges;
    std::uint32_t* list = job_.lists;
    if (work == Work::clear) {
      const Range range = range_of(job_.root);
      alone.found = 1;
      alone.found_edges = range.end - range.begin;
      list[0] = job_.root;
      if (!is_small(alone)) return;
      job_.next[job_.root / 64] = 0;
    } else {
      if (!is_small(alone) || job_.vertices / 64 > alone_words_max) return;
      take_frontier(list);
    }
    std::uint32_t* other = list + job_.alone_max;
    while (is_small(alone)) {
      search_list(list, alone, other);
      std::uint32_t* const old = list;
      list = other;
      other = old;
    }
    // What is left, for the next step.
    for (std::uint64_t place = 0; place < alone.found; ++place) {
      job_.next[list[place] / 64] |= bit_of(list[place]);
    }
    job_.counters->alone = alone;
  }
  K2K_HD bool is_small(const Alone& level) const {
    return level.found != 0 && level.found <= job_.alone_max &&
           level.found_edges <= job_.alone_max && job_.counters->fault.kind == 0;
  }

  // Moves the frontier from the bitmap into the list, which has room.
  K2K_HD void take_frontier(std::uint32_t* list) {
    for (std::uint64_t word = 0; word < (job_.vertices + 63) / 64; ++word) {
      std::uint64_t bits = job_.next[word];
      if (bits == 0) continue;
      job_.next[word] = 0;
      for (; bits != 0; bits &= bits - 1) {
        *list++ = static_cast<std::uint32_t>(word * 64 + lowest_bit(bits));
      }
    }
  }

  // One level, top down. `found` has room: a level has no more vertices than the one before has
  // targets.
  K2K_HD void search_list(const std::uint32_t* list, Alone& alone, std::uint32_t* found) {
    const std::uint32_t level = job_.level + ++alone.levels;
    const std::uint64_t count = alone.found;
    alone.found = alone.found_edges = 0;
    for (std::uint64_t at = 0; at < count; ++at) {
      const Range range = range_of(list[at]);
      for (std::uint64_t place = range.begin; place < range.end; ++place) {
        const std::uint32_t target = job_.targets[place];
        if (!is_vertex(list[at], place, target)) return;
        std::uint64_t& seen = job_.seen[target / 64];
        if ((seen & bit_of(target)) != 0) continue;
        seen |= bit_of(target);
        const Range targets = range_of(target);
        job_.parents[target] = list[at];
        job_.levels[target] = level;
        found[alone.found++] = target;
        alone.found_edges += targets.end - targets.begin;
      }
    }
    alone.all_edges += alone.found_edges;
  }

  K2K_HD void take(std::uint64_t vertex, std::uint64_t parent, const Range& range) {
    job_.parents[vertex] = static_cast<std::uint32_t>(parent);
    job_.levels[vertex] = job_.level;
    ++found_;
    found_edges_ += range.end - range.begin;
  }

  // Empty if the file's offsets are wrong.
  K2K_HD Range range_of(std::uint64_t vertex) const {
    const Range range{job_.offsets[vertex], job_.offsets[vertex + 1]};
    if (range.begin <= range.end && range.end <= job_.target_count) return range;
    report(wrong_offsets, vertex, range.begin, range.end);
    return {0, 0};
  }
  K2K_HD bool is_vertex(std::uint64_t vertex, std::uint64_t place, std::uint32_t target) const {
    if (target < job_.vertices) return true;
    report(wrong_target, vertex, place, target);
    return false;
  }
  K2K_HD void report(std::uint32_t kind, std::uint64_t vertex, std::uint64_t place,
                     std::uint64_t value) const {
    Fault& fault = job_.counters->fault;
    std::uint32_t none = 0;
    if (!AtomicRef(fault.kind).compare_exchange(none, kind, memory_order_relaxed)) return;
    fault.vertex = static_cast<std::uint32_t>(vertex);
    fault.place = place;
    fault.value = value;
  }

  const Job& job_;
  std::uint64_t found_ = 0;
  std::uint64_t found_edges_ = 0;
};

}  // namespace k2k::graph500
