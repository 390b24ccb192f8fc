// `k2k-bpt`: a file with a B+tree in, searches and memory on standard output.

#include "apps/bpt/command.hpp"

#include <memory>
#include <new>

#include "apps/bpt/run.hpp"
#include "apps/common/lookup_flags.hpp"

namespace k2k::cli {

namespace {

struct BptFlags : LookupFlags {
  bpt::Recipe recipe;
};

int tell(const std::string& message, int status = exit_failure) {
  fmt::print(stderr, "k2k-bpt: {}\n", message);
  return status;
}

std::string json_text(const bpt::Header& header, const apps::LookupOutcome& outcome,
                      const BptFlags& flags) {
  nlohmann::ordered_json object = {{"by", flags.by},
                                   {"mode", flags.mode},
                                   {"sorted", header.sorted != 0},
                                   {"keys", header.keys},
                                   {"nodes", header.nodes},
                                   {"levels", header.levels},
                                   {"lookups", header.lookups},
                                   {"found", outcome.totals.found}};
  add_run(object, outcome);
  return object.dump() + "\n";
}

std::string table_text(const bpt::Header& header, const apps::LookupOutcome& outcome) {
  return fmt::format(
             "{} keys in {} nodes of {} levels\n"
             "{} searches, {} found, bits {:016x}\n",
             header.keys, header.nodes, header.levels, header.lookups, outcome.totals.found,
             outcome.totals.bits) +
         apps::text_of(outcome);
}

int generate(const BptFlags& flags) try {
  const Status made = bpt::generate(flags.generated, flags.recipe);
  return made ? exit_ok : tell(made.error().message);
} catch (const std::bad_alloc&) {
  return tell(fmt::format("no memory for {} keys and {} searches; take fewer --keys or --lookups",
                          flags.recipe.keys, flags.recipe.lookups));
}

int run_bpt(BptFlags& flags, const Context& context) {
  if (!flags.generated.empty()) {
    if (flags.file.empty()) return generate(flags);
    return tell("--generate makes files and searches nothing; leave out FILE", exit_usage);
  }
  if (flags.file.empty()) {
    return tell("name a FILE of a tree; --generate FOLDER makes two", exit_usage);
  }
  auto loaded = context.load();
  if (!loaded) return complain_config(loaded.error());
  apps::share_cores(loaded.value());
  const auto file = bpt::open_tree(flags.file);
  if (!file) return tell(file.error().message);
  take_words(flags);
  const auto outcome = bpt::search_all(*file, flags.settings, loaded.value().config);
  if (!outcome) return tell(outcome.error().message);
  return print(context.json ? json_text(file->header, *outcome, flags)
                            : table_text(file->header, *outcome));
}

Run add_bpt(CommandLine& line, Context& context) {
  auto flags = std::make_shared<BptFlags>();
  add_lookup_options(line, *flags, "tree");
  line.option("--keys", flags->recipe.keys, "Of --generate: keys in the tree; 16 bytes each")
      .within(1, static_cast<int>(bpt::keys_most))
      .show_default();
  line.option("--lookups", flags->recipe.lookups,
              "Of --generate: keys to search; half of them are keys of the tree")
      .within(1, static_cast<int>(bpt::lookups_most))
      .show_default();
  line.option("--seed", flags->recipe.seed, "Of --generate: equal seeds make equal files")
      .show_default();
  return [&context, flags] { return run_bpt(*flags, context); };
}

}  // namespace

Command bpt_command() {
  return {
      .name = "bpt",
      .summary = "Searches in a B+tree whose nodes are pages of a mapped file",
      .description =
          "Searches the keys of FILE in the B+tree of FILE by a kernel, a work-item a key. A node "
          "is a page, which comes from FILE when a search first visits it, or was read before the "
          "launch: with few keys only a part of the tree comes. The values must be those that the "
          "generator found without a tree. Prints the keys that were found, times, page faults and "
          "resident memory.",
      .examples = {{"k2k-bpt --generate in", "Make in/sorted and in/unsorted: 1,000,000 keys."},
                   {"k2k-bpt in/unsorted", "Search; each node comes at its first visit."},
                   {"k2k-bpt --mode huge in/unsorted", "The same from pages of 2 MiB."},
                   {"k2k-bpt --by threads in/unsorted", "The same by threads, without a device."}},
      .exits = {{0, "All values are right."},
                {1, "The file is wrong, or the device could not be used."},
                {2, "An option is wrong."}},
      .has_json = true,
      .add = add_bpt};
}

}  // namespace k2k::cli
