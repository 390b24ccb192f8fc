// `k2k-comd`: options in, energies and memory on standard output.

#include "apps/comd/command.hpp"

#include <fmt/format.h>

#include <memory>
#include <new>
#include <nlohmann/json.hpp>

#include "apps/comd/lattice.hpp"
#include "apps/comd/simulate.hpp"
#include "apps/common/core_shares.hpp"
#include "apps/common/parts_options.hpp"
#include "apps/common/run_json.hpp"

namespace k2k::cli {

namespace {

struct ComdFlags {
  std::string file;
  std::string by = "kernel";
  std::string mode = "demand";
  std::string generated;
  comd::Lattice lattice;
  comd::Settings settings;
};

int tell(const std::string& message, int status = exit_failure) {
  fmt::print(stderr, "k2k-comd: {}\n", message);
  return status;
}

nlohmann::ordered_json json_of(const comd::Sums& sums) {
  return {{"step", sums.step},
          {"potential", sums.potential},
          {"kinetic", sums.kinetic},
          {"energy", sums.energy()},
          {"momentum", {sums.momentum[0], sums.momentum[1], sums.momentum[2]}}};
}

std::string json_text(const comd::AtomFile& file, const comd::Outcome& outcome,
                      const ComdFlags& flags) {
  nlohmann::ordered_json object = {{"by", flags.by},
                                   {"mode", flags.by == "serial" ? "read" : flags.mode},
                                   {"atoms", file.header.atoms},
                                   {"sorted", file.header.sorted != 0},
                                   {"steps", flags.settings.steps},
                                   {"dt", flags.settings.step_time},
                                   {"seconds", outcome.seconds},
                                   {"read_seconds", outcome.read_seconds},
                                   {"take_seconds", outcome.take_seconds},
                                   {"kernel_seconds", outcome.kernel_seconds},
                                   {"drift", outcome.drift()},
                                   {"momentum_most", outcome.momentum()},
                                   {"bits", fmt::format("{:016x}", outcome.bits)},
                                   {"fault_requests", outcome.requests},
                                   {"demand_pages", outcome.pages},
                                   {"huge_bytes", outcome.huge_bytes},
                                   {"begin", apps::json_of(outcome.begin)},
                                   {"taken", apps::json_of(outcome.taken)},
                                   {"end", apps::json_of(outcome.end)},
                                   {"resident", apps::json_of(outcome.resident)}};
  nlohmann::ordered_json& sums = object["sums"] = nlohmann::ordered_json::array();
  for (const comd::Sums& one : outcome.sums) sums.push_back(json_of(one));
  return object.dump() + "\n";
}

std::string table_text(const comd::AtomFile& file, const comd::Outcome& outcome) {
  const auto atoms = static_cast<double>(file.header.atoms);
  std::string text = fmt::format("{:>8} {:>14} {:>14} {:>14}   an atom\n", "step", "potential",
                                 "kinetic", "energy");
  for (const comd::Sums& one : outcome.sums) {
    text += fmt::format("{:>8} {:>14.8f} {:>14.8f} {:>14.8f}\n", one.step, one.potential / atoms,
                        one.kinetic / atoms, one.energy() / atoms);
  }
  text += fmt::format("{} atoms, drift {:.2e}, momentum {:.2e}\n", file.header.atoms,
                      outcome.drift(), outcome.momentum());
  return text + apps::text_of(outcome);
}

int generate(const ComdFlags& flags) try {
  const Status made = comd::generate(flags.generated, flags.lattice);
  return made ? exit_ok : tell(made.error().message);
} catch (const std::bad_alloc&) {
  return tell(fmt::format("no memory for {} unit cells a side; take fewer --unit-cells",
                          flags.lattice.unit_cells));
}

// Of numbers with a fraction; the parser judges the others. Empty: all are right.
std::string wrong_number(const ComdFlags& flags) {
  const struct {
    const char* name;
    double value;
    double least;
    double most;
  } ranges[] = {{"--dt", flags.settings.step_time, 1e-9, 1},
                {"--lattice", flags.lattice.constant, 0.5, 100},
                {"--temperature", flags.lattice.temperature, 0, 100}};
  for (const auto& one : ranges) {
    if (one.value >= one.least && one.value <= one.most) continue;
    return fmt::format("{} {}; permitted are {} to {}", one.name, one.value, one.least, one.most);
  }
  return {};
}

int run_comd(ComdFlags& flags, const Context& context) {
  if (const std::string wrong = wrong_number(flags); !wrong.empty()) return tell(wrong, exit_usage);
  if (!flags.generated.empty()) {
    if (flags.file.empty()) return generate(flags);
    return tell("--generate makes files and computes nothing; leave out FILE", exit_usage);
  }
  if (flags.file.empty()) {
    return tell("name a FILE of atoms; --generate FOLDER makes two", exit_usage);
  }
  auto loaded = context.load();
  if (!loaded) return complain_config(loaded.error());
  apps::share_cores(loaded.value());
  const auto file = comd::open_atoms(flags.file);
  if (!file) return tell(file.error().message);
  flags.settings.by = flags.by == "serial"    ? comd::By::serial
                      : flags.by == "threads" ? comd::By::threads
                                              : comd::By::kernel;
  flags.settings.mode = apps::mode_of(flags.mode);
  const auto outcome = comd::simulate(*file, flags.settings, loaded.value().config);
  if (!outcome) return tell(outcome.error().message);
  return print(context.json ? json_text(*file, *outcome, flags) : table_text(*file, *outcome));
}

Run add_comd(CommandLine& line, Context& context) {
  auto flags = std::make_shared<ComdFlags>();
  comd::Settings& settings = flags->settings;
  line.option("FILE", flags->file, "File of atoms that --generate made");
  line.option(
          "--by", flags->by,
          "Who computes: a kernel; threads of the host by the same code, without a device; or one "
          "thread by another method")
      .one_of({"kernel", "threads", "serial"})
      .show_default()
      .last_wins();
  line.option("--mode", flags->mode,
              "When the atoms come into memory: at the first access (demand), or before the launch "
              "(pinned: pages of 4 KiB; huge: of 2 MiB). Not of --by serial")
      .one_of(apps::mode_words())
      .show_default()
      .last_wins();
  line.option("--steps", settings.steps, "Steps of velocity Verlet")
      .within(1, 1'000'000)
      .show_default()
      .last_wins();
  line.option("--every", settings.every, "Steps between two rows of energies")
      .within(1, 1'000'000)
      .show_default()
      .last_wins();
  line.option("--dt", settings.step_time, "Time of a step, in units of the potential; 1e-9 to 1")
      .show_default()
      .last_wins();
  add_parts_options(line, settings);
  line.flag("--resident", settings.sampled,
            "With --json: resident memory all the time, not only before and after the steps");
  line.option(
          "--generate", flags->generated,
          "Make this new folder, with the same atoms in the files sorted and unsorted, and compute "
          "nothing")
      .type("FOLDER");
  line.option("--unit-cells", flags->lattice.unit_cells,
              "Of --generate: unit cells of the lattice a side; each has four atoms")
      .within(1, 400)
      .show_default();
  line.option("--lattice", flags->lattice.constant,
              "Of --generate: side of a unit cell, in units of the potential; 0.5 to 100")
      .show_default();
  line.option("--temperature", flags->lattice.temperature,
              "Of --generate: temperature of the velocities, in units of the potential; 0 to 100")
      .show_default();
  line.option("--seed", flags->lattice.seed, "Of --generate: equal seeds make equal files")
      .show_default();
  return [&context, flags] { return run_comd(*flags, context); };
}

}  // namespace

Command comd_command() {
  return {
      .name = "comd",
      .summary = "Molecular dynamics on atoms of a mapped file",
      .description =
          "Moves the atoms of FILE by velocity Verlet and the potential of Lennard and Jones, cut "
          "at 2.5, in a periodic box. Kernels put the atoms into cells and compute the forces. "
          "The atoms lie in memory whose pages come from FILE when a kernel first touches them, or "
          "that was read before the launch. Prints energies, their drift, times, page faults and "
          "resident memory; FILE itself never changes. Lengths, energies and masses are in units "
          "of the potential.",
      .examples = {{"k2k-comd --generate in", "Make in/sorted and in/unsorted: 6,912 atoms."},
                   {"k2k-comd in/sorted", "100 steps; each page comes at its first access."},
                   {"k2k-comd --mode huge in/unsorted", "The same from pages of 2 MiB."},
                   {"k2k-comd --by serial in/sorted", "The same by one thread of the host."}},
      .exits = {{0, "All steps were made."},
                {1, "The file or an atom is wrong, or the device could not be used."},
                {2, "An option is wrong."}},
      .has_json = true,
      .add = add_comd};
}

}  // namespace k2k::cli
