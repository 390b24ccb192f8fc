#pragma once
// CoMD as one call: a file of atoms in, energies over the steps out, by each of its ways.
//
// Threading: one thread; it starts a runtime.

#include <cstdint>
#include <vector>

#include "apps/comd/atom_file.hpp"
#include "apps/comd/kernel.hpp"
#include "apps/common/phase_machine.hpp"
#include "runtime/settings/config.hpp"

namespace k2k::comd {

using apps::Mode;

enum class By : std::uint8_t {
  kernel,   // Three launches a step.
  threads,  // Of the host, by the kernels' code: Linux serves the faults of a mapped file.
  serial,   // One thread of the host, by another method: each pair once. No device.
};

struct Settings {
  By by = By::kernel;
  Mode mode = Mode::demand;
  std::uint32_t steps = 100;
  std::uint32_t every = 10;  // Steps between two sums of the energies; the last step has one.
  double step_time = 0.002;
  std::uint32_t groups = 0;  // 0: the default of the machine, as of the next two.
  std::uint32_t items = 0;
  std::uint32_t threads = 0;  // Of By::threads.
  bool sampled = false;       // Memory all the time, not only between the steps. Not of By::serial.
  bool keep_atoms = false;    // Outcome::atoms and forces.
};

struct Sums {
  std::uint64_t step = 0;
  double potential = 0;
  double kinetic = 0;
  double momentum[3] = {};
  [[nodiscard]] double energy() const { return potential + kinetic; }
};

struct Outcome : apps::InputRun {
  std::vector<apps::ResidentSample> resident;  // Before the atoms, after their load, at the end.
  std::vector<Sums> sums;                      // The first: of the file.
  std::uint64_t bits = 0;     // Over all atoms' last places and velocities; 0 for serial.
  std::vector<Atom> atoms;    // By id, if they were to be kept; checks as in the file.
  std::vector<Force> forces;  // By id.

  // The largest |E - E of the file| / |E of the file|, and the largest component of the momentum.
  [[nodiscard]] double drift() const;
  [[nodiscard]] double momentum() const;
};

// Errors: as apps::PhaseMachine, launch() and apps::InputMemory::create(); EINVAL (an atom that is
// wrong, or that flew); EIO (the file became shorter). By threads, a mapped file that became
// shorter ends the process, with one line and status 1.
Result<Outcome> simulate(const AtomFile& file, const Settings& settings,
                         const RuntimeConfig& config);

// In serial.cpp. Errors: as read_atoms(); EINVAL (an atom that is wrong).
Result<Outcome> simulate_serially(const AtomFile& file, const Settings& settings);

}  // namespace k2k::comd
