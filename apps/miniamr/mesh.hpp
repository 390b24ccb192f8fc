#pragma once
// The mesh of miniAMR: a cube of roots. A root is coarse (one block of 16 x 16 x 16 cells) or fine
// (eight such blocks, twice as many cells a side). Each block has its own place in one large array,
// as in a dense mesh, so a root that changes leaves memory behind that nobody needs: the memory
// that madvise(2) returns.
//
//   root   [coarse block][fine block 0] … [fine block 7]
//   block  [16^3 values of even steps][16^3 values of odd steps]
//
// A root is fine where the surface of a moving sphere crosses it. Values are whole numbers: equal
// on every device.
//
// Threading: pure functions of plain data, host and device.

#include <cstddef>
#include <cstdint>

#include "base/attributes.hpp"

namespace k2k::miniamr {

inline constexpr std::uint32_t side_bits = 4;
inline constexpr std::uint32_t side = 1u << side_bits;  // Cells of a block.
inline constexpr std::uint32_t block_cells = side * side * side;
inline constexpr std::uint32_t fine_blocks = 8;
inline constexpr std::uint32_t blocks_a_root = 1 + fine_blocks;
using Value = std::uint32_t;
inline constexpr std::size_t block_bytes = 2 * block_cells * sizeof(Value);  // Whole pages.
inline constexpr std::size_t root_bytes = blocks_a_root * block_bytes;
static_assert(block_bytes % 4096 == 0);

struct Cell {
  std::uint32_t x, y, z;
};

struct Mesh {
  std::uint32_t roots_a_side = 0;
  Value* values = nullptr;
  std::uint8_t* fine = nullptr;  // A byte a root: 1 if it is fine.

  [[nodiscard]] K2K_HD std::uint32_t roots() const {
    return roots_a_side * roots_a_side * roots_a_side;
  }
  // Cells a side of the whole mesh at a level: 0 coarse, 1 fine.
  [[nodiscard]] K2K_HD std::uint32_t cells(std::uint32_t level) const {
    return roots_a_side << (side_bits + level);
  }
  [[nodiscard]] K2K_HD std::uint32_t root_of(std::uint32_t level, const Cell& cell) const {
    const std::uint32_t shift = side_bits + level;
    return ((cell.z >> shift) * roots_a_side + (cell.y >> shift)) * roots_a_side +
           (cell.x >> shift);
  }
  [[nodiscard]] K2K_HD Value* block(std::uint32_t root, std::uint32_t number) const {
    return values + (std::size_t{root} * blocks_a_root + number) * 2 * block_cells;
  }
  // The value of a cell of a root of that level.
  [[nodiscard]] K2K_HD Value& at(std::uint32_t level, const Cell& cell, std::uint32_t odd) const {
    return at(root_of(level, cell), level, cell, odd);
  }
  // The same, of a cell whose root is known.
  [[nodiscard]] K2K_HD Value& at(std::uint32_t root, std::uint32_t level, const Cell& cell,
                                 std::uint32_t odd) const {
    const std::uint32_t mask = side - 1;
    const std::uint32_t octant =
        ((cell.z >> side_bits & 1) * 2 + (cell.y >> side_bits & 1)) * 2 + (cell.x >> side_bits & 1);
    const std::uint32_t inside =
        ((cell.z & mask) * side + (cell.y & mask)) * side + (cell.x & mask);
    return block(root, level == 0 ? 0 : 1 + octant)[odd * block_cells + inside];
  }
};

// The mean of the eight fine cells within a coarse one.
K2K_HD inline Value mean_of_fine(const Mesh& mesh, const Cell& coarse, std::uint32_t odd) {
  Value sum = 0;
  for (std::uint32_t part = 0; part < 8; ++part) {
    sum += mesh.at(
        1, {2 * coarse.x + (part & 1), 2 * coarse.y + (part >> 1 & 1), 2 * coarse.z + (part >> 2)},
        odd);
  }
  return sum / 8;
}

// The value at a cell of `level`, whatever the level of its root.
K2K_HD inline Value sample(const Mesh& mesh, std::uint32_t level, const Cell& cell,
                           std::uint32_t odd) {
  const bool fine = mesh.fine[mesh.root_of(level, cell)] != 0;
  if (fine == (level == 1)) return mesh.at(level, cell, odd);
  if (fine) return mean_of_fine(mesh, cell, odd);
  return mesh.at(0, {cell.x / 2, cell.y / 2, cell.z / 2}, odd);
}

// The sum of the two neighbours of a cell along one axis. Within the block they are `distance`
// values before and behind `here`; beyond the mesh's border they are the cell itself.
K2K_HD inline Value sum_beside(const Mesh& mesh, std::uint32_t level, std::uint32_t odd,
                               const Value* here, Cell cell, std::uint32_t Cell::* axis,
                               std::ptrdiff_t distance) {
  const std::uint32_t at = cell.*axis;
  const std::uint32_t inside = at & (side - 1);
  Value down = inside > 0 ? here[-distance] : *here;
  if (inside == 0 && at > 0) {
    cell.*axis = at - 1;
    down = sample(mesh, level, cell, odd);
  }
  Value up = inside < side - 1 ? here[distance] : *here;
  if (inside == side - 1 && at + 1 < mesh.cells(level)) {
    cell.*axis = at + 1;
    up = sample(mesh, level, cell, odd);
  }
  return down + up;
}

// The value of the next step of a cell of `root`. Most cells are at no face of their block: their
// neighbours are at constant distances.
K2K_HD inline Value stencil(const Mesh& mesh, std::uint32_t root, std::uint32_t level,
                            const Cell& cell, std::uint32_t step) {
  constexpr std::ptrdiff_t row = side;
  constexpr std::ptrdiff_t plane = side * side;
  const std::uint32_t odd = step & 1;
  const Value* const here = &mesh.at(root, level, cell, odd);
  const auto face = [](std::uint32_t at) { return ((at + 1) & (side - 1)) <= 1; };
  Value sum = 2 * *here;
  if (face(cell.x) || face(cell.y) || face(cell.z)) {
    sum += sum_beside(mesh, level, odd, here, cell, &Cell::x, 1) +
           sum_beside(mesh, level, odd, here, cell, &Cell::y, row) +
           sum_beside(mesh, level, odd, here, cell, &Cell::z, plane);
  } else {
    sum += here[1] + here[-1] + here[row] + here[-row] + here[plane] + here[-plane];
  }
  return (sum + ((cell.x ^ cell.y ^ cell.z ^ step) & 7)) / 8;  // The last term: a source.
}

K2K_HD inline Value first_value(const Cell& coarse) {
  return (coarse.x * 2654435761u ^ coarse.y * 2246822519u ^ coarse.z * 3266489917u) & 0xffff;
}

// Does the sphere's surface cross the root in this step? The sphere goes to and fro along x;
// lengths are in fine cells.
K2K_HD inline bool wants_fine(std::uint32_t roots_a_side, std::uint32_t root, std::uint32_t step,
                              std::uint32_t period) {
  const auto whole = static_cast<std::int64_t>(roots_a_side) * 2 * side;
  const std::int64_t phase = step % period;
  const std::int64_t half = period / 2;
  const std::int64_t way = phase < half ? phase : period - phase;
  const std::int64_t center[3] = {whole / 8 + whole * 3 / 4 * way / half, whole / 2, whole / 2};
  const std::int64_t radius = whole / 8;
  const std::uint32_t place[3] = {root % roots_a_side, root / roots_a_side % roots_a_side,
                                  root / roots_a_side / roots_a_side};
  std::int64_t nearest = 0;
  std::int64_t farthest = 0;
  for (std::uint32_t axis = 0; axis < 3; ++axis) {
    const std::int64_t low = static_cast<std::int64_t>(place[axis]) * 2 * side - center[axis];
    const std::int64_t high = low + 2 * side;
    const std::int64_t near = low > 0 ? low : high < 0 ? -high : 0;
    const std::int64_t far = low + high > 0 ? high : -low;
    nearest += near * near;
    farthest += far * far;
  }
  return nearest <= radius * radius && radius * radius <= farthest;
}

// The first cell of a root, in the coordinates of the whole mesh.
K2K_HD inline Cell corner_of_root(const Mesh& mesh, std::uint32_t root, std::uint32_t level) {
  const std::uint32_t bits = side_bits + level;
  const std::uint32_t count = mesh.roots_a_side;
  return {root % count << bits, root / count % count << bits, root / count / count << bits};
}
// The cell `number` of 16^3 or 32^3 of the root with this corner.
K2K_HD inline Cell cell_of_root(const Cell& corner, std::uint32_t level, std::uint32_t number) {
  const std::uint32_t bits = side_bits + level;
  const std::uint32_t mask = (1u << bits) - 1;
  return {corner.x + (number & mask), corner.y + (number >> bits & mask),
          corner.z + (number >> 2 * bits)};
}
K2K_HD inline std::uint32_t cells_of_root(std::uint32_t level) { return block_cells << 3 * level; }

// Makes a root fine or coarse, with the values of this step.
K2K_HD inline void change_root(const Mesh& mesh, std::uint32_t root, bool fine, std::uint32_t odd) {
  const std::uint32_t level = fine ? 1 : 0;
  const Cell corner = corner_of_root(mesh, root, level);
  for (std::uint32_t number = 0; number < cells_of_root(level); ++number) {
    const Cell cell = cell_of_root(corner, level, number);
    mesh.at(root, level, cell, odd) = fine ? mesh.at(0, {cell.x / 2, cell.y / 2, cell.z / 2}, odd)
                                           : mean_of_fine(mesh, cell, odd);
  }
  mesh.fine[root] = fine ? 1 : 0;
}

// Of all live cells, with their places.
K2K_HD inline std::uint64_t checksum(const Mesh& mesh, std::uint32_t odd) {
  std::uint64_t sum = 0;
  for (std::uint32_t root = 0; root < mesh.roots(); ++root) {
    const std::uint32_t level = mesh.fine[root];
    const Cell corner = corner_of_root(mesh, root, level);
    for (std::uint32_t number = 0; number < cells_of_root(level); ++number) {
      const Value value = mesh.at(root, level, cell_of_root(corner, level, number), odd);
      sum = (sum ^ value) * 1099511628211u;
    }
  }
  return sum;
}

}  // namespace k2k::miniamr
