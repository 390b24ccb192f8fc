#include "apps/comd/lattice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <numbers>
#include <random>
#include <span>

#include "apps/comd/pair.hpp"

namespace k2k::comd {

namespace {

// Not the standard library's distributions: their numbers differ from library to library.
class Normal {
 public:
  explicit Normal(std::uint64_t seed) : random_(seed) {}
  // Box and Muller, Ann. Math. Stat. 29, 1958.
  double operator()() {
    const double radius = std::sqrt(-2 * std::log(unit()));
    return radius * std::cos(2 * std::numbers::pi * unit());
  }

 private:
  // In (0, 1].
  double unit() { return (static_cast<double>(random_() >> 11) + 1) * 0x1p-53; }
  std::mt19937_64 random_;
};

// Takes the momentum away, and scales to the temperature.
void settle(std::vector<Atom>& atoms, double temperature) {
  const auto count = static_cast<double>(atoms.size());
  double square = 0;
  for (std::uint32_t axis = 0; axis < 3; ++axis) {
    double sum = 0;
    for (const Atom& atom : atoms) sum += atom.velocity[axis];
    for (Atom& atom : atoms) {
      atom.velocity[axis] -= sum / count;
      square += atom.velocity[axis] * atom.velocity[axis];
    }
  }
  const double scale = square > 0 ? std::sqrt(3 * count * temperature / square) : 0;
  for (Atom& atom : atoms) {
    for (double& velocity : atom.velocity) velocity *= scale;
  }
}

}  // namespace

Atoms make_atoms(const Lattice& lattice) {
  constexpr double basis[4][3] = {
      {0.25, 0.25, 0.25}, {0.75, 0.75, 0.25}, {0.75, 0.25, 0.75}, {0.25, 0.75, 0.75}};
  Atoms made;
  made.header.version = format_version;
  made.header.atom_bytes = sizeof(Atom);
  made.header.lattice = lattice.constant;
  made.header.temperature = lattice.temperature;
  made.header.seed = lattice.seed;
  const std::uint32_t cells = lattice.unit_cells;
  for (double& side : made.header.side) side = cells * lattice.constant;
  made.atoms.reserve(std::size_t{4} * cells * cells * cells);
  Normal normal(lattice.seed);
  for (std::uint32_t cell = 0; cell < cells * cells * cells; ++cell) {
    const std::uint32_t at[3] = {cell % cells, cell / cells % cells, cell / cells / cells};
    for (const auto& offset : basis) {
      Atom atom{};
      atom.id = made.atoms.size();
      for (std::uint32_t axis = 0; axis < 3; ++axis) {
        atom.place[axis] = (at[axis] + offset[axis]) * lattice.constant;
        atom.velocity[axis] = normal();
      }
      made.atoms.push_back(atom);
    }
  }
  made.header.atoms = made.atoms.size();
  settle(made.atoms, lattice.temperature);
  return made;
}

void sort_by_cell(Atoms& atoms) {
  const Box box = box_of(atoms.header.side, atoms.atoms.size());
  std::sort(atoms.atoms.begin(), atoms.atoms.end(), [&](const Atom& left, const Atom& right) {
    const std::uint32_t left_cell = cell_of(box, left.place);
    const std::uint32_t right_cell = cell_of(box, right.place);
    return left_cell != right_cell ? left_cell < right_cell : left.id < right.id;
  });
  atoms.header.sorted = 1;
}

void shuffle(Atoms& atoms) {
  std::mt19937_64 random(atoms.header.seed + 1);
  for (std::size_t left = atoms.atoms.size(); left > 1; --left) {
    std::swap(atoms.atoms[left - 1], atoms.atoms[random() % left]);
  }
  atoms.header.sorted = 0;
}

Status generate(const std::string& folder, const Lattice& lattice) {
  const double side = lattice.unit_cells * lattice.constant;
  if (side < 2 * cutoff) {
    return Error{EINVAL, fmt::format("the cutoff of {} is larger than half the box's side of "
                                     "{:.4g}; take more --unit-cells or a larger --lattice",
                                     cutoff, side)};
  }
  Atoms sorted = make_atoms(lattice);
  Atoms unsorted = sorted;
  sort_by_cell(sorted);
  shuffle(unsorted);
  const std::vector<std::byte> sorted_page = finish(sorted.header, sorted.atoms);
  const std::vector<std::byte> unsorted_page = finish(unsorted.header, unsorted.atoms);
  const apps::NewFile files[] = {
      {"sorted", sorted_page, std::as_bytes(std::span(sorted.atoms))},
      {"unsorted", unsorted_page, std::as_bytes(std::span(unsorted.atoms))}};
  return apps::write_new_folder(folder, files);
}

}  // namespace k2k::comd
