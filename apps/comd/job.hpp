#pragma once
// The work of the kernels of CoMD: pointers and sizes, by value. Every array is device memory but
// the totals, which the host reads.
//
// Threading: plain data; steps.hpp tells which kernel writes which array.

#include <cstddef>
#include <cstdint>

#include "apps/comd/atom.hpp"

namespace k2k::comd {

// Energies, momentum and a sum over the bits of `totals_atoms` consecutive atoms.
struct Totals {
  double potential = 0;
  double kinetic = 0;
  double momentum[3] = {};
  std::uint64_t bits = 0;
};
inline constexpr std::uint32_t totals_atoms = 1024;
static_assert(totals_atoms % atoms_a_page == 0);

struct Force {
  double force[3];
  double potential;  // Half of each pair's.
};

// As CoMD's link cells have a fixed size. At the density of CoMD's lattice a cell of the cutoff's
// width has 16 atoms, and at most 56 where the box is just too narrow for another cell.
inline constexpr std::uint32_t cell_atoms_most = 64;

struct Job {
  Box box;
  std::uint64_t atom_count = 0;
  double step_time = 0;
  Atom* atoms = nullptr;            // Of the file: demand-paged, or read before.
  Force* forces = nullptr;          // One an atom.
  std::uint64_t* slots = nullptr;   // cell_atoms_most a cell: id << 32 | index in `atoms`.
  std::uint32_t* counts = nullptr;  // Atoms of each cell: of even steps, then of odd ones.
  std::uint32_t* seen = nullptr;    // A bit an id.
  std::uint64_t* wrong = nullptr;   // The least index << 8 | Wrong, or no_wrong.
  Totals* totals = nullptr;         // One for each totals_atoms.

  [[nodiscard]] K2K_HD std::uint64_t totals_count() const {
    return (atom_count + totals_atoms - 1) / totals_atoms;
  }
};
inline constexpr std::uint64_t no_wrong = ~std::uint64_t{0};

}  // namespace k2k::comd
