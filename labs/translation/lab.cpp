#include "labs/translation/lab.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/temporary_folder.hpp"
#include "bench/command/progress.hpp"
#include "cli/guest.hpp"
#include "cli/text_table.hpp"
#include "labs/interference/complain.hpp"
#include "labs/interference/harm/machine.hpp"
#include "labs/interference/options.hpp"
#include "labs/interference/progress_line.hpp"
#include "labs/interference/study_page.hpp"
#include "labs/translation/measured/page_memory.hpp"
#include "labs/translation/page.hpp"
#include "labs/translation/simulated/figures.hpp"
#include "labs/translation/study.hpp"

namespace k2k::labs::translation {

namespace {

using nlohmann::ordered_json;

constexpr std::uint32_t rounds_min = 2;
constexpr std::uint32_t rounds_max = 1'000;
constexpr std::uint32_t memory_mib_min = 16;
constexpr std::uint32_t memory_mib_max = 1u << 20;

// Option values as given; empty: not given.
struct Options {
  std::string rounds;
  std::string memory;
  std::string html;
  std::string traces;
  bool modelled = false;
  bool quick = false;
  bool simulate = false;
  std::uint64_t seed = 1;
};

Result<StudyPlan> plan_of(const Options& options) {
  StudyPlan plan{.simulated_only = options.simulate, .seed = options.seed};
  std::uint32_t mib = 256;
  if (!options.quick) {
    plan.rounds = 10;
    plan.part = 4;
    plan.fault_pages = 16'384;
    plan.shootdown_calls = 2'000;
    mib = 4'096;
  }
  const std::size_t spendable = spendable_bytes() >> 20;
  if (options.memory.empty()) {
    mib = static_cast<std::uint32_t>(std::clamp<std::size_t>(spendable / 3, memory_mib_min, mib));
  } else if (Status status = read_count("--memory", options.memory, memory_mib_max, mib);
             !status || mib < memory_mib_min || mib > spendable) {
    return Error{EINVAL, fmt::format("--memory is '{}'; permitted are {} to {} MiB here",
                                     options.memory, memory_mib_min, spendable)};
  }
  plan.bytes_most = std::size_t{mib} << 20;
  if (!options.rounds.empty()) {
    const Status status = read_count("--rounds", options.rounds, rounds_max, plan.rounds);
    if (!status || plan.rounds < rounds_min) {
      return Error{EINVAL,
                   fmt::format("--rounds is '{}'; permitted are {} to {}: fewer give no interval",
                               options.rounds, rounds_min, rounds_max)};
    }
  }
  return plan;
}

// Runs the recorder; its errors go to standard error. Errors: those of posix_spawn(3); EIO.
Status record(const std::string& recorder, const std::string& folder, const StudyPlan& plan,
              bool quick) {
  std::vector<std::string> words = {recorder,   folder,
                                    "--rounds", fmt::format("{}", std::min(plan.rounds, 99u)),
                                    "--seed",   fmt::format("{}", plan.seed)};
  if (quick) words.emplace_back("--quick");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t process = 0;
  const int error =
      ::posix_spawn(&process, recorder.c_str(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return Error{error, fmt::format("{}: {}", recorder, std::strerror(error))};
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return Error{EIO, fmt::format("{} failed; --modelled does without recorded accesses", recorder)};
}

Result<std::vector<RecordedTrace>> judged(Result<std::vector<RecordedTrace>> traces) {
  if (!traces) return traces;
  if (Status right = judge_recorded(traces.value()); !right) return right.error();
  return traces;
}

// The accesses that --traces names, or that the recorder beside this program records now. None
// with --modelled, and without a recorder. Errors: as read_traces() and judge_recorded().
Result<std::vector<RecordedTrace>> recorded_for(const Options& options, const StudyPlan& plan) {
  if (options.modelled) return std::vector<RecordedTrace>();
  if (!options.traces.empty()) return judged(read_traces(options.traces));
  const auto recorder = cli::find_guest("accesses");
  if (!recorder) return std::vector<RecordedTrace>();
  const auto folder = TemporaryFolder::create("k2k-traces");
  if (!folder) return folder.error();
  if (Status done = record(*recorder, folder->path(), plan, options.quick); !done) {
    return done.error();
  }
  return judged(read_traces(folder->path()));
}

std::string number(const ordered_json& value) {
  return value.is_null() ? "-" : fmt::format("{:.4g}", value.get<double>());
}
std::string count_text(const ordered_json& value) {
  return fmt::format("{}", value.get<std::uint64_t>());
}

using Lines = std::vector<std::vector<std::string>>;

std::string measured_tables(const Rows& rows, bool color) {
  Lines levels = {{"pages", "level", "reach, pages", "reach, KiB", "translation", "end"}};
  for (const ordered_json& row : rows_of(rows, "levels")) {
    levels.push_back({row["pages"], count_text(row["level"]), count_text(row["reach_pages"]),
                      count_text(row["reach_kib"]), number(row["translation_ns"]) + " ns",
                      row["end_seen"] == true ? "seen" : "beyond"});
  }
  Lines faults = {{"page fault", "ns", "faults"}};
  for (const ordered_json& row : rows_of(rows, "faults")) {
    faults.push_back({row["kind"], number(row["ns"]), count_text(row["faults"])});
  }
  Lines quota = {{"CPU quota, a proxy for the clock", "faults at a time", "us", "times"}};
  for (const ordered_json& row : rows_of(rows, "quota")) {
    quota.push_back({number(row["share"]), count_text(row["at_a_time"]), number(row["us"]),
                     number(row["times"])});
  }
  Lines shootdowns = {{"cores", "call", "pages", "ns", "interrupts"}};
  for (const ordered_json& row : rows_of(rows, "shootdowns")) {
    shootdowns.push_back({count_text(row["cores"]), row["call"], count_text(row["pages"]),
                          number(row["ns"]), number(row["interrupts"])});
  }
  std::string text = "Measured on this machine\n" + cli::text_table(levels, color);
  for (const ordered_json& row : rows_of(rows, "at_once")) {
    text += fmt::format(
        "Loads that are translated at once: {} (with few pages {}); a further chain adds less than "
        "a tenth from {} chains on.\n",
        number(row["loads"]), number(row["twin_loads"]), count_text(row["knee"]));
  }
  text += "\n" + cli::text_table(faults, color) + "\n";
  if (quota.size() > 1) text += cli::text_table(quota, color) + "\n";
  text += cli::text_table(shootdowns, color) + "\n";
  for (const ordered_json& row : rows_of(rows, "absent")) {
    text += fmt::format("not measured: {}: {}\n", row["what"].get<std::string>(),
                        row["why"].get<std::string>());
  }
  return text;
}

std::string paging_tables(const Rows& rows, bool color) {
  Lines faults = {{"work-items", "faults/ms", "us, driver", "us, GPU", "faults/batch"}};
  for (const ordered_json& row : rows_of(rows, "device_faults")) {
    faults.push_back({count_text(row["items"]), number(row["faults_per_ms"]),
                      number(row["driver_us"]), number(row["device_us"]),
                      number(row["faults_per_batch"])});
  }
  Lines invalidations = {{"entries invalidated", "cores", "ns each", "a ms"}};
  for (const ordered_json& row : rows_of(rows, "invalidations")) {
    invalidations.push_back(
        {row["entries"], count_text(row["cores"]), number(row["ns"]), number(row["per_ms"])});
  }
  Lines flushes = {{"flushed by a core", "accesses", "misses x", "time x"}};
  for (const ordered_json& row : rows_of(rows, "flushes")) {
    flushes.push_back(
        {row["program"], row["accesses"], number(row["misses"]), number(row["time"])});
  }
  return cli::text_table(faults, color) + "\n" + cli::text_table(invalidations, color) + "\n" +
         cli::text_table(flushes, color);
}

std::string table(const Rows& rows, bool simulated_only, bool color) {
  Lines strides = {{"machine", "source", "64 bytes", "us", "4 KiB", "us", "ns a miss"}};
  for (const ordered_json& row : rows_of(rows, "strides")) {
    strides.push_back({row["machine"], row["source"], count_text(row["line_count"]),
                       number(row["line_us"]), count_text(row["page_count"]),
                       number(row["page_us"]), number(row["miss_ns"])});
  }
  Lines programs = {
      {"program", "accesses", "keys", "pages", "prefetch", "misses/1000", "walks/1000", "us"}};
  for (const ordered_json& row : rows_of(rows, "programs")) {
    programs.push_back({row["program"], row["accesses"], row["keys"], row["pages"],
                        count_text(row["prefetch"]), number(row["misses_per_1000"]),
                        number(row["walks_per_1000"]), number(row["us"])});
  }
  Lines statements = {{"section", "statement", "thesis", "ours", "source", "verdict"}};
  for (const ordered_json& row : rows_of(rows, "statements")) {
    statements.push_back({row["section"], row["id"], row["thesis"],
                          row["ours"].is_null() ? "-" : number(row["ours"]["mean"]),
                          row["accesses"].is_null()
                              ? row["source"].get<std::string>()
                              : fmt::format("{}, {}", row["source"].get<std::string>(),
                                            row["accesses"].get<std::string>()),
                          row["verdict"]});
  }
  std::string verdicts;
  const ordered_json counts = verdicts_of(rows);
  for (const auto& [verdict, count] : counts.items()) {
    verdicts += fmt::format("{}{} {}", verdicts.empty() ? "" : ", ", count.get<int>(), verdict);
  }
  return (simulated_only ? "" : measured_tables(rows, color) + "\n") +
         cli::text_table(strides, color) + "\nSimulated: the thesis' machine\n" +
         cli::text_table(programs, color) + "\n" + paging_tables(rows, color) + "\n" +
         cli::text_table(statements, color) + "verdicts: " + verdicts + "\n";
}

int run(const cli::Context& context, const Options& options) {
  const auto complain = [](const Error& error) { return labs::complain("translation", error); };
  Result<StudyPlan> plan = plan_of(options);
  if (!plan) return complain(plan.error());
  if (options.modelled && !options.traces.empty()) {
    return complain({EINVAL, "--modelled replays nothing; leave it or --traces out"});
  }
  if (!options.html.empty()) {
    if (Status status = may_write_page(options.html); !status) return complain(status.error());
  }
  Result<Rows> rows = [&] {
    ProgressLine progress(steps_of_study + 1);
    progress.next("the programs' accesses");
    auto recorded = recorded_for(options, plan.value());
    if (!recorded) return Result<Rows>(recorded.error());
    plan->recorded = std::move(recorded.value());
    bench::Progress simulated("lab translation", "simulated rounds");
    plan->told = [&](std::size_t done, std::size_t all) { simulated.tell(done, all); };
    return run_study(plan.value(), [&](const char* what) { progress.next(what); });
  }();
  if (!rows) return complain(rows.error());
  const ordered_json result = {{"rows", rows.value()},   {"machine_facts", harm::machine()},
                               {"seed", plan->seed},     {"rounds", plan->rounds},
                               {"quick", options.quick}, {"verdicts", verdicts_of(rows.value())}};
  if (!options.html.empty()) {
    if (Status status = write_page(options.html, page_of(result)); !status) {
      return complain(status.error());
    }
  }
  if (context.json) return cli::print(result.dump() + "\n");
  return cli::print(table(rows.value(), options.simulate, context.color));
}

}  // namespace

cli::Run add_lab(cli::CommandLine& line, cli::Context& context) {
  auto options = std::make_shared<Options>();
  line.flag("--quick", options->quick, "3 rounds, less memory and less work: in a minute");
  line.flag("--simulate", options->simulate, "The simulated machine alone; measures nothing");
  line.option("--rounds", options->rounds, "Rounds of figures with an interval, 2 to 1000 (10)");
  line.option("--memory", options->memory,
              "Memory in pages of one size, in MiB: the largest footprint (4096, at most a quarter "
              "of what is free)");
  line.option("--traces", options->traces,
              "Replay the accesses of this folder, which k2k-accesses made; otherwise they are "
              "recorded anew where k2k-accesses is installed")
      .type("FOLDER");
  line.flag("--modelled", options->modelled, "Simulate models of the accesses, not recorded ones");
  line.option("--html", options->html, "Write the page of the study to this file");
  line.option("--seed", options->seed, "Seed of orders and inputs (1)");
  return [&context, options] { return run(context, *options); };
}

}  // namespace k2k::labs::translation
