// `k2k-signal-search`: options in, digests on standard output.

#include "apps/signal_search/command.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "apps/common/core_shares.hpp"
#include "apps/signal_search/search.hpp"
#include "apps/signal_search/table.hpp"

namespace k2k::cli {

namespace {

struct SignalSearchFlags {
  std::string records;
  std::string queries;
  std::string by = "signals";
  std::string generated;
  signal_search::TableSizes sizes;
  signal_search::Settings settings;
};

int tell(const std::string& message, int status = exit_failure) {
  fmt::print(stderr, "k2k-signal-search: {}\n", message);
  return status;
}

std::string hex(const signal_search::Digest& digest) {
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

std::string json_text(const signal_search::Outcome& outcome, const std::string& by) {
  nlohmann::ordered_json object = {{"by", by},
                                   {"blocks", outcome.digests.size()},
                                   {"seconds", outcome.seconds},
                                   {"lookup_seconds", outcome.lookup_seconds},
                                   {"signalled", outcome.signalled},
                                   {"swept", outcome.swept},
                                   {"retries", outcome.retries},
                                   {"strays", outcome.strays},
                                   {"credits", outcome.credits}};
  nlohmann::ordered_json& digests = object["digests"] = nlohmann::ordered_json::array();
  for (const signal_search::Digest& digest : outcome.digests) digests.push_back(hex(digest));
  return object.dump() + "\n";
}

int run_signal_search(const SignalSearchFlags& flags, const Context& context) {
  if (!flags.generated.empty()) {
    const Status made = signal_search::generate(flags.generated, flags.sizes);
    return made ? exit_ok : tell(made.error().message);
  }
  if (flags.records.empty() || flags.queries.empty()) {
    return tell("name a file of RECORDS and one of QUERIES; --generate FOLDER makes both",
                exit_usage);
  }
  auto loaded = context.load();
  if (!loaded) return complain_config(loaded.error());
  apps::share_cores(loaded.value());
  const auto records = signal_search::read_records(flags.records);
  if (!records) return tell(records.error().message);
  const auto queries = signal_search::read_queries(flags.queries);
  if (!queries) return tell(queries.error().message);
  signal_search::Settings settings = flags.settings;
  settings.by = flags.by == "direct"   ? signal_search::By::direct
                : flags.by == "launch" ? signal_search::By::launch
                : flags.by == "serial" ? signal_search::By::serial
                                       : signal_search::By::signals;
  const auto outcome = signal_search::search(*records, *queries, settings, loaded.value().config);
  if (!outcome) return tell(outcome.error().message);
  if (context.json) return print(json_text(*outcome, flags.by));
  std::string text;
  for (std::size_t block = 0; block < outcome->digests.size(); ++block) {
    text += fmt::format("{} {}\n", block, hex(outcome->digests[block]));
  }
  return print(text);
}

Run add_signal_search(CommandLine& line, Context& context) {
  auto flags = std::make_shared<SignalSearchFlags>();
  signal_search::Settings& settings = flags->settings;
  line.option("RECORDS", flags->records, "File of 64-byte records, sorted by their 8-byte keys");
  line.option("QUERIES", flags->queries, "File of 8-byte keys");
  line.option("--by", flags->by, "Who looks up, and how the host learns of a block")
      .one_of({"signals", "direct", "launch", "serial"})
      .show_default()
      .last_wins();
  line.option("--groups", settings.groups, "Work-groups to launch").within(1, 4096).last_wins();
  line.option("--items", settings.items, "Work-items a group").within(1, 1024).last_wins();
  line.option("--threads", settings.threads, "Threads that hash").within(1, 256).last_wins();
  line.option("--block-queries", settings.block_queries, "Queries of a block, and of a signal")
      .within(1, 1 << 20)
      .show_default()
      .last_wins();
  line.option("--generate", flags->generated, "Make both files in this new folder").type("FOLDER");
  line.option("--records", flags->sizes.records, "Of --generate: records")
      .within(1, 1 << 26)
      .show_default();
  line.option("--queries", flags->sizes.queries, "Of --generate: queries")
      .within(1, 1 << 26)
      .show_default();
  line.option("--seed", flags->sizes.seed, "Of --generate: equal seeds make equal files")
      .show_default();
  return [&context, flags] { return run_signal_search(*flags, context); };
}

}  // namespace

Command signal_search_command() {
  return {
      .name = "signal-search",
      .summary = "Look up in a kernel, hash on the CPU meanwhile",
      .description =
          "Looks up QUERIES in RECORDS and prints the SHA-512 digest of each block of results. By "
          "signals: a work-group that ends a block sends the process a queued signal with the "
          "block's number, by its own system call, and threads hash the block while the kernel "
          "goes on. By direct: the same signals by libc on the kernel's own thread. By launch: "
          "the threads begin once the kernel has ended. By serial: one thread does both.",
      .examples = {{"k2k-signal-search --generate in", "Make both files."},
                   {"k2k-signal-search in/records in/queries", "The digest of each block."}},
      .exits = {{0, "Every block has its digest."},
                {1, "A file cannot be read or is wrong, or the device could not be used."},
                {2, "An option is wrong."}},
      .has_json = true,
      .add = add_signal_search};
}

}  // namespace k2k::cli
