#pragma once
// The kernels of CoMD. A step of velocity Verlet (Swope et al., J. Chem. Phys. 76, 1982) is three
// launches, because a launch is the only barrier of all work-groups:
//
//   move    half a kick, drift, and each atom into its cell
//   order   each cell's atoms by their ids, so that a sum has one order and the result one value
//   push    forces by the cells around, and the second half of the kick
//
// Before the first step `take` judges the atoms of the file and puts them into cells. A work-item
// takes a page of atoms (take, move), a cell (order, push) or totals_atoms atoms (sum).
//
// Threads of the host run the same code: each function makes the share of one work-item or thread.
//
// Threading: device code and host code; no two shares write the same word but by AtomicRef.

#include "apps/comd/job.hpp"
#include "apps/comd/pair.hpp"
#include "apps/common/share.hpp"
#include "device/atomic.hpp"

namespace k2k::comd {

using apps::Share;

K2K_HD inline void tell_wrong(const Job& job, std::uint64_t index, Wrong wrong) {
  k2k::AtomicRef(*job.wrong).fetch_min(index << 8 | static_cast<std::uint64_t>(wrong));
}

// Calls `each` with the index of every atom of the share's pages.
template <class Each>
K2K_HD inline void for_my_pages(const Job& job, const Share& share, const Each& each) {
  for (std::uint64_t first = share.rank * atoms_a_page; first < job.atom_count;
       first += share.count * atoms_a_page) {
    const std::uint64_t rest = job.atom_count - first;
    const std::uint64_t end = first + (rest < atoms_a_page ? rest : atoms_a_page);
    for (std::uint64_t index = first; index < end; ++index) each(index);
  }
}

K2K_HD inline void put_into_cell(const Job& job, std::uint64_t index, const Atom& atom,
                                 std::uint32_t odd) {
  const std::uint32_t cell = cell_of(job.box, atom.place);
  std::uint32_t& count = job.counts[std::size_t{odd} * job.box.cell_count() + cell];
  const std::uint32_t slot = k2k::AtomicRef(count).fetch_add(1);
  if (slot >= cell_atoms_most) return tell_wrong(job, index, Wrong::crowded);
  job.slots[std::size_t{cell} * cell_atoms_most + slot] = atom.id << 32 | index;
}

K2K_HD inline std::uint32_t atoms_in(const Job& job, std::uint32_t cell, std::uint32_t odd) {
  const std::uint32_t count = job.counts[std::size_t{odd} * job.box.cell_count() + cell];
  return count < cell_atoms_most ? count : cell_atoms_most;
}

K2K_HD inline void take(const Job& job, const Share& share) {
  for_my_pages(job, share, [&](std::uint64_t index) {
    const Atom atom = job.atoms[index];
    Wrong wrong = wrong_with(job.box, job.atom_count, atom);
    if (wrong == Wrong::nothing) {
      const std::uint32_t bit = 1u << (atom.id % 32);
      if ((k2k::AtomicRef(job.seen[atom.id / 32]).fetch_or(bit) & bit) != 0) {
        wrong = Wrong::id_twice;
      }
    }
    if (wrong != Wrong::nothing) return tell_wrong(job, index, wrong);
    put_into_cell(job, index, atom, 0);
  });
}

K2K_HD inline void move(const Job& job, const Share& share, std::uint32_t odd) {
  for_my_pages(job, share, [&](std::uint64_t index) {
    Atom& atom = job.atoms[index];
    const Force& force = job.forces[index];
    for (std::uint32_t axis = 0; axis < 3; ++axis) {
      const double side = job.box.side[axis];
      atom.velocity[axis] += 0.5 * job.step_time * force.force[axis];
      double to = atom.place[axis] + job.step_time * atom.velocity[axis];
      if (to < 0) {
        to += side;
      } else if (to >= side) {
        to -= side;
      }
      // A sum may round to the side itself, which is the place 0.
      if (to == side) to = 0;
      if (!(to >= 0 && to < side)) return tell_wrong(job, index, Wrong::flew);
      atom.place[axis] = to;
    }
    put_into_cell(job, index, atom, odd);
  });
}

K2K_HD inline void order(const Job& job, const Share& share, std::uint32_t odd) {
  for (std::uint64_t cell = share.rank; cell < job.box.cell_count(); cell += share.count) {
    std::uint64_t* const slots = job.slots + cell * cell_atoms_most;
    const std::uint32_t count = atoms_in(job, static_cast<std::uint32_t>(cell), odd);
    for (std::uint32_t end = 1; end < count; ++end) {
      const std::uint64_t slot = slots[end];
      std::uint32_t place = end;
      for (; place > 0 && slots[place - 1] > slot; --place) slots[place] = slots[place - 1];
      slots[place] = slot;
    }
  }
}

// The force on one atom by all atoms of the cells around.
K2K_HD inline Force force_on(const Job& job, std::uint32_t index, const std::uint32_t* neighbours,
                             std::uint32_t count, std::uint32_t odd) {
  const double* const side = job.box.side;
  const double x = job.atoms[index].place[0];
  const double y = job.atoms[index].place[1];
  const double z = job.atoms[index].place[2];
  Force sum = {};
  for (std::uint32_t at = 0; at < count; ++at) {
    const std::uint64_t* const slots = job.slots + std::size_t{neighbours[at]} * cell_atoms_most;
    const std::uint32_t atoms = atoms_in(job, neighbours[at], odd);
    for (std::uint32_t slot = 0; slot < atoms; ++slot) {
      const auto other = static_cast<std::uint32_t>(slots[slot]);
      if (other == index) continue;
      const double* const place = job.atoms[other].place;
      const double dx = nearest(x - place[0], side[0]);
      const double dy = nearest(y - place[1], side[1]);
      const double dz = nearest(z - place[2], side[2]);
      const double square = dx * dx + dy * dy + dz * dz;
      if (!(square < cutoff * cutoff)) continue;
      const Pair pair = pair_of(square);
      sum.force[0] += pair.push * dx;
      sum.force[1] += pair.push * dy;
      sum.force[2] += pair.push * dz;
      sum.potential += 0.5 * pair.energy;
    }
  }
  return sum;
}

// `kick`: also half a step of the velocity. Empties the cells of the next step.
K2K_HD inline void push(const Job& job, const Share& share, std::uint32_t odd, bool kick) {
  const std::uint32_t cells = job.box.cell_count();
  for (std::uint64_t at = share.rank; at < cells; at += share.count) {
    const auto cell = static_cast<std::uint32_t>(at);
    std::uint32_t neighbours[neighbours_most];
    const std::uint32_t count = neighbours_of(job.box, cell, neighbours);
    const std::uint32_t atoms = atoms_in(job, cell, odd);
    for (std::uint32_t slot = 0; slot < atoms; ++slot) {
      const auto index =
          static_cast<std::uint32_t>(job.slots[std::size_t{cell} * cell_atoms_most + slot]);
      const Force force = force_on(job, index, neighbours, count, odd);
      job.forces[index] = force;
      if (!kick) continue;
      for (std::uint32_t axis = 0; axis < 3; ++axis) {
        job.atoms[index].velocity[axis] += 0.5 * job.step_time * force.force[axis];
      }
    }
    job.counts[std::size_t{odd ^ 1} * cells + cell] = 0;
  }
}

// One block of totals. The sum of bits has no order: equal for every order of the file.
K2K_HD inline Totals totals_of(const Job& job, std::uint64_t first, std::uint64_t end) {
  Totals sum;
  for (std::uint64_t index = first; index < end; ++index) {
    Atom atom = job.atoms[index];
    sum.potential += job.forces[index].potential;
    for (std::uint32_t axis = 0; axis < 3; ++axis) {
      sum.kinetic += 0.5 * atom.velocity[axis] * atom.velocity[axis];
      sum.momentum[axis] += atom.velocity[axis];
    }
    sum.bits += check_of(atom);
  }
  return sum;
}

K2K_HD inline void sum(const Job& job, const Share& share) {
  for (std::uint64_t block = share.rank; block < job.totals_count(); block += share.count) {
    const std::uint64_t first = block * totals_atoms;
    const std::uint64_t rest = job.atom_count - first;
    job.totals[block] = totals_of(job, first, first + (rest < totals_atoms ? rest : totals_atoms));
  }
}

}  // namespace k2k::comd
