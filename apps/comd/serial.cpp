// CoMD by another method: each pair once, with Newton's third law; cells are vectors of atoms by
// id; where the box has fewer than three cells a side, all pairs. Of the kernels' functions only
// those that define the problem: the potential, the shortest image and the judgement of an atom.

#include <array>

#include "apps/comd/simulate.hpp"
#include "base/clock.hpp"

namespace k2k::comd {

namespace {

class SerialAtoms {
 public:
  SerialAtoms(const Box& box, std::vector<Atom> atoms)
      : box_(box), atoms_(std::move(atoms)), forces_(atoms_.size()) {}

  void push() {
    std::fill(forces_.begin(), forces_.end(), Force{});
    if (std::min({box_.cells[0], box_.cells[1], box_.cells[2]}) < 3) {
      for (std::size_t left = 0; left < atoms_.size(); ++left) {
        for (std::size_t right = left + 1; right < atoms_.size(); ++right) meet(left, right);
      }
      return;
    }
    fill_cells();
    for (std::uint32_t z = 0; z < box_.cells[2]; ++z) {
      for (std::uint32_t y = 0; y < box_.cells[1]; ++y) {
        for (std::uint32_t x = 0; x < box_.cells[0]; ++x) push_cell(x, y, z);
      }
    }
  }

  void kick(double time) {
    for (std::size_t id = 0; id < atoms_.size(); ++id) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        atoms_[id].velocity[axis] += time * forces_[id].force[axis];
      }
    }
  }

  // Returns the id of an atom that left the box, or the number of atoms.
  std::size_t drift(double time) {
    for (std::size_t id = 0; id < atoms_.size(); ++id) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const double side = box_.side[axis];
        double to = atoms_[id].place[axis] + time * atoms_[id].velocity[axis];
        to += to < 0 ? side : to >= side ? -side : 0;
        if (to == side) to = 0;
        if (!(to >= 0 && to < side)) return id;
        atoms_[id].place[axis] = to;
      }
    }
    return atoms_.size();
  }

  [[nodiscard]] Sums sums(std::uint64_t step) const {
    Sums sums;
    sums.step = step;
    for (std::size_t id = 0; id < atoms_.size(); ++id) {
      sums.potential += forces_[id].potential;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const double velocity = atoms_[id].velocity[axis];
        sums.kinetic += 0.5 * velocity * velocity;
        sums.momentum[axis] += velocity;
      }
    }
    return sums;
  }

  [[nodiscard]] const std::vector<Atom>& atoms() const { return atoms_; }
  [[nodiscard]] const std::vector<Force>& forces() const { return forces_; }

 private:
  [[nodiscard]] std::vector<std::size_t>& cell(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    return cells_[(std::size_t{z} * box_.cells[1] + y) * box_.cells[0] + x];
  }

  void fill_cells() {
    cells_.resize(box_.cell_count());
    for (auto& one : cells_) one.clear();
    for (std::size_t id = 0; id < atoms_.size(); ++id) {
      cells_[cell_of(box_, atoms_[id].place)].push_back(id);
    }
  }

  // The pairs within the cell, and those with half of the cells around: the others' halves are
  // theirs.
  void push_cell(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    constexpr std::array<std::array<std::uint32_t, 3>, 13> half = {{{1, 0, 0},
                                                                    {2, 1, 0},
                                                                    {0, 1, 0},
                                                                    {1, 1, 0},
                                                                    {2, 2, 1},
                                                                    {0, 2, 1},
                                                                    {1, 2, 1},
                                                                    {2, 0, 1},
                                                                    {0, 0, 1},
                                                                    {1, 0, 1},
                                                                    {2, 1, 1},
                                                                    {0, 1, 1},
                                                                    {1, 1, 1}}};
    const std::vector<std::size_t>& own = cell(x, y, z);
    for (std::size_t left = 0; left < own.size(); ++left) {
      for (std::size_t right = left + 1; right < own.size(); ++right) meet(own[left], own[right]);
    }
    // 2: one cell down.
    const auto moved = [](std::uint32_t at, std::uint32_t by, std::uint32_t cells) {
      return (at + (by == 2 ? cells - 1 : by)) % cells;
    };
    for (const auto& [dx, dy, dz] : half) {
      const std::vector<std::size_t>& other = cell(
          moved(x, dx, box_.cells[0]), moved(y, dy, box_.cells[1]), moved(z, dz, box_.cells[2]));
      for (const std::size_t left : own) {
        for (const std::size_t right : other) meet(left, right);
      }
    }
  }

  void meet(std::size_t left, std::size_t right) {
    std::array<double, 3> apart{};
    double square = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      apart[axis] = nearest(atoms_[left].place[axis] - atoms_[right].place[axis], box_.side[axis]);
      square += apart[axis] * apart[axis];
    }
    if (!(square < cutoff * cutoff)) return;
    const Pair pair = pair_of(square);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      forces_[left].force[axis] += pair.push * apart[axis];
      forces_[right].force[axis] -= pair.push * apart[axis];
    }
    forces_[left].potential += 0.5 * pair.energy;
    forces_[right].potential += 0.5 * pair.energy;
  }

  Box box_;
  std::vector<Atom> atoms_;  // By id.
  std::vector<Force> forces_;
  std::vector<std::vector<std::size_t>> cells_;
};

// All atoms by id. Errors: as read_atoms(); EINVAL.
Result<std::vector<Atom>> read_by_id(const AtomFile& file) {
  std::vector<Atom> atoms(file.header.atoms);
  if (Status read = read_atoms(file, atoms.data()); !read) return read.error();
  std::vector<Atom> by_id(atoms.size());
  std::vector<bool> seen(atoms.size());
  for (std::size_t index = 0; index < atoms.size(); ++index) {
    const Atom& atom = atoms[index];
    Wrong wrong = wrong_with(file.box, atoms.size(), atom);
    if (wrong == Wrong::nothing && seen[atom.id]) wrong = Wrong::id_twice;
    if (wrong != Wrong::nothing) return wrong_atom(file, wrong, index, atom, 0);
    seen[atom.id] = true;
    by_id[atom.id] = atom;
  }
  return by_id;
}

}  // namespace

Result<Outcome> simulate_serially(const AtomFile& file, const Settings& settings) {
  Outcome outcome;
  outcome.begin = apps::process_memory_now();
  const Instant begin = now();
  auto read = read_by_id(file);
  if (!read) return read.error();
  outcome.read_seconds = seconds_since(begin);
  outcome.taken = apps::process_memory_now();
  SerialAtoms atoms(file.box, std::move(read.value()));
  atoms.push();
  outcome.sums.push_back(atoms.sums(0));
  for (std::uint32_t step = 1; step <= settings.steps; ++step) {
    atoms.kick(settings.step_time / 2);
    const std::size_t lost = atoms.drift(settings.step_time);
    if (lost != atoms.atoms().size()) {
      return wrong_atom(file, Wrong::flew, lost, atoms.atoms()[lost], step);
    }
    atoms.push();
    atoms.kick(settings.step_time / 2);
    if (step % settings.every == 0 || step == settings.steps) {
      outcome.sums.push_back(atoms.sums(step));
    }
  }
  outcome.end = apps::process_memory_now();
  outcome.seconds = seconds_since(begin);
  if (settings.keep_atoms) {
    outcome.atoms = atoms.atoms();
    outcome.forces = atoms.forces();
  }
  return outcome;
}

}  // namespace k2k::comd
