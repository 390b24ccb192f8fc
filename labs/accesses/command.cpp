// `k2k-accesses`: programs in, a file for each program, order and round out.

#include "labs/accesses/command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/temporary_folder.hpp"
#include "bench/command/progress.hpp"
#include "labs/accesses/runs.hpp"

namespace k2k::cli {

namespace {

namespace fs = std::filesystem;
using labs::accesses::Recordable;
using labs::accesses::RunSettings;

struct AccessesFlags {
  std::string folder;
  std::vector<std::string> programs;
  std::uint32_t rounds = 3;
  std::uint64_t seed = 1;
  bool quick = false;
};

int tell(const std::string& message, int status = exit_failure) {
  fmt::print(stderr, "k2k-accesses: {}\n", message);
  return status;
}

int record(const Recordable& program, bool sorted, std::uint32_t round, const AccessesFlags& flags,
           const fs::path& inputs) {
  const std::string name =
      fmt::format("{}-{}-{:02}", program.name, sorted ? "sorted" : "unsorted", round);
  const auto trace =
      program.run({sorted, flags.quick, 1'000 * flags.seed + round, inputs.string()});
  if (!trace) return tell(trace.error().message);
  const std::string path = (fs::path(flags.folder) / (name + ".accesses")).string();
  if (Status written = labs::translation::write_trace(path, *trace); !written) {
    return tell(written.error().message);
  }
  const auto& accesses = trace->accesses;
  return print(fmt::format("{}: {} wavefronts, {} instructions, {} lines of {} MiB\n", path,
                           accesses.waves.size(), accesses.instructions.size(),
                           accesses.lines.size(), trace->bytes >> 20));
}

int run_accesses(const AccessesFlags& flags) {
  if (flags.folder.empty()) return tell("name the FOLDER of the files", exit_usage);
  std::error_code error;
  fs::create_directories(flags.folder, error);
  if (error) return tell(fmt::format("{}: {}", flags.folder, error.message()));
  const auto inputs = TemporaryFolder::create("k2k-accesses");
  if (!inputs) return tell(inputs.error().message);
  std::vector<const Recordable*> programs;
  for (const Recordable& program : labs::accesses::recordables()) {
    const auto& wanted = flags.programs;
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), program.name) != wanted.end()) {
      programs.push_back(&program);
    }
  }
  bench::Progress progress("k2k-accesses", "runs");
  std::size_t done = 0;
  // All programs in each round, so that the time left follows from what is done.
  for (std::uint32_t round = 0; round < flags.rounds; ++round) {
    for (const Recordable* const program : programs) {
      progress.tell(done++, flags.rounds * programs.size());
      const fs::path own = fs::path(inputs->path()) / fmt::format("{}-{}", program->name, round);
      for (const bool sorted : {true, false}) {
        if (!sorted && !program->has_order) continue;
        if (const int status = record(*program, sorted, round, flags, own); status != exit_ok) {
          return status;
        }
      }
      fs::remove_all(own, error);
    }
  }
  return exit_ok;
}

Run add_accesses(CommandLine& line, Context& /*context*/) {
  auto flags = std::make_shared<AccessesFlags>();
  std::vector<std::string> names;
  for (const Recordable& program : labs::accesses::recordables()) names.emplace_back(program.name);
  line.option("FOLDER", flags->folder, "Where the files go; made if it is missing");
  line.option("--program", flags->programs, "Only this program; may be given several times")
      .repeated()
      .one_of(names);
  line.option("--rounds", flags->rounds, "Inputs of seeds of their own")
      .within(1, 99)
      .show_default();
  line.option("--seed", flags->seed, "Equal seeds make equal files with equal builds")
      .show_default();
  line.flag("--quick", flags->quick, "Smaller inputs, fewer accesses");
  return [flags] { return run_accesses(*flags); };
}

}  // namespace

Command accesses_command() {
  return {
      .name = "accesses",
      .summary = "Record the memory accesses of the programs of the thesis' chapter 4",
      .description =
          "Runs BPT, CoMD, miniAMR, miniFE, graph500 and XSBench on the cpu backend, with kernels "
          "whose every access is noted, and writes the accesses of their wavefronts to FOLDER: a "
          "file for each program, order of its input (sorted, unsorted) and round. 'k2k lab "
          "translation --traces FOLDER' replays them on the thesis' machine, simulated.",
      .examples = {{"k2k-accesses --quick traces", "All programs, in less than a minute."},
                   {"k2k-accesses --program bpt --rounds 10 traces", "One of them."}},
      .exits = {{0, "All files were written."},
                {1, "An input or a file could not be written, or the device not be used."},
                {2, "An option is wrong."}},
      .add = add_accesses};
}

}  // namespace k2k::cli
