// k2k route: which pages of a file come from the page cache, and which by direct transfers.

#include "cli/route.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/text_table.hpp"
#include "router/plan/planner.hpp"
#include "router/plan/residency_text.hpp"

namespace k2k::cli {

namespace {

using nlohmann::ordered_json;
using router::Plan;
using router::Planner;
using router::Range;
using router::Residency;
using router::Rule;

constexpr std::size_t file_bytes_max = std::size_t{64} << 20;
constexpr std::size_t route_segments_shown = 6;

constexpr Schedule schedules[] = {
    {"exact", [](const Planners& all, Residency one) { return all.own.exact(one); }},
    {"greedy", [](const Planners& all, Residency one) { return all.others.greedy(one); },
     Rule::greedy},
    {"greedy-range",
     [](const Planners& all, Residency one) {
       return all.others.greedy(one, labs::routing::Preceding::range);
     },
     Rule::greedy},
    {"split", [](const Planners& all, Residency one) { return all.others.split(one); },
     Rule::split},
    {"overlapped", [](const Planners& all, Residency one) { return all.own.overlapped(one); },
     Rule::overlapped, true},
};

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const Schedule& each : schedules) names.emplace_back(each.name);
  return names;
}

struct Options {
  std::string file;
  std::string schedule = "exact";
  double cutoff_kib = 512;
  router::Model model;
  Explain explain;
  Simulate simulate;
};

Result<std::string> read_file(const std::string& path) {
  const auto failed = [&](int code) {
    return Error{code, fmt::format("cannot read {}: {}; --residency names a file with one request "
                                   "a line, one character a page",
                                   path, std::strerror(code))};
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             &std::fclose);
  if (!file) return failed(errno);
  std::string text;
  char piece[65536];
  while (const std::size_t count = std::fread(piece, 1, sizeof piece, file.get())) {
    text.append(piece, count);
    if (text.size() > file_bytes_max) {
      return Error{EFBIG,
                   fmt::format("{} is longer than {}; split it", path, in_bytes(file_bytes_max))};
    }
  }
  if (std::ferror(file.get()) != 0) return failed(errno);
  return text;
}

ordered_json describe(const Planner& planner, const Schedule& schedule, const Plan& plan) {
  ordered_json segments = ordered_json::array();
  for_each_segment(plan, [&](Range range, bool from_cache) {
    segments.push_back({range.first, range.pages(), from_cache ? "cache" : "p2p"});
  });
  const double us = schedule.overlapped ? microseconds_together(planner.model(), plan).overlapped()
                                        : microseconds_of(planner.model(), plan).serial();
  return {{"time_us", us}, {"segments", segments}};
}

std::string plans_text(const ordered_json& plans, bool color) {
  std::vector<std::vector<std::string>> table = {{"request", "pages", "us", "segments"}};
  for (const ordered_json& plan : plans) {
    const ordered_json& segments = plan["segments"];
    std::string list;
    std::uint64_t pages = 0;
    for (std::size_t at = 0; at < segments.size(); ++at) {
      const auto first = segments[at][0].get<std::uint64_t>();
      const auto count = segments[at][1].get<std::uint64_t>();
      pages += count;
      if (at >= route_segments_shown) continue;
      list += fmt::format("{}{}-{} {}", at == 0 ? "" : ", ", first, first + count - 1,
                          segments[at][2].get<std::string>());
    }
    if (segments.size() > route_segments_shown) {
      list += fmt::format(", and {} more (--json)", segments.size() - route_segments_shown);
    }
    table.push_back({std::to_string(table.size()), std::to_string(pages),
                     fmt::format("{:.1f}", plan["time_us"].get<double>()), list});
  }
  return text_table(table, color);
}

int plan(const Context& context, const Options& options) {
  const Schedule* const schedule = find_schedule(options.schedule);
  if (schedule == nullptr) return complain_schedule(options.schedule);
  // The numbers are checked before the file is read: a wrong number is a usage error.
  if (const auto costs = costs_of(options.model); !costs) return complain_model(costs.error());
  const Result<std::string> text = read_file(options.file);
  if (!text) return complain(text.error().message);
  const auto requests = router::residencies_of(text.value());
  if (!requests) return complain(options.file + ": " + requests.error().message);
  std::size_t longest = 1;
  for (const auto& request : requests.value()) longest = std::max(longest, request.size());
  Result<Planner> planner = Planner::create(options.model, static_cast<std::uint32_t>(longest));
  if (!planner) return complain_model(planner.error());
  labs::routing::Baselines baselines(planner.value().costs(), static_cast<std::uint32_t>(longest));
  const Planners planners{planner.value(), baselines};
  ordered_json plans = ordered_json::array();
  for (const auto& request : requests.value()) {
    plans.push_back(describe(planner.value(), *schedule, schedule->make(planners, request)));
  }
  return print(context.json ? ordered_json{{"plans", plans}}.dump() + "\n"
                            : plans_text(plans, context.color));
}

void add_schedule(CommandLine& line, std::string& schedule) {
  line.option("--schedule", schedule, "exact, greedy, greedy-range, split or overlapped (exact)")
      .type("WORD")
      .offer(schedule_names());
}

// The options of plan and simulate.
void add_model(CommandLine& line, Options& options) {
  line.option("--c-us", options.model.call_us,
              "C: microseconds of a direct transfer up to the cutoff (584)")
      .type("US");
  line.option("--cutoff-kib", options.cutoff_kib,
              "S: KiB from which a direct transfer saturates the device (512)")
      .type("KIB");
  line.option("--bw-p2p-gbs", options.model.direct_gbs,
              "Bandwidth beyond the cutoff, 10^9 bytes a second (2.65)")
      .type("GBS");
  line.option("--bw-pc-gbs", options.model.cache_gbs,
              "Bandwidth of the page cache, 10^9 bytes a second (10.1)")
      .type("GBS");
  line.option("--next-us", options.model.next_us,
              "Microseconds that each further direct transfer of a request adds while others are "
              "in flight, for overlapped; 0: they come one after another, C each (0)")
      .type("US");
}

}  // namespace

const Schedule* find_schedule(const std::string& name) {
  const Schedule* const found =
      std::find_if(std::begin(schedules), std::end(schedules),
                   [&](const Schedule& each) { return name == each.name; });
  return found == std::end(schedules) ? nullptr : found;
}

int complain_schedule(const std::string& name) {
  return complain(
      fmt::format("'{}' is not a schedule; permitted: {}", name, fmt::join(schedule_names(), ", ")),
      exit_usage);
}

int complain_model(const Error& error) {
  return complain(error.message + "; 'k2k route plan --help' lists the options that set it",
                  exit_usage);
}

Command route_command() {
  return {
      .name = "route",
      .summary = "Plan file reads: page cache, direct transfers, or both",
      .description =
          "Pages of a file reach the device from the page cache or by direct (peer-to-peer) "
          "transfers; a request whose pages are partly cached is fastest by a mix. 'plan' prints "
          "the mix for residencies in a file: a request a line, a character a 4 KiB page, 1 cached "
          "and 0 not. 'explain' prints the mix for a range of a real file, by the pages that are "
          "cached now "
          "and "
          "the profile of its device (k2k calibrate), and says why. 'simulate' compares the "
          "schedules with the least time on random residencies "
          "of 8 MiB. 'engines' lists the engines that can move file data to the memory of this "
          "machine's devices, and why others cannot; the router uses uring or pool, and buffered. "
          "Times "
          "are those of SPIN's cost model (USENIX ATC'17, equation 1), whose "
          "numbers are the defaults of 'plan' and 'simulate'; docs/design/router.md explains the "
          "schedules.",
      .examples =
          {{"k2k route plan --residency pages.txt", "Print the exact schedule of each request."},
           {"k2k route plan --residency pages.txt --schedule overlapped --json",
            "Plan direct transfers in flight while the CPU copies."},
           {"k2k route explain data.bin 0 8M", "Explain how a read of 8 MiB would be served."},
           {"k2k route engines", "List the engines for GPU memory here, and what others lack."},
           {"k2k route simulate", "Compare each schedule with the least possible time."},
           {"k2k route simulate --full --json", "The paper's 200,000 vectors a pattern."}},
      .has_json = true,
      .add = [](CommandLine& line, Context& context) -> Run {
        auto options = std::make_shared<Options>();
        line.require_command();
        CommandLine plans = line.command("plan", "Plan the requests of a file");
        plans
            .option("--residency", options->file,
                    "A file: one request a line, one character a page")
            .required()
            .type("FILE");
        add_schedule(plans, options->schedule);
        CommandLine explains =
            line.command("explain", "Explain how a read of a file would be served");
        explains.option("FILE", options->explain.file, "A file").required();
        explains.option("OFFSET", options->explain.offset, "Start of the read: 4096, 64K, 8M, 1G")
            .required();
        explains.option("LEN", options->explain.length, "Bytes to read, up to 2G").required();
        add_schedule(explains, options->explain.schedule);
        CommandLine simulates =
            line.command("simulate", "Compare the schedules on random residencies");
        simulates.flag("--full", options->simulate.full, "200,000 vectors of each pattern");
        simulates.option("--vectors", options->simulate.vectors, "Vectors of each pattern (20,000)")
            .within(1, 10'000'000)
            .type("N");
        simulates.option("--seed", options->simulate.seed, "Seed of the random numbers (1)")
            .type("N");
        const CommandLine engines =
            line.command("engines", "List the engines that move file data to each memory");
        add_model(plans, *options);
        add_model(simulates, *options);
        return [&context, options, plans, explains, engines] {
          if (engines.given()) return list_engines(context);
          if (explains.given()) return explain_route(context, options->explain);
          options->model.cutoff_bytes = options->cutoff_kib * 1024;
          return plans.given() ? plan(context, *options)
                               : simulate_routes(context, options->model, options->simulate);
        };
      },
  };
}

}  // namespace k2k::cli
