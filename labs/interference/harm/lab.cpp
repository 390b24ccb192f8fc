#include "labs/interference/harm/lab.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/temporary_folder.hpp"
#include "cli/text_table.hpp"
#include "labs/interference/complain.hpp"
#include "labs/interference/harm/claims.hpp"
#include "labs/interference/harm/machine.hpp"
#include "labs/interference/harm/page.hpp"
#include "labs/interference/harm/plan.hpp"
#include "labs/interference/harm/records.hpp"
#include "labs/interference/options.hpp"
#include "labs/interference/progress_line.hpp"
#include "labs/interference/study_page.hpp"

namespace k2k::labs::harm {

namespace {

using nlohmann::ordered_json;

constexpr double run_s_min = 0.02;
constexpr double run_s_max = 60;
constexpr double run_s_usual = 0.5;
constexpr double run_s_quick = 0.12;
constexpr double quick_s = 130;
constexpr std::uint32_t pairs_most = 10'000;
constexpr std::uint32_t pairs_quick = 12;
constexpr std::size_t input_bytes = 8u << 20;
constexpr int exit_stopped = 130;

volatile std::sig_atomic_t stop_signal = 0;
void note_signal(int signal) { stop_signal = signal; }

// Option values as given; empty: not given.
struct Options {
  Wanted wanted;
  std::string seconds;
  std::string run;
  std::string pairs;
  std::string out;
  std::string html;
  std::uint64_t seed = 1;
  bool resume = false;
};

constexpr const char* settling_key = "settling_auto_s";

// Everything that runs depend on; a study goes on only with the same.
ordered_json plan_of(const StudyOptions& options, const std::vector<Comparison>& comparisons) {
  ordered_json list = ordered_json::array();
  bool has_auto = false;
  for (const Comparison& one : comparisons) {
    list.push_back(one.key());
    has_auto = has_auto || is_automatic(one.setting, options.config);
  }
  return {{"kind", "plan"},         {"schema", schema},
          {"seed", options.seed},   {"threads", options.threads},
          {"run_s", options.run_s}, {settling_key, has_auto ? options.settling_auto_s : 0.0},
          {"comparisons", list},    {"rounds", ordered_json::object()},
          {"machine", machine()}};
}

bool same_plan(const ordered_json& a, const ordered_json& b) {
  for (const char* key : {"seed", "threads", "run_s", "comparisons"}) {
    if (a.at(key) != b.at(key)) return false;
  }
  // Earlier studies measured `auto` from its first moment on, and have no such key.
  return a.value(settling_key, 0.0) == b.value(settling_key, 0.0);
}

// Finds the rounds of each loop, and leaves out victims that this machine cannot run.
Result<std::vector<Outcome>> prepare(std::vector<Victim>& victims, const StudyOptions& options,
                                     ordered_json& rounds, const ordered_json& known) {
  std::vector<Outcome> missing;
  std::vector<Victim> ready;
  for (Victim& victim : victims) {
    if (std::string reason = victim.missing(); !reason.empty()) {
      missing.push_back({.comparison = {victim, "", Kind::service, ""}, .problem = reason});
      continue;
    }
    if (!victim.loop.empty()) {
      const bool has = known.is_object() && known.contains(victim.name);
      const Result<std::uint64_t> count =
          has ? Result<std::uint64_t>(known[victim.name].get<std::uint64_t>())
              : rounds_taking(victim, options.run_s, options.threads, stop_signal);
      if (!count) return count.error();
      victim.rounds = count.value();
      rounds[victim.name] = victim.rounds;
    }
    ready.push_back(victim);
  }
  victims = std::move(ready);
  return missing;
}

// What each setting costs the victims and gives the accelerator.
std::string settings_text(const ordered_json& settings, bool color) {
  std::vector<std::vector<std::string>> lines = {
      {"source", "setting", "victims lose", "share", "requests/s of the base's", "remark"}};
  for (const ordered_json& one : settings) {
    const ordered_json& rate = one["rate_to_base"];
    std::string remark = one.value("front", false) ? "Pareto optimal" : "";
    if (one.value("dominates", false)) remark = "dominates " + one["base"].get<std::string>();
    if (one.contains("kept")) {
      remark = fmt::format("{:.2f} of the limit", one["of_limit"]["mean"].get<double>());
    }
    lines.push_back({one["source"], one["setting"],
                     fmt::format("{:+.1f} %", 100 * (one["wall"]["mean"].get<double>() - 1)),
                     fmt::format("{:.2f} %", 100 * one["share"].get<double>()),
                     rate.is_null() ? "-" : fmt::format("{:.3f}", rate["mean"].get<double>()),
                     remark});
  }
  return lines.size() == 1 ? "" : cli::text_table(lines, color) + "\n";
}

std::string table(const ordered_json& result, bool color) {
  std::vector<std::vector<std::string>> lines = {{"victim", "comparison", "setting", "run delay",
                                                  "CPU time", "wall", "requests/s", "pairs",
                                                  "end"}};
  std::string notes;
  for (const ordered_json& one : result["comparisons"]) {
    if (!one["problem"].is_null()) {
      notes += fmt::format("not measured: {} {} {}: {}\n", one["victim"].get<std::string>(),
                           one["comparison"].get<std::string>(), one["setting"].get<std::string>(),
                           one["problem"].get<std::string>());
      continue;
    }
    const auto percent = [&](const char* key) {
      const ordered_json& value = one[key];
      return fmt::format("{:+.1f} % +-{:.1f}", 100 * value["mean"].get<double>(),
                         50 * (value["high"].get<double>() - value["low"].get<double>()));
    };
    if (one.contains("tail")) {
      notes += fmt::format("latency, 99th percentile: {} {} {}: {}\n",
                           one["victim"].get<std::string>(), one["comparison"].get<std::string>(),
                           one["setting"].get<std::string>(), percent("tail"));
    }
    lines.push_back({one["victim"], one["comparison"], one["setting"], percent("run_delay"),
                     percent("inflation"), percent("wall"),
                     fmt::format("{:.0f}", one["requests_per_s"].get<double>()),
                     fmt::format("{}", one["pairs"].get<std::size_t>()), one["end"]});
  }
  std::vector<std::vector<std::string>> claims = {{"section", "claim", "paper", "ours", "verdict"}};
  for (const ordered_json& one : result["claims"]) {
    const ordered_json& ours = one["ours"];
    claims.push_back({one["section"], one["id"], one["paper"],
                      ours.is_null() ? "-" : fmt::format("{:.3f}", ours["ratio"].get<double>()),
                      one["verdict"]});
  }
  return cli::text_table(lines, color) + notes + "\n" + settings_text(result["settings"], color) +
         cli::text_table(claims, color) +
         (result["a_a"]["sound"] == true
              ? ""
              : fmt::format(
                    "{} of {} intervals of equal arms exclude 0, more than chance explains: "
                    "the machine was not quiet enough for these figures.\n",
                    result["a_a"]["beside_0"].get<unsigned>(),
                    result["a_a"]["intervals"].get<unsigned>()));
}

Result<StudyOptions> study_options(const Options& options, const RuntimeConfig& config) {
  StudyOptions study{.config = config, .seed = options.seed};
  study.threads = static_cast<unsigned>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  if (config.backend == "cuda" && on_gpu::launch_reads != nullptr) {
    study.kernel = on_gpu::launch_reads;
  }
  study.sleep_shown = read_counters().asleep_s >= 0;
  study.run_s = options.wanted.quick ? run_s_quick : run_s_usual;
  study.longest_s = options.wanted.quick ? quick_s : 0;
  if (!options.run.empty() && (!read_number(options.run, study.run_s) || study.run_s < run_s_min ||
                               study.run_s > run_s_max)) {
    return Error{EINVAL, fmt::format("--run is '{}'; permitted are {:g} to {:g} seconds",
                                     options.run, run_s_min, run_s_max)};
  }
  if (Status status = read_seconds(options.seconds, 1, 86'400, study.longest_s); !status) {
    return status.error();
  }
  std::uint32_t pairs = options.wanted.quick ? pairs_quick : 0;
  if (Status status = read_count("--pairs", options.pairs, pairs_most, pairs); !status) {
    return status.error();
  }
  if (pairs != 0) study.rule.pairs_max = pairs;
  study.rule.pairs_min = std::min(study.rule.pairs_min, study.rule.pairs_max);
  return study;
}

int complain(const Error& error) { return labs::complain("interference", error); }

int run(const cli::Context& context, const Options& options) {
  const auto loaded = context.load();
  if (!loaded) return cli::complain_config(loaded.error());
  const Result<StudyOptions> study_of = study_options(options, loaded.value().config);
  if (!study_of) return complain(study_of.error());
  const StudyOptions& study = study_of.value();
  if (options.resume && options.out.empty()) {
    return complain({EINVAL, "--resume goes on with the records of --out; name the file"});
  }
  const Result<std::vector<Claim>> claims = all_claims();
  if (!claims) return complain(claims.error());

  const Result<TemporaryFolder> folder = TemporaryFolder::create("k2k-interference");
  if (!folder) return complain(folder.error());
  const std::string input = folder.value().path() + "/input";
  Result<std::vector<Victim>> victims = victims_of(options.wanted, input, study.threads);
  if (!victims) return complain(victims.error());
  const bool reads_input = std::any_of(victims->begin(), victims->end(), [](const Victim& one) {
    return one.loop.empty() && !one.package.empty();
  });
  if (reads_input) {
    if (Status status = make_input(input, input_bytes, study.seed); !status) {
      return complain(status.error());
    }
  }
  Earlier earlier;
  if (options.resume) {
    Result<Earlier> loaded_records = load_records(options.out);
    if (!loaded_records) return complain(loaded_records.error());
    earlier = std::move(loaded_records).value();
  }

  stop_signal = 0;
  struct sigaction action{};
  action.sa_handler = note_signal;  // Without SA_RESTART: a wait for a victim ends.
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);

  ordered_json rounds = ordered_json::object();
  Result<std::vector<Outcome>> missing = prepare(
      victims.value(), study, rounds, options.resume ? earlier.plan["rounds"] : ordered_json());
  if (!missing) {
    if (stop_signal != 0) return exit_stopped;
    return complain(missing.error());
  }
  if (victims->empty()) {
    return complain(
        {ENOENT, fmt::format("no victim can run: {}: {}", missing->front().comparison.victim.name,
                             missing->front().problem)});
  }
  const auto comparisons = comparisons_of(options.wanted, victims.value(), study);
  if (!comparisons) return complain(comparisons.error());
  ordered_json plan = plan_of(study, comparisons.value());
  plan["rounds"] = rounds;
  if (options.resume && !same_plan(plan, earlier.plan)) {
    return complain({EINVAL, fmt::format("the study in {} has other victims, settings, times or "
                                         "another seed; repeat its options",
                                         options.out)});
  }

  Records records;
  if (!options.out.empty()) {
    if (Status status = records.open(options.out); !status) return complain(status.error());
  }
  if (context.json) records.print();
  if (!options.html.empty()) {
    if (Status status = may_write_page(options.html); !status) return complain(status.error());
  }
  if (!options.resume) {
    if (Status status = records.write(plan); !status) return complain(status.error());
  }
  ProgressLine line(comparisons->size());
  std::size_t shown = comparisons->size();
  Study measured(study, stop_signal);
  auto outcomes = measured.run(
      comparisons.value(), earlier.runs,
      [&](const ordered_json& record) { return records.write(record); },
      [&](std::size_t at, const Comparison& one, std::size_t pairs, double left) {
        const std::string text = fmt::format("{} {} {}: {} pairs, {:.0f} s left", one.victim.name,
                                             name_of(one.kind), one.setting, pairs, left);
        if (at != shown) {
          line.next(text);
        } else {
          line.again(text);
        }
        shown = at;
      });
  if (!outcomes) return complain(outcomes.error());
  for (Outcome& one : missing.value()) outcomes->push_back(std::move(one));
  const ordered_json result = result_of(
      study, outcomes.value(), judge_claims(claims.value(), outcomes.value()), !measured.stopped());
  if (Status status = records.write(result); !status) return complain(status.error());
  if (!options.html.empty()) {
    if (Status status = write_page(options.html, page_of(result)); !status) {
      return complain(status.error());
    }
  }
  if (!context.json) {
    if (const int status = cli::print(table(result, context.color)); status != cli::exit_ok) {
      return status;
    }
  }
  if (!measured.stopped()) return cli::exit_ok;
  cli::complain(
      options.out.empty()
          ? "lab interference: stopped; --out FILE keeps the runs for --resume"
          : fmt::format("lab interference: stopped; go on with --out {} --resume", options.out));
  return exit_stopped;
}

}  // namespace

cli::Run add_lab(cli::CommandLine& line, cli::Context& context) {
  auto options = std::make_shared<Options>();
  std::vector<std::string> names;
  for (const Victim& one : all_victims("", 1)) names.push_back(one.name);
  line.option("VICTIM", options->wanted.victims,
              fmt::format("Victims: {}; all if no name is given", fmt::join(names, ", ")))
      .offer(names);
  line.option("--command", options->wanted.commands,
              "Your own victim: NAME=PROGRAM ARGUMENTS; the same work in each run");
  line.option("--source", options->wanted.sources,
              fmt::format("Sources of requests: {}, or the file of a trace (ubench); "
                          "'kernel' reads by device code of the backend that is configured",
                          fmt::join(source_names(), ", ")))
      .offer(source_names());
  line.option(
      "--setting", options->wanted.settings,
      "Settings of the server: staged, split, monolithic, steer, coalesce, cap=SHARE, "
      "governor=NAME, loss=SHARE (auto); devices=COUNT and limit=SHARE, for several sources "
      "under a host limit; joined by + (the paper's eight, caps and devices)");
  line.flag("--quick", options->wanted.quick, "Three victims and settings, in three minutes");
  line.option("--run", options->run, "Length of a run of a victim in seconds (0.5)");
  line.option("--pairs", options->pairs, "Most pairs of a comparison (200)");
  line.option("--seconds", options->seconds,
              "Time of all comparisons together, of which each has four pairs at least (no limit)");
  line.option("--out", options->out, "Append each record to this file, as JSON lines");
  line.flag("--resume", options->resume, "Go on with the study in the file of --out");
  line.option("--html", options->html, "Write the page of the study to this file");
  line.option("--seed", options->seed, "Seed of orders, inputs and intervals (1)");
  return [&context, options] { return run(context, *options); };
}

}  // namespace k2k::labs::harm
