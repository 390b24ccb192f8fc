// Goal: the kernels' forces are those of all pairs, and their steps the serial program's; energy
// and momentum stay; one file has the same bits in every mode, order and shape of launch; each
// wrong atom, and a file that becomes shorter, ends a run with its reason.

#include <unistd.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "apps/comd/atoms_fixture.hpp"
#include "apps/comd/pair.hpp"

namespace k2k::comd {
namespace {

using Comd = AtomsTest;

constexpr Mode modes[] = {Mode::demand, Mode::pinned};

// All images of all pairs, by powers: another method than those of the program.
std::vector<Force> forces_of_all_pairs(const Atoms& atoms) {
  const double shifted = 4 * (std::pow(2.5, -12) - std::pow(2.5, -6));
  std::vector<Force> forces(atoms.atoms.size());
  for (const Atom& atom : atoms.atoms) {
    for (const Atom& other : atoms.atoms) {
      for (int image = 0; image < 27; ++image) {
        const int by[3] = {image % 3 - 1, image / 3 % 3 - 1, image / 9 - 1};
        double apart[3];
        double square = 0;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          apart[axis] = atom.place[axis] - other.place[axis] + by[axis] * atoms.header.side[axis];
          square += apart[axis] * apart[axis];
        }
        const double distance = std::sqrt(square);
        if (atom.id == other.id || distance >= 2.5) continue;
        Force& force = forces[atom.id];
        force.potential += (4 * (std::pow(distance, -12) - std::pow(distance, -6)) - shifted) / 2;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          force.force[axis] +=
              (48 * std::pow(distance, -13) - 24 * std::pow(distance, -7)) * apart[axis] / distance;
        }
      }
    }
  }
  return forces;
}

// Atoms away from their lattice places, so that no force is zero.
Atoms shaken(std::uint32_t unit_cells) {
  Atoms atoms = make_atoms({.unit_cells = unit_cells, .temperature = 0.31, .seed = 2});
  for (Atom& atom : atoms.atoms) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      atom.place[axis] += 0.1 * atom.velocity[axis];
      const double side = atoms.header.side[axis];
      atom.place[axis] = std::fmod(atom.place[axis] + side, side);
    }
  }
  return atoms;
}

void expect_same_forces(const std::vector<Force>& some, const std::vector<Force>& others) {
  ASSERT_EQ(some.size(), others.size());
  double most = 0;
  for (std::size_t id = 0; id < some.size(); ++id) {
    EXPECT_NEAR(some[id].potential, others[id].potential, 1e-11);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      EXPECT_NEAR(some[id].force[axis], others[id].force[axis], 1e-10);
      most = std::max(most, std::abs(some[id].force[axis]));
    }
  }
  EXPECT_GT(most, 1) << "forces, and not zeros";
}

TEST(PairOfAtoms, has_its_least_energy_at_the_sixth_root_of_two_and_none_at_the_cutoff) {
  const double square = std::pow(2.0, 1.0 / 3);
  EXPECT_NEAR(pair_of(square).push, 0, 1e-13);
  EXPECT_NEAR(pair_of(square).energy, -1 - shift, 1e-13);
  EXPECT_NEAR(pair_of(cutoff * cutoff).energy, 0, 1e-15);
  EXPECT_NEAR(shift, -0.016316891, 1e-9);
  for (double distance = 0.9; distance < 2.4; distance += 0.1) {
    const double step = 1e-6;
    const double up = pair_of((distance + step) * (distance + step)).energy;
    const double down = pair_of((distance - step) * (distance - step)).energy;
    EXPECT_NEAR(pair_of(distance * distance).push * distance, (down - up) / (2 * step), 1e-5)
        << "the force is the energy's slope at " << distance;
  }
}

TEST_F(Comd, has_the_forces_of_all_pairs) {
  Atoms wide = shaken(5);
  wide.header.side[2] *= 1.7;  // Five cells, three in the other directions.
  for (const Atoms& atoms : {shaken(4), shaken(5), wide}) {
    const AtomFile file = file_of(atoms);
    const std::vector<Force> right = forces_of_all_pairs(atoms);
    for (const By by : {By::kernel, By::serial}) {
      const Outcome outcome = run(file, {.by = by, .steps = 0, .keep_atoms = true});
      expect_same_forces(outcome.forces, right);
      ASSERT_EQ(outcome.sums.size(), 1u);
      double potential = 0;
      for (const Force& force : right) potential += force.potential;
      EXPECT_NEAR(outcome.sums[0].potential / potential, 1, 1e-12);
    }
  }
}

TEST_F(Comd, makes_the_serial_programs_steps) {
  const AtomFile file = file_of(shaken(5));
  const Outcome serial = run(file, {.by = By::serial, .steps = 30, .keep_atoms = true});
  const Outcome kernel = run(file, {.steps = 30, .keep_atoms = true});
  expect_same_forces(kernel.forces, serial.forces);
  ASSERT_EQ(serial.sums.size(), 4u);
  ASSERT_EQ(kernel.sums.size(), 4u);
  for (std::size_t row = 0; row < 4; ++row) {
    EXPECT_EQ(kernel.sums[row].step, 10 * row);
    EXPECT_NEAR(kernel.sums[row].energy() / serial.sums[row].energy(), 1, 1e-12);
    EXPECT_NEAR(kernel.sums[row].kinetic / serial.sums[row].kinetic, 1, 1e-11);
  }
  for (std::size_t id = 0; id < 500; ++id) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double apart = kernel.atoms[id].place[axis] - serial.atoms[id].place[axis];
      EXPECT_NEAR(nearest(apart, file.box.side[axis]), 0, 1e-11);
      EXPECT_NEAR(kernel.atoms[id].velocity[axis], serial.atoms[id].velocity[axis], 1e-10);
    }
  }
}

TEST_F(Comd, keeps_energy_and_momentum) {
  const AtomFile file = file_of(make_atoms({.unit_cells = 4}));
  const Outcome fine = run(file, {.mode = Mode::pinned, .steps = 200, .every = 1});
  EXPECT_LT(fine.drift(), 3e-5);
  EXPECT_LT(fine.momentum(), 1e-11);
  EXPECT_LT(fine.sums.back().kinetic, 0.7 * fine.sums.front().kinetic)
      << "a lattice turns half of the kinetic energy into potential energy";
  // Verlet's error grows with the square of the step.
  const Outcome coarse =
      run(file, {.mode = Mode::pinned, .steps = 25, .every = 1, .step_time = 0.016});
  EXPECT_GT(coarse.drift(), 8 * fine.drift());
  EXPECT_LT(coarse.drift(), 3e-3);
}

TEST_F(Comd, has_the_same_bits_in_each_mode_order_and_shape) {
  Atoms atoms = shaken(5);
  sort_by_cell(atoms);
  const AtomFile sorted = file_of(atoms, "sorted");
  shuffle(atoms);
  const AtomFile unsorted = file_of(atoms, "unsorted");
  const Outcome right = run(sorted, {.steps = 5});
  EXPECT_NE(right.bits, run(sorted, {.steps = 6}).bits);
  for (const AtomFile* const file : {&sorted, &unsorted}) {
    for (const Mode mode : modes) {
      EXPECT_EQ(run(*file, {.mode = mode, .steps = 5}).bits, right.bits);
    }
    for (const Mode mode : modes) {
      EXPECT_EQ(run(*file, {.by = By::threads, .mode = mode, .steps = 5}).bits, right.bits);
    }
    EXPECT_EQ(run(*file, {.by = By::threads, .steps = 5, .groups = 7, .threads = 3}).bits,
              right.bits);
    EXPECT_EQ(run(*file, {.steps = 5, .groups = 1, .items = 1}).bits, right.bits);
    EXPECT_EQ(run(*file, {.steps = 5, .groups = 3, .items = 7}).bits, right.bits);
    EXPECT_EQ(run(*file, {.steps = 5, .groups = 64, .items = 64}).bits, right.bits);
  }
}

TEST_F(Comd, brings_each_page_in_once_on_demand_and_none_if_it_was_read_before) {
  const AtomFile file = file_of(shaken(5));  // 500 atoms: eight pages, the last one in part.
  const Outcome demand = run(file, {.steps = 3});
  EXPECT_EQ(demand.pages, 8u);
  EXPECT_GE(demand.requests, 1u);
  const Outcome pinned = run(file, {.mode = Mode::pinned, .steps = 3});
  EXPECT_EQ(pinned.pages, 0u);
  EXPECT_EQ(pinned.requests, 0u);
  EXPECT_GT(pinned.end.bytes, 0u);
  EXPECT_GT(pinned.seconds, pinned.kernel_seconds);
}

TEST_F(Comd, takes_huge_pages_if_linux_gives_them) {
  const AtomFile file = file_of(shaken(5));
  const auto huge = simulate(file, {.mode = Mode::huge, .steps = 3}, small_device());
  if (!huge) {
    EXPECT_EQ(huge.error().code, ENOTSUP);
    EXPECT_EQ(huge.error().message,
              "Linux gave no huge page; write madvise to "
              "/sys/kernel/mm/transparent_hugepage/enabled, free memory, or take --mode pinned");
    GTEST_SKIP() << huge.error().message;
  }
  EXPECT_EQ(huge->huge_bytes, std::uint64_t{2} << 20);
  EXPECT_EQ(huge->bits, run(file, {.steps = 3}).bits);
}

TEST_F(Comd, tells_a_stack_that_is_too_small_for_faults) {
  const AtomFile file = file_of(shaken(4));
  RuntimeConfig config = small_device();
  config.device.stack_bytes = 16u << 10;
  const auto refused = simulate(file, {.steps = 1}, config);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("device.stack_bytes"), std::string::npos)
      << refused.error().message;
  EXPECT_TRUE(simulate(file, {.mode = Mode::pinned, .steps = 1}, config));
}

TEST_F(Comd, never_writes_to_the_file) {
  const AtomFile file = file_of(shaken(4));
  const auto content = [&] {
    std::ostringstream text;
    text << std::ifstream(file.path, std::ios::binary).rdbuf();
    return text.str();
  };
  const std::string before = content();
  for (const By by : {By::kernel, By::threads}) {
    for (const Mode mode : modes) {
      static_cast<void>(run(file, {.by = by, .mode = mode, .steps = 3}));
    }
  }
  EXPECT_EQ(content(), before);
}

// The refusal of a file in which `change` made the atom at place 70 wrong; equal in every way.
template <class Test, class Change>
std::string refusal_of(const Test& refused, const Change& change) {
  Atoms atoms = make_atoms({.unit_cells = 4});
  change(atoms.atoms[70]);
  const std::string told = refused(atoms, Settings{.steps = 2});
  EXPECT_EQ(refused(atoms, Settings{.mode = Mode::pinned, .steps = 2}), told);
  EXPECT_EQ(refused(atoms, Settings{.by = By::threads, .steps = 2}), told);
  EXPECT_EQ(refused(atoms, Settings{.by = By::serial, .steps = 2}), told);
  return told;
}

TEST_F(Comd, tells_an_atom_that_is_wrong) {
  const auto refused = [this](const Atoms& atoms, const Settings& settings) {
    return refusal(file_of(atoms), settings);
  };
  EXPECT_EQ(refusal_of(refused, [](Atom& atom) { atom.check = 1; }),
            "atom 70 is damaged: its check does not fit; make the file anew with --generate");
  EXPECT_EQ(refusal_of(refused, [](Atom& atom) { atom.place[1] = std::nan(""); })
                .rfind("atom 70 has a place or a velocity that is not finite: (", 0),
            0u);
  EXPECT_EQ(
      refusal_of(refused,
                 [](Atom& atom) { atom.velocity[2] = std::numeric_limits<double>::infinity(); })
          .rfind("atom 70 has a place or a velocity that is not finite: (", 0),
      0u);
  EXPECT_EQ(refusal_of(refused,
                       [](Atom& atom) {
                         atom.place[0] = 7;
                         atom.place[1] = 1;
                         atom.place[2] = 2;
                       }),
            "atom 70 lies at (7, 1, 2), outside the box of 6.2464 x 6.2464 x 6.2464; make the file "
            "anew with --generate");
  EXPECT_NE(refusal_of(refused, [](Atom& atom) { atom.place[2] = -1e-9; }).find("outside the box"),
            std::string::npos);
  EXPECT_EQ(refusal_of(refused, [](Atom& atom) { atom.id = 256; }),
            "atom 70 has the id 256, but the ids of 256 atoms end at 255; make the file anew with "
            "--generate");
  EXPECT_EQ(refusal_of(refused, [](Atom& atom) { atom.id = 69; }),
            "atom 70 has the id 69, as another atom has; make the file anew with --generate");
}

TEST_F(Comd, tells_the_first_of_several_wrong_atoms) {
  Atoms atoms = make_atoms({.unit_cells = 4});
  for (const std::size_t index : {255u, 64u, 130u}) atoms.atoms[index].check = 1;
  EXPECT_EQ(refusal(file_of(atoms), {}).rfind("atom 64 is damaged", 0), 0u);
}

TEST_F(Comd, tells_atoms_that_fly_away) {
  Atoms atoms = make_atoms({.unit_cells = 4});
  for (const double apart : {0.0, 1e-9}) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      atoms.atoms[9].place[axis] = atoms.atoms[8].place[axis];
    }
    atoms.atoms[9].place[0] += apart;
    for (const By by : {By::kernel, By::serial}) {
      const std::string told = refusal(file_of(atoms), {.by = by, .steps = 3});
      EXPECT_EQ(told.rfind("step 1: atom ", 0), 0u) << told;
      EXPECT_NE(told.find("; take a smaller --dt, or a file without atoms at one place"),
                std::string::npos)
          << told;
    }
  }
}

TEST_F(Comd, tells_a_cell_with_too_many_atoms) {
  const AtomFile file = file_of(make_atoms({.unit_cells = 6, .constant = 1}));
  const std::string told = refusal(file, {.steps = 2});
  EXPECT_EQ(told.rfind("step 0: too many atoms in the cell of atom ", 0), 0u) << told;
  EXPECT_NE(told.find("make a file with a larger --lattice, or take a smaller --dt"),
            std::string::npos);
}

TEST_F(Comd, tells_a_file_that_becomes_shorter_while_it_is_mapped) {
  // At the begin of a page, so that an access ends the launch; within a page, where zeros follow.
  for (const long bytes : {4096 + 2 * 4096, 4096 + 2 * 4096 + 64, 4096, 0}) {
    for (const auto& [by, mode] :
         {std::pair{By::kernel, Mode::demand}, std::pair{By::kernel, Mode::pinned},
          std::pair{By::threads, Mode::pinned}, std::pair{By::serial, Mode::pinned}}) {
      const AtomFile file = file_of(make_atoms({.unit_cells = 4}));
      ASSERT_EQ(::truncate(file.path.c_str(), bytes), 0);
      EXPECT_EQ(refusal(file, {.by = by, .mode = mode, .steps = 2}),
                "the file became shorter while it was in use: " + std::to_string(bytes) +
                    " of 20480 bytes; make the file anew with --generate");
    }
  }
}

TEST_F(Comd, of_threads_ends_with_one_line_when_the_mapped_file_is_cut) {
  const AtomFile file = file_of(make_atoms({.unit_cells = 4}));
  ASSERT_EQ(::truncate(file.path.c_str(), 4096 + 2 * 4096), 0);
  EXPECT_EXIT(static_cast<void>(simulate(file, {.by = By::threads, .steps = 2}, small_device())),
              testing::ExitedWithCode(1),
              "^k2k-comd: .*the file became shorter while it was mapped: a page of it is gone");
}

TEST_F(Comd, tells_threads_that_cannot_be_started) {
  const AtomFile file = file_of(make_atoms({.unit_cells = 4}));
  apps::expect_too_few_threads([&](std::uint32_t threads) {
    const auto outcome = simulate(file, {.by = By::threads, .steps = 1, .threads = threads}, {});
    return outcome ? "no error" : outcome.error().message;
  });
}

TEST_F(Comd, samples_its_memory_from_before_the_atoms_to_the_end) {
  const AtomFile file = file_of(shaken(5));
  for (const By by : {By::kernel, By::threads}) {
    const Outcome outcome = run(file, {.by = by, .mode = Mode::pinned, .steps = 3});
    ASSERT_EQ(outcome.resident.size(), 3u) << "the marks alone";
    EXPECT_EQ(outcome.resident.back().cached, (file.size + 4095) / 4096 * 4096);
    EXPECT_GT(outcome.resident.back().own(), 0u);
    EXPECT_LE(outcome.resident[0].seconds, outcome.resident[1].seconds);
    EXPECT_GE(run(file, {.by = by, .steps = 3, .sampled = true}).resident.size(), 3u);
  }
}

}  // namespace
}  // namespace k2k::comd
