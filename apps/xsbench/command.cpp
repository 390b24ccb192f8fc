// `k2k-xsbench`: a file with cross-sections in, lookups and memory on standard output.

#include "apps/xsbench/command.hpp"

#include <memory>
#include <new>

#include "apps/common/lookup_flags.hpp"
#include "apps/xsbench/run.hpp"

namespace k2k::cli {

namespace {

struct XsbenchFlags : LookupFlags {
  xsbench::Recipe recipe;
};

int tell(const std::string& message, int status = exit_failure) {
  fmt::print(stderr, "k2k-xsbench: {}\n", message);
  return status;
}

std::string json_text(const xsbench::Header& header, const apps::LookupOutcome& outcome,
                      const XsbenchFlags& flags) {
  nlohmann::ordered_json object = {{"by", flags.by},
                                   {"mode", flags.mode},
                                   {"sorted", header.sorted != 0},
                                   {"nuclides", header.nuclides},
                                   {"grid_points", header.grid_points},
                                   {"energies", header.energies()},
                                   {"lookups", header.lookups}};
  add_run(object, outcome);
  return object.dump() + "\n";
}

std::string table_text(const xsbench::Header& header, const apps::LookupOutcome& outcome) {
  return fmt::format(
             "{} nuclides of {} points, {} energies\n"
             "{} lookups, bits {:016x}\n",
             header.nuclides, header.grid_points, header.energies(), header.lookups,
             outcome.totals.bits) +
         apps::text_of(outcome);
}

int generate(const XsbenchFlags& flags) try {
  const Status made = xsbench::generate(flags.generated, flags.recipe);
  return made ? exit_ok : tell(made.error().message);
} catch (const std::bad_alloc&) {
  const xsbench::Recipe& recipe = flags.recipe;
  return tell(
      fmt::format("no memory for {} nuclides of {} points and {} lookups; take fewer "
                  "--nuclides, --grid-points or --lookups",
                  recipe.nuclides, recipe.grid_points, recipe.lookups));
}

int run_xsbench(XsbenchFlags& flags, const Context& context) {
  if (!flags.generated.empty()) {
    if (flags.file.empty()) return generate(flags);
    return tell("--generate makes files and looks nothing up; leave out FILE", exit_usage);
  }
  if (flags.file.empty()) {
    return tell("name a FILE of cross-sections; --generate FOLDER makes two", exit_usage);
  }
  auto loaded = context.load();
  if (!loaded) return complain_config(loaded.error());
  apps::share_cores(loaded.value());
  const auto file = xsbench::open_tables(flags.file);
  if (!file) return tell(file.error().message);
  take_words(flags);
  const auto outcome = xsbench::look_all_up(*file, flags.settings, loaded.value().config);
  if (!outcome) return tell(outcome.error().message);
  return print(context.json ? json_text(file->header, *outcome, flags)
                            : table_text(file->header, *outcome));
}

Run add_xsbench(CommandLine& line, Context& context) {
  auto flags = std::make_shared<XsbenchFlags>();
  xsbench::Recipe& recipe = flags->recipe;
  add_lookup_options(line, *flags, "table");
  line.option("--nuclides", recipe.nuclides, "Of --generate: nuclides; fuel has half of them")
      .within(2, static_cast<int>(xsbench::nuclides_most))
      .show_default();
  line.option("--grid-points", recipe.grid_points, "Of --generate: energies of each nuclide")
      .within(2, static_cast<int>(xsbench::grid_points_most))
      .show_default();
  line.option("--lookups", recipe.lookups, "Of --generate: energies and materials to look up")
      .within(1, static_cast<int>(xsbench::lookups_most))
      .show_default();
  line.option("--seed", recipe.seed, "Of --generate: equal seeds make equal files").show_default();
  return [&context, flags] { return run_xsbench(*flags, context); };
}

}  // namespace

Command xsbench_command() {
  return {
      .name = "xsbench",
      .summary = "Lookups of cross-sections in tables of a mapped file",
      .description =
          "Looks up macroscopic cross-sections, most of the work of a Monte Carlo simulation of a "
          "reactor, by a kernel: an energy is searched in the energies of all nuclides, then a row "
          "of indices gives two points of each nuclide of a material. The tables lie in memory "
          "whose pages come from FILE when a kernel first touches them, or that was read before "
          "the launch. The answers must be those that the generator found by another method, bit "
          "for bit. Prints times, page faults and resident memory.",
      .examples = {{"k2k-xsbench --generate in", "Make in/sorted and in/unsorted: 68 nuclides."},
                   {"k2k-xsbench in/sorted", "Look up; each page comes at its first access."},
                   {"k2k-xsbench --mode huge in/unsorted", "The same from pages of 2 MiB."},
                   {"k2k-xsbench --by threads in/sorted",
                    "The same by threads, without a device."}},
      .exits = {{0, "All answers are right."},
                {1, "The file is wrong, or the device could not be used."},
                {2, "An option is wrong."}},
      .has_json = true,
      .add = add_xsbench};
}

}  // namespace k2k::cli
