#pragma once
// A vector clock: for each lane of the grids that run, the time up to which its work happened
// before. Times are counted by the lanes themselves (races.hpp).
//
// A Clock never changes and shares most of its memory with the clocks it was made of: the times of
// a grid are a tree of 16 branches a node. So the lanes of a block that met have one clock, a
// release copies one path of the tree, and a join skips what both have in common.
//
// Source: FastTrack (Flanagan, Freund, PLDI 2009) for the use of such clocks with single times.
//
// Threading: values; from any thread.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace k2k::emulator::exec::check {

using Time = std::uint32_t;

// The place of a lane's time: the grid's number, and the lane's within the grid.
struct LaneKey {
  std::uint32_t grid = 0;
  std::uint32_t levels = 1;  // Of the grid's tree: levels_for(lanes).
  std::uint64_t lane = 0;
};

std::uint32_t levels_for(std::uint64_t lanes);

class Clock {
 public:
  // Everything of that lane up to this time happened before.
  [[nodiscard]] Time of(std::uint32_t grid, std::uint64_t lane) const;
  // Grids that ended as number `ended()` or earlier happened before as a whole; 0: none.
  [[nodiscard]] std::uint64_t ended() const;
  [[nodiscard]] bool empty() const { return data_ == nullptr; }

  [[nodiscard]] Clock with(const LaneKey& key, Time time) const;
  // Of several lanes of one grid. `times` is sorted by lane.
  using Times = std::vector<std::pair<std::uint64_t, Time>>;
  [[nodiscard]] Clock with(const LaneKey& grid, const Times& times) const;
  [[nodiscard]] Clock with_end(std::uint32_t grid, std::uint64_t ended) const;
  // The later time of each lane.
  void join(const Clock& other);

 private:
  // A Leaf or an Inner, by its level.
  using Node = std::shared_ptr<const void>;
  struct Leaf;
  struct Inner;
  struct Part {
    std::uint32_t grid = 0;
    std::uint32_t levels = 1;
    Node root;
  };
  struct Data {
    std::uint64_t ended = 0;
    std::vector<Part> parts;  // Sorted by grid.
  };
  static Node joined(const Node& a, const Node& b, std::uint32_t level);
  using Iterator = Times::const_iterator;
  static Node changed(const Node& node, std::uint32_t level, Iterator begin, Iterator end);

  std::shared_ptr<const Data> data_;  // nullptr: nothing happened before.
};

}  // namespace k2k::emulator::exec::check
