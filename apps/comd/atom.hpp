#pragma once
// An atom as the file and the device have it, and the box that holds all atoms. Units are reduced:
// lengths in sigma, energies in epsilon, masses in an atom's mass.
//
//   Atom   64 bytes: place, velocity, id, check of the former. 64 of them are one page of 4 KiB.
//
// The check lets a kernel tell an atom from zeros: a page of a file that became shorter while it
// was mapped ends in zeros, and no error tells.
//
// Threading: pure functions of plain data, host and device.

#include <cstdint>
#include <cstring>

#include "apps/common/check_words.hpp"
#include "base/attributes.hpp"

namespace k2k::comd {

struct Atom {
  double place[3];     // 0 <= place < side of the box.
  double velocity[3];  // At the same time as the place.
  std::uint64_t id;    // 0 to the number of atoms; each once.
  std::uint64_t check;
};
static_assert(sizeof(Atom) == 64);
inline constexpr std::uint32_t atoms_a_page = 4096 / sizeof(Atom);

// Of the words before it.
K2K_HD inline std::uint64_t check_of(const Atom& atom) {
  std::uint64_t words[7];
  memcpy(words, &atom, sizeof(words));
  return apps::check_of_words(words, 7);
}

// Cells are at least as wide as the cutoff, at least two and at most `axis_cells_most` a side.
struct Box {
  double side[3] = {};
  double cells_a_length[3] = {};
  std::uint32_t cells[3] = {};

  [[nodiscard]] K2K_HD std::uint32_t cell_count() const { return cells[0] * cells[1] * cells[2]; }
};

K2K_HD inline std::uint32_t cell_of(const Box& box, const double* place) {
  std::uint32_t at[3];
  for (std::uint32_t axis = 0; axis < 3; ++axis) {
    at[axis] = static_cast<std::uint32_t>(place[axis] * box.cells_a_length[axis]);
    if (at[axis] >= box.cells[axis]) at[axis] = box.cells[axis] - 1;  // By rounding.
  }
  return (at[2] * box.cells[1] + at[1]) * box.cells[0] + at[0];
}

inline constexpr std::uint32_t neighbours_most = 27;

// The cells, itself among them, whose atoms may be nearer than the cutoff; each once, although the
// box is periodic. Returns their number.
K2K_HD inline std::uint32_t neighbours_of(const Box& box, std::uint32_t cell,
                                          std::uint32_t* neighbours) {
  const std::uint32_t at[3] = {cell % box.cells[0], cell / box.cells[0] % box.cells[1],
                               cell / box.cells[0] / box.cells[1]};
  std::uint32_t along[3][3];
  std::uint32_t counts[3];
  for (std::uint32_t axis = 0; axis < 3; ++axis) {
    const std::uint32_t cells = box.cells[axis];
    counts[axis] = cells == 2 ? 2 : 3;
    for (std::uint32_t step = 0; step < counts[axis]; ++step) {
      along[axis][step] = (at[axis] + cells - 1 + step) % cells;
    }
  }
  std::uint32_t count = 0;
  for (std::uint32_t z = 0; z < counts[2]; ++z) {
    for (std::uint32_t y = 0; y < counts[1]; ++y) {
      for (std::uint32_t x = 0; x < counts[0]; ++x) {
        neighbours[count++] =
            (along[2][z] * box.cells[1] + along[1][y]) * box.cells[0] + along[0][x];
      }
    }
  }
  return count;
}

// The reasons why a run ends.
enum class Wrong : std::uint8_t {
  nothing,
  damaged,     // The check does not fit.
  not_finite,  // A place or a velocity.
  outside,     // Of the box.
  strange_id,  // Not below the number of atoms.
  id_twice,
  crowded,  // Its cell is full.
  flew,     // Farther than the box in one step, or nowhere.
};

K2K_HD inline bool is_finite(double value) { return value - value == 0; }

// Judges an atom of the file; an id that occurs twice is not found here.
K2K_HD inline Wrong wrong_with(const Box& box, std::uint64_t atoms, const Atom& atom) {
  if (check_of(atom) != atom.check) return Wrong::damaged;
  for (std::uint32_t axis = 0; axis < 3; ++axis) {
    if (!is_finite(atom.place[axis]) || !is_finite(atom.velocity[axis])) return Wrong::not_finite;
  }
  for (std::uint32_t axis = 0; axis < 3; ++axis) {
    if (atom.place[axis] < 0 || atom.place[axis] >= box.side[axis]) return Wrong::outside;
  }
  return atom.id < atoms ? Wrong::nothing : Wrong::strange_id;
}

}  // namespace k2k::comd
