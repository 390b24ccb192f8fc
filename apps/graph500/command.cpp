// `k2k-graph500`: a graph's file in, rates of searches and memory on standard output.

#include "apps/graph500/command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/common/core_shares.hpp"
#include "apps/common/parts_options.hpp"
#include "apps/common/run_json.hpp"
#include "apps/graph500/generate.hpp"
#include "apps/graph500/rates.hpp"
#include "apps/graph500/search.hpp"

namespace k2k::cli {

namespace {

// No option's value.
constexpr std::uint64_t not_given = std::numeric_limits<std::uint64_t>::max();
constexpr int alone_max = 1 << 20;
constexpr int share_max = 1 << 20;
constexpr int exit_signalled = 128;  // As a shell's status: with the signal's number.

struct Graph500Flags {
  std::string file;
  std::string generated;
  graph500::Recipe recipe;
  std::string order = "unsorted";
  std::string by = "kernel";
  std::string mode = "demand";
  std::string direction = "hybrid";
  std::uint64_t root = not_given;
  std::uint64_t alone = not_given;
  std::uint64_t share = not_given;
  graph500::Settings settings;
};

int tell(const std::string& message, int status = exit_failure) {
  fmt::print(stderr, "k2k-graph500: {}\n", message);
  return status;
}

double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

graph500::RateStatistics rates_of(const graph500::Outcome& outcome) {
  if (outcome.searches.empty()) return {};  // Interrupted before.
  std::vector<double> rates;
  for (const graph500::Search& one : outcome.searches) rates.push_back(one.teps());
  return graph500::statistics_of(rates);
}

std::uint64_t most_resident(const graph500::Outcome& outcome) {
  std::uint64_t most = 0;
  for (const apps::ResidentSample& sample : outcome.resident) most = std::max(most, sample.own());
  return most;
}

nlohmann::ordered_json searches_of(const graph500::Outcome& outcome) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const graph500::Search& one : outcome.searches) {
    rows.push_back({{"root", one.root},
                    {"seconds", one.seconds},
                    {"cpu_seconds", one.cpu_seconds},
                    {"levels", one.levels},
                    {"vertices", one.vertices},
                    {"edges", one.edges},
                    {"digest", fmt::format("{:016x}", one.digest)}});
  }
  return rows;
}

std::string json_text(const graph500::Outcome& outcome, const Graph500Flags& flags) {
  const graph500::Header& header = outcome.header;
  const graph500::RateStatistics rates = rates_of(outcome);
  const nlohmann::ordered_json object = {
      {"by", flags.by},
      {"mode", flags.mode},
      {"direction", flags.direction},
      {"order", header.order == graph500::Order::sorted ? "sorted" : "unsorted"},
      {"scale", header.scale},
      {"edge_factor", header.edge_factor},
      {"seed", header.seed},
      {"vertices", header.vertices},
      {"edges", header.edges},
      {"graph_bytes", outcome.graph_bytes},
      {"searches_wanted", outcome.wanted},
      {"interrupted", outcome.interrupted_by != 0},
      {"harmonic_mean_teps", rates.harmonic_mean},
      {"harmonic_deviation_teps", rates.harmonic_deviation},
      {"least_teps", rates.least},
      {"median_teps", rates.median},
      {"most_teps", rates.most},
      {"load_seconds", outcome.load_seconds},
      {"search_seconds", outcome.search_seconds},
      {"cpu_seconds", outcome.cpu_seconds},
      {"steps", outcome.steps},
      {"kernel_seconds", outcome.device_seconds},
      {"demand_pages", outcome.region_pages},
      {"minor_faults", outcome.minor_faults},
      {"major_faults", outcome.major_faults},
      {"huge_bytes", outcome.huge_bytes},
      {"resident_begin_bytes", outcome.resident_begin},
      {"resident_most_bytes", most_resident(outcome)},
      {"searches", searches_of(outcome)},
      {"resident", apps::json_of(outcome.resident)}};
  return object.dump() + "\n";
}

// Of all searches: one line to compare two ways by.
std::string digest_text(const graph500::Outcome& outcome) {
  std::uint64_t digest = 0;
  for (const graph500::Search& one : outcome.searches)
    digest = digest * 1099511628211u ^ one.digest;
  return fmt::format("{:016x}", digest);
}

std::string table_text(const graph500::Outcome& outcome) {
  const graph500::RateStatistics rates = rates_of(outcome);
  return fmt::format(
      "levels {}\n"
      "{} searches, all valid\n"
      "{:.3g} traversed edges a second (harmonic mean; {:.3g} to {:.3g})\n"
      "{:.3f} s to load {:.1f} MiB, {:.3f} s to search, of which {:.3f} s in kernels\n"
      "{:.1f} MiB resident before the graph, at most {:.1f} MiB after\n"
      "{} pages on demand, for faults of the kernel; {} faults served by Linux, {} of them from "
      "storage\n",
      digest_text(outcome), outcome.searches.size(), rates.harmonic_mean, rates.least, rates.most,
      outcome.load_seconds, mib(outcome.graph_bytes), outcome.search_seconds,
      outcome.device_seconds, mib(outcome.resident_begin), mib(most_resident(outcome)),
      outcome.region_pages, outcome.minor_faults + outcome.major_faults, outcome.major_faults);
}

void take_words(Graph500Flags& flags) {
  graph500::Settings& settings = flags.settings;
  settings.by = flags.by == "serial"    ? graph500::By::serial
                : flags.by == "threads" ? graph500::By::threads
                                        : graph500::By::kernel;
  settings.mode = apps::mode_of(flags.mode);
  settings.direction = flags.direction == "top-down"    ? graph500::Direction::top_down
                       : flags.direction == "bottom-up" ? graph500::Direction::bottom_up
                                                        : graph500::Direction::hybrid;
  if (flags.root != not_given) settings.root = flags.root;
  if (flags.share != not_given) settings.share = static_cast<std::uint32_t>(flags.share);
  if (flags.alone != not_given) settings.alone = static_cast<std::uint32_t>(flags.alone);
  flags.recipe.order =
      flags.order == "sorted" ? graph500::Order::sorted : graph500::Order::unsorted;
}

int run_graph500(Graph500Flags& flags, const Context& context) {
  take_words(flags);
  if (!flags.generated.empty()) {
    if (!flags.file.empty())
      return tell("--generate makes a file and searches none; leave out FILE", exit_usage);
    const Status made = graph500::generate(flags.generated, flags.recipe);
    return made ? exit_ok : tell(made.error().message);
  }
  if (flags.file.empty()) {
    return tell("no FILE to search; --generate FILE makes one", exit_usage);
  }
  auto loaded = context.load();
  if (!loaded) return complain_config(loaded.error());
  apps::share_cores(loaded.value());
  const auto outcome = graph500::search(flags.file, flags.settings, loaded.value().config);
  if (!outcome) return tell(outcome.error().message);
  const bool has_text = context.json || !outcome->searches.empty();
  const std::string text = context.json ? json_text(*outcome, flags) : table_text(*outcome);
  const int printed = has_text ? print(text) : exit_ok;
  if (outcome->interrupted_by == 0 || printed != exit_ok) return printed;
  const std::size_t ended = outcome->searches.size();
  return tell(ended == 0
                  ? std::string("interrupted before a search ended")
                  : fmt::format("interrupted after {} of {} searches, whose figures were printed",
                                ended, outcome->wanted),
              exit_signalled + outcome->interrupted_by);
}

void add_searches(CommandLine& line, Graph500Flags& flags) {
  graph500::Settings& settings = flags.settings;
  line.option("FILE", flags.file, "File of a graph that --generate made");
  line.option("--by", flags.by,
              "Who searches: a kernel, threads by the same steps, or one thread with a queue")
      .one_of({"kernel", "threads", "serial"})
      .show_default()
      .last_wins();
  line.option(
          "--mode", flags.mode,
          "When the graph comes into memory: at the first access (demand), or before the launch "
          "(pinned: pages of 4 KiB; huge: of 2 MiB)")
      .one_of(apps::mode_words())
      .show_default()
      .last_wins();
  line.option(
          "--direction", flags.direction,
          "From the frontier (top-down), towards it (bottom-up), or the cheaper one at each level")
      .one_of({"hybrid", "top-down", "bottom-up"})
      .show_default()
      .last_wins();
  line.option("--roots", settings.roots, "Number of searches: from the first roots of the file")
      .within(1, static_cast<int>(graph500::roots_max))
      .show_default()
      .last_wins();
  line.option("--root", flags.root, "One search, from this vertex, instead")
      .within(0, (1 << graph500::scale_max) - 1)
      .type("VERTEX")
      .last_wins();
  add_parts_options(line, settings);
  line.option("--alone", flags.alone,
              "A level of at most this many vertices and targets is searched by one work-item, "
              "without a launch of its own; 0: none. By default enough for the device")
      .within(0, alone_max)
      .last_wins();
  line.option("--share", flags.share,
              "The work-items of a group search the targets of a vertex together if it has at "
              "least this many, top-down; 0: never. By default 0 on cores, a wave on a GPU")
      .within(0, share_max)
      .last_wins();
  line.flag("--resident", settings.sampled,
            "With --json: resident memory all the time, not only after each search");
}

Run add_graph500(CommandLine& line, Context& context) {
  auto flags = std::make_shared<Graph500Flags>();
  graph500::Recipe& recipe = flags->recipe;
  add_searches(line, *flags);
  line.option("--generate", flags->generated, "Make a graph in this new file, and search nothing")
      .type("FILE");
  line.option("--scale", recipe.scale, "Of --generate: the graph has 2^scale vertices")
      .within(1, static_cast<int>(graph500::scale_max))
      .show_default();
  line.option("--edge-factor", recipe.edge_factor, "Of --generate: edges for each vertex")
      .within(1, static_cast<int>(graph500::edge_factor_max))
      .show_default();
  line.option("--seed", recipe.seed, "Of --generate: equal seeds make equal files").show_default();
  line.option(
          "--order", flags->order,
          "Of --generate: vertices numbered at random, or by their degree and with sorted lists")
      .one_of({"unsorted", "sorted"})
      .show_default();
  return [&context, flags] { return run_graph500(*flags, context); };
}

}  // namespace

Command graph500_command() {
  return {
      .name = "graph500",
      .summary = "Breadth-first searches of a Kronecker graph whose pages a kernel faults in",
      .description =
          "Makes a graph as Graph500 does, and searches it from up to 64 roots; every tree is "
          "validated by Graph500's five rules. By kernel: a launch a level. By threads: the same "
          "steps on threads of the host, where Linux serves the faults. By serial: one thread with "
          "a queue. Levels are equal in every way. With --mode demand the graph is a region of the "
          "file, and a page comes when the kernel first touches it; otherwise it is read before.",
      .examples = {{"k2k-graph500 --generate g --scale 18", "Make a graph of 262,144 vertices."},
                   {"k2k-graph500 g", "Search it from 64 roots."},
                   {"k2k-graph500 --json --resident --mode pinned g",
                    "Figure 4.8: memory over the run."}},
      .exits = {{0, "All searches ended, and their trees are valid."},
                {1, "The file cannot be searched, or the device could not be used."},
                {2, "An option is wrong."},
                {130,
                 "Ctrl-C: the searches that had ended were printed. A second Ctrl-C prints "
                 "nothing."}},
      .has_json = true,
      .add = add_graph500};
}

}  // namespace k2k::cli
