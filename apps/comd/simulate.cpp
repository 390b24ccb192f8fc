#include "apps/comd/simulate.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <optional>
#include <utility>

#include "apps/common/phase_machine.hpp"
#include "base/clock.hpp"

namespace k2k::comd {

namespace {

// A run of the kernels on a file: its memory, its launches, and what it found.
class Simulation {
 public:
  Simulation(apps::PhaseMachine& machine, const AtomFile& file, const Settings& settings)
      : machine_(machine), file_(file), settings_(settings) {}

  Status prepare() {
    auto memory =
        machine_.take_input(file_, settings_.mode, apps::Use::change, "atoms", "k2k-comd");
    if (!memory) return memory.error();
    memory_.emplace(std::move(memory.value()));
    job_.box = file_.box;
    job_.atom_count = file_.header.atoms;
    job_.step_time = settings_.step_time;
    job_.atoms = memory_->as<Atom>();
    const std::size_t cells = job_.box.cell_count();
    const auto forces = machine_.allocate(job_.atom_count * sizeof(Force));
    const auto slots = machine_.allocate(cells * cell_atoms_most * sizeof(std::uint64_t));
    const auto counts = machine_.allocate(2 * cells * sizeof(std::uint32_t));
    const auto seen = machine_.allocate((job_.atom_count + 31) / 32 * sizeof(std::uint32_t));
    const auto wrong = machine_.allocate(sizeof(std::uint64_t));
    const auto totals = machine_.allocate_shared(job_.totals_count() * sizeof(Totals));
    for (const auto* const each : {&forces, &slots, &counts, &seen, &wrong, &totals}) {
      if (!*each) return each->error();
    }
    job_.forces = static_cast<Force*>(*forces);
    job_.slots = static_cast<std::uint64_t*>(*slots);
    job_.counts = static_cast<std::uint32_t*>(*counts);
    job_.seen = static_cast<std::uint32_t*>(*seen);
    job_.wrong = static_cast<std::uint64_t*>(*wrong);
    job_.totals = static_cast<Totals*>(*totals);
    return machine_.copy(job_.wrong, &no_wrong, sizeof(no_wrong));
  }

  Status run(Outcome& outcome) {
    if (Status taken = launch(Phase::take, 0, outcome); !taken) return taken;
    apps::note_taken(outcome);
    if (Status right = judge(0); !right) return right;
    for (const Phase phase : {Phase::order, Phase::first_push}) {
      if (Status done = launch(phase, 0, outcome); !done) return done;
    }
    if (Status summed = sum_up(0, outcome); !summed) return summed;
    for (std::uint32_t step = 1; step <= settings_.steps; ++step) {
      if (Status made = make_step(step, outcome); !made) return made;
      if (step % settings_.every != 0 && step != settings_.steps) continue;
      if (Status summed = sum_up(step, outcome); !summed) return summed;
    }
    machine_.note_end(outcome, *memory_);
    return settings_.keep_atoms ? keep(outcome) : Status{};
  }

 private:
  Status launch(Phase phase, std::uint32_t odd, Outcome& outcome) {
    return machine_.make_phase(
        file_, outcome,
        [&](Runtime& runtime, const LaunchShape& shape) {
          return launch_phase(runtime, shape, phase, odd, job_);
        },
        [&](const Share& share) { make_share(phase, share, odd, job_); });
  }

  Status make_step(std::uint32_t step, Outcome& outcome) {
    const std::uint32_t odd = step & 1;
    if (Status moved = launch(Phase::move, odd, outcome); !moved) return moved;
    if (Status right = judge(step); !right) return right;
    if (Status ordered = launch(Phase::order, odd, outcome); !ordered) return ordered;
    return launch(Phase::push, odd, outcome);
  }

  // An error if a kernel found an atom that is wrong.
  Status judge(std::uint64_t step) {
    std::uint64_t word = no_wrong;
    if (Status copied = machine_.copy(&word, job_.wrong, sizeof(word)); !copied) return copied;
    if (word == no_wrong) return {};
    if (Status whole = apps::still_whole(file_); !whole) return whole;
    Atom atom{};
    const std::uint64_t index = word >> 8;
    if (Status copied = machine_.copy(&atom, job_.atoms + index, sizeof(atom)); !copied) {
      return copied;
    }
    return wrong_atom(file_, static_cast<Wrong>(word & 0xff), index, atom, step);
  }

  Status sum_up(std::uint64_t step, Outcome& outcome) {
    if (Status done = launch(Phase::sum, 0, outcome); !done) return done;
    Sums sums;
    sums.step = step;
    outcome.bits = 0;
    for (std::uint64_t block = 0; block < job_.totals_count(); ++block) {
      const Totals& totals = job_.totals[block];
      sums.potential += totals.potential;
      sums.kinetic += totals.kinetic;
      for (std::uint32_t axis = 0; axis < 3; ++axis) {
        sums.momentum[axis] += totals.momentum[axis];
      }
      outcome.bits += totals.bits;
    }
    outcome.sums.push_back(sums);
    return {};
  }

  Status keep(Outcome& outcome) {
    std::vector<Atom> atoms(job_.atom_count);
    std::vector<Force> forces(job_.atom_count);
    if (Status copied = machine_.copy(atoms.data(), job_.atoms, file_.bytes); !copied) {
      return copied;
    }
    if (Status copied = machine_.copy(forces.data(), job_.forces, forces.size() * sizeof(Force));
        !copied) {
      return copied;
    }
    outcome.atoms.resize(atoms.size());
    outcome.forces.resize(atoms.size());
    for (std::size_t index = 0; index < atoms.size(); ++index) {
      outcome.atoms[atoms[index].id] = atoms[index];
      outcome.forces[atoms[index].id] = forces[index];
    }
    return {};
  }

  apps::PhaseMachine& machine_;
  const AtomFile& file_;
  const Settings& settings_;
  std::optional<apps::InputMemory> memory_;
  Job job_;
};

}  // namespace

double Outcome::drift() const {
  double most = 0;
  for (const Sums& one : sums) {
    most = std::max(most, std::abs(one.energy() - sums.front().energy()));
  }
  return sums.empty() ? 0 : most / std::abs(sums.front().energy());
}

double Outcome::momentum() const {
  double most = 0;
  for (const Sums& one : sums) {
    for (const double component : one.momentum) most = std::max(most, std::abs(component));
  }
  return most;
}

Result<Outcome> simulate(const AtomFile& file, const Settings& settings,
                         const RuntimeConfig& config) {
  if (settings.by == By::serial) return simulate_serially(file, settings);
  Outcome outcome;
  apps::Resident resident(settings.sampled, file.descriptor.number(), file.size);
  outcome.begin = apps::process_memory_now();
  resident.mark();
  const Instant begin = now();
  const apps::PhaseParts parts = {settings.groups, settings.items, settings.threads};
  const auto machine = settings.by == By::threads ? apps::PhaseMachine::of_threads(parts)
                                                  : apps::PhaseMachine::of_device(config, parts);
  if (!machine) return machine.error();
  Simulation simulation(**machine, file, settings);
  if (Status ready = simulation.prepare(); !ready) return ready.error();
  outcome.read_seconds = seconds_since(begin);
  resident.mark();
  if (Status done = simulation.run(outcome); !done) return done.error();
  outcome.seconds = seconds_since(begin);
  resident.mark();
  outcome.resident = resident.end();
  return outcome;
}

}  // namespace k2k::comd
