#pragma once
// The generator: atoms on a face-centred cubic lattice, four a unit cell, with velocities of a
// temperature by a seed. Equal settings make equal files on every machine.
//
// Threading: one thread.

#include <cstdint>
#include <string>
#include <vector>

#include "apps/comd/atom_file.hpp"

namespace k2k::comd {

// CoMD's copper (src-mpi/ljForce.c of ECP-copa/CoMD) in units of its potential: a lattice constant
// of 3.615 Å by a sigma of 2.315 Å, and 600 K by an epsilon of 0.167 eV.
struct Lattice {
  std::uint32_t unit_cells = 12;  // A side of the cube; 4 make two cutoffs.
  double constant = 1.5616;
  double temperature = 0.31;
  std::uint64_t seed = 1;
};

struct Atoms {
  Header header{};
  std::vector<Atom> atoms;  // By id.
};

// The velocities have exactly this temperature, and no momentum but that of rounding.
Atoms make_atoms(const Lattice& lattice);

// By the cells of the box, and within a cell by id; or in a random order.
void sort_by_cell(Atoms& atoms);
void shuffle(Atoms& atoms);

// Makes FOLDER with the files sorted and unsorted, the same atoms in two orders; both or nothing.
// Ctrl-C takes effect before or after it. Errors: as apps::write_new_folder(); EINVAL (a
// box narrower than two cutoffs).
Status generate(const std::string& folder, const Lattice& lattice);

}  // namespace k2k::comd
