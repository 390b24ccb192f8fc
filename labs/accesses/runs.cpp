#include "labs/accesses/runs.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "apps/bpt/tree.hpp"
#include "apps/comd/lattice.hpp"
#include "apps/comd/simulate.hpp"
#include "apps/common/counter_random.hpp"
#include "apps/graph500/generate.hpp"
#include "apps/graph500/search.hpp"
#include "apps/miniamr/amr.hpp"
#include "apps/minife/mesh.hpp"
#include "apps/minife/solve.hpp"
#include "apps/xsbench/tables.hpp"
#include "labs/accesses/recorder.hpp"
#include "labs/accesses/searches.hpp"

namespace k2k::labs::accesses {

namespace {

using translation::RecordedTrace;

constexpr std::uint32_t lanes = translation::thesis::lanes;

// Work-items run one after another, as the recorder needs.
RuntimeConfig one_unit() {
  RuntimeConfig config;
  config.backend = "cpu";
  config.device.compute_units = 1;
  config.device.watchdog_ms = 0;  // A recorded launch is slow on a busy machine, and never stuck.
  return config;
}

// Wants a recording while it lives.
class Wish {
 public:
  explicit Wish(const Limits& limits) : wanted_{limits, {}, 0} { wanted() = &wanted_; }
  ~Wish() { wanted() = nullptr; }
  Wish(const Wish&) = delete;
  Wish& operator=(const Wish&) = delete;

  Result<RecordedTrace> take(const char* program, bool sorted) {
    if (wanted_.trace.instructions.empty()) {
      return Error{EIO, std::string(program) + ": its kernel made no access to its memory"};
    }
    return RecordedTrace{program, sorted, wanted_.bytes, std::move(wanted_.trace)};
  }

 private:
  Wanted wanted_;
};

std::uint32_t groups_for(std::uint64_t items) {
  return static_cast<std::uint32_t>((items + lanes - 1) / lanes);
}

// The run of the other order has made both files.
bool has_inputs(const RunSettings& settings) {
  std::error_code ignored;
  return std::filesystem::exists(settings.folder, ignored);
}

const char* file_of(bool sorted) { return sorted ? "/sorted" : "/unsorted"; }

Result<RecordedTrace> run_comd(const RunSettings& settings) {
  comd::Lattice lattice;
  lattice.unit_cells = settings.quick ? 24 : 56;
  lattice.seed = settings.seed;
  if (!has_inputs(settings)) {
    if (Status made = comd::generate(settings.folder, lattice); !made) return made.error();
  }
  const auto file = comd::open_atoms(settings.folder + file_of(settings.sorted));
  if (!file) return file.error();
  Wish wish({.waves = 128, .accesses = settings.quick ? 300u : 1'500u, .compute = 12});
  comd::Settings run;
  run.mode = apps::Mode::pinned;
  run.steps = 0;
  run.groups = groups_for(file->box.cell_count());
  run.items = lanes;
  const auto outcome = comd::simulate(*file, run, one_unit());
  if (!outcome) return outcome.error();
  return wish.take("comd", settings.sorted);
}

// One work-group makes all steps, so a step is recorded as a whole. The mesh has no seed: the
// sphere's way is another one in each of ten rounds.
Result<RecordedTrace> run_miniamr(const RunSettings& settings) {
  constexpr std::uint32_t items = 1'024;
  Wish wish({.waves = items / lanes, .accesses = 12'000, .compute = 6});
  miniamr::Settings run;
  run.roots_a_side = settings.quick ? 4 : 6;
  run.steps = 2;
  run.period = static_cast<std::uint32_t>(2 * (1 + settings.seed % 10));
  run.items = items;
  const auto outcome = miniamr::simulate(run, one_unit());
  if (!outcome) return outcome.error();
  return wish.take("miniamr", true);
}

Result<RecordedTrace> run_minife(const RunSettings& settings) {
  minife::Mesh mesh;
  mesh.elements = settings.quick ? 40 : 96;
  mesh.seed = settings.seed;
  if (!has_inputs(settings)) {
    if (Status made = minife::generate(settings.folder, mesh); !made) return made.error();
  }
  const auto file = minife::open_matrix(settings.folder + file_of(settings.sorted));
  if (!file) return file.error();
  Wish wish({.waves = 128, .accesses = settings.quick ? 300u : 1'500u, .compute = 5});
  minife::Settings run;
  run.mode = apps::Mode::pinned;
  run.iterations = 1;
  // A work-item takes a block of rows.
  run.groups = groups_for(file->layout.rows / minife::block_rows + 1);
  run.items = lanes;
  const auto outcome = minife::solve(*file, run, one_unit());
  if (!outcome) return outcome.error();
  return wish.take("minife", settings.sorted);
}

Result<RecordedTrace> run_graph500(const RunSettings& settings) {
  graph500::Recipe recipe;
  recipe.scale = settings.quick ? 17 : 20;
  recipe.seed = settings.seed;
  if (Status made = graph500::generate(settings.folder, recipe); !made) return made.error();
  Wish wish({.waves = 128, .accesses = settings.quick ? 300u : 1'500u, .compute = 9});
  graph500::Settings run;
  run.mode = apps::Mode::pinned;
  run.roots = 1;
  run.alone = 0;
  // A work-item takes a word of vertices.
  run.groups = groups_for((std::uint64_t{1} << recipe.scale) / 64);
  run.items = lanes;
  const auto outcome = graph500::search(settings.folder, run, one_unit());
  if (!outcome) return outcome.error();
  return wish.take("graph500", true);
}

Result<RecordedTrace> run_bpt(const RunSettings& settings) {
  const std::size_t count = settings.quick ? 2'000'000 : 24'000'000;
  const std::uint32_t waves = settings.quick ? 256 : 1'024;
  const std::vector<std::uint64_t> keys = bpt::keys_of(count, settings.seed);
  const bpt::MadeTree tree = bpt::tree_of(keys, settings.seed);
  // Keys that are there, spread over the whole tree.
  std::vector<std::uint64_t> asked(std::size_t{waves} * lanes);
  for (std::size_t at = 0; at < asked.size(); ++at) {
    asked[at] =
        keys[apps::below(static_cast<std::uint32_t>(count), apps::draw(settings.seed + 2, at))];
  }
  if (settings.sorted) {
    // As dense as the thesis' 15 million sorted keys in its tree of 20 GB: the first part of them.
    const std::size_t step = std::max<std::size_t>(1, 1'337'000'000 / 15'000'000);
    for (std::size_t at = 0; at < asked.size(); ++at) asked[at] = keys[at * step % count];
    std::sort(asked.begin(), asked.end());
  }
  std::vector<std::uint64_t> found(asked.size());
  auto runtime = Runtime::create(one_unit());
  if (!runtime) return runtime.error();
  Wish wish({.waves = waves, .accesses = 400, .compute = 6});
  const bpt::Search kernel{
      .tree = tree.tree(), .wanted = asked.data(), .found = found.data(), .lookups = found.size()};
  const auto report = launch_bpt(*runtime, {waves, lanes}, kernel);
  if (!report) return report.error();
  return wish.take("bpt", settings.sorted);
}

Result<RecordedTrace> run_xsbench(const RunSettings& settings) {
  const xsbench::Tables tables =
      xsbench::tables_of(settings.quick ? 68 : 180, settings.quick ? 1'024 : 2'048, settings.seed);
  const std::uint32_t waves = settings.quick ? 64 : 128;
  std::vector<xsbench::Answer> answers(std::size_t{waves} * lanes);
  auto runtime = Runtime::create(one_unit());
  if (!runtime) return runtime.error();
  Wish wish({.waves = waves, .accesses = settings.quick ? 400u : 1'000u, .compute = 10});
  const xsbench::Lookup kernel{.energies = tables.energies.data(),
                               .energy_count = tables.energies.size(),
                               .indices = tables.indices.data(),
                               .nuclides = tables.nuclides,
                               .points = tables.points.data(),
                               .grid_points = tables.grid_points,
                               .materials = tables.materials.data(),
                               .material_nuclides = tables.material_nuclides.data(),
                               .concentrations = tables.concentrations.data(),
                               .answers = answers.data(),
                               .lookups = answers.size(),
                               .seed = settings.seed + 2,
                               // The first ones of the thesis' 15 million.
                               .sorted = settings.sorted ? 15'000'000u : 0u};
  const auto report =
      launch_xsbench(*runtime, {waves, lanes}, kernel, tables.material_nuclides.size());
  if (!report) return report.error();
  return wish.take("xsbench", settings.sorted);
}

}  // namespace

const std::vector<Recordable>& recordables() {
  static const std::vector<Recordable> all = {
      {"bpt", true, run_bpt},
      {"comd", true, run_comd},
      {"miniamr", false, run_miniamr},
      {"minife", true, run_minife},
      {"graph500", false, run_graph500},
      {"xsbench", true, run_xsbench},
  };
  return all;
}

}  // namespace k2k::labs::accesses
