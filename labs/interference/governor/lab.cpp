#include "labs/interference/governor/lab.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/text_table.hpp"
#include "labs/interference/governor/real.hpp"
#include "labs/interference/governor/study.hpp"
#include "labs/interference/options.hpp"
#include "labs/interference/progress_line.hpp"

namespace k2k::labs::governor {

namespace {

namespace policy = k2k::governor;

using nlohmann::ordered_json;

constexpr double offered_min = 1;
constexpr double offered_max = 1e8;
constexpr std::uint32_t outstanding_max = 1u << 20;
constexpr std::uint32_t cores_max = 1024;
constexpr std::uint32_t seconds_max = 60;
constexpr double busy_min = 0.01;
constexpr std::uint32_t pairs_max = 200;

// Option values as given; empty: not given.
struct Options {
  bool simulate = false;
  bool all = false;
  std::string cores;
  std::string cap;
  std::string service;
  std::string outstanding;
  std::string offered;
  std::string seconds;
  std::string busy;
  std::string pairs;
  std::string load;
  std::vector<std::string> policies;
  std::uint64_t seed = 1;

  [[nodiscard]] bool custom() const {
    return !(cores + cap + service + outstanding + offered + busy).empty();
  }
};

// "0.75" or "75%"; 0 if not given.
Result<double> read_busy(const std::string& text) {
  if (text.empty()) return 0.0;
  const bool percent = text.ends_with('%');
  double value = 0;
  const bool number =
      read_number(std::string_view(text).substr(0, text.size() - (percent ? 1 : 0)), value);
  if (percent) value /= 100;
  if (number && value >= busy_min && value <= 1) return value;
  return Error{EINVAL, fmt::format("--busy is '{}'; permitted is the fraction of the time in which "
                                   "CPU programs want each core, 0.01 to 1, or 1% to 100%",
                                   text)};
}

Result<double> read_offered(const std::string& text) {
  double value = 0;
  if (text == "inf") return unbounded;
  if (read_number(text, value) && value >= offered_min && value <= offered_max) return value;
  return Error{EINVAL,
               fmt::format("--offered is '{}'; permitted are {:g} to {:g} requests a second, "
                           "or inf",
                           text, offered_min, offered_max)};
}

Result<Load> custom_load(const Options& options) {
  Load load{.name = "custom"};
  if (Status status = read_count("--cores", options.cores, cores_max, load.cores); !status) {
    return status.error();
  }
  if (Status status =
          read_count("--outstanding", options.outstanding, outstanding_max, load.outstanding);
      !status) {
    return status.error();
  }
  if (!options.service.empty()) {
    const Result<ServiceTime> service = ServiceTime::parse(options.service);
    if (!service) return service.error();
    load.service = service.value();
  }
  if (!options.offered.empty()) {
    const Result<double> offered = read_offered(options.offered);
    if (!offered) return offered.error();
    load.offered = offered.value();
  }
  const Result<double> busy = read_busy(options.busy);
  if (!busy) return busy.error();
  if (busy.value() > 0) load.busy = busy.value();
  return load;
}

Result<std::vector<policy::Policy>> policies_of(const Options& options) {
  std::vector<policy::Policy> policies;
  for (const std::string& name : options.policies) {
    const Result<policy::Policy> one = policy::policy_named(name);
    if (!one) return one.error();
    policies.push_back(one.value());
  }
  return policies;
}

Result<Source> source_of(const Options& options) {
  for (const Source source : {Source::reads, Source::trace}) {
    if (options.load.empty() || options.load == name_of(source)) return source;
  }
  return Error{EINVAL, fmt::format("--load is '{}'; permitted are reads and trace", options.load)};
}

Result<std::vector<Case>> cases_of(const Options& options) {
  if (!options.seconds.empty()) {
    return Error{EINVAL, "--seconds is for real threads; omit it or --simulate"};
  }
  if (!options.load.empty()) {
    return Error{EINVAL, "--load is for real threads; omit it or --simulate"};
  }
  if (!options.pairs.empty()) {
    return Error{EINVAL, "--pairs is for real threads; omit it or --simulate"};
  }
  const Result<std::vector<policy::Policy>> named = policies_of(options);
  if (!named) return named.error();
  const std::vector<policy::Policy>& policies = named.value();
  if (!options.custom()) return study(options.all, policies);
  if (options.all) {
    return Error{EINVAL, "--all runs the loads of the study; omit it to give a load of your own"};
  }
  const Result<Load> load = custom_load(options);
  if (!load) return load.error();
  const Result<double> cap = read_cap(options.cap.empty() ? "0.05" : options.cap);
  if (!cap) return cap.error();
  return custom(load.value(), cap.value(), policies);
}

// The cases on real threads, and the duration of each.
struct RealRun {
  std::vector<RealCase> cases;
  double seconds = 0;
  CpuPrograms programs{};
  Source source = Source::reads;

  // `none` must run in any case: its mean service time is the reference of of_uncapped.
  [[nodiscard]] bool reference() const {
    return cases.empty() || cases.front().policy != policy::Policy::none;
  }
};

Status refuse_simulated_options(const Options& options) {
  const std::pair<const char*, bool> given[] = {{"--all", options.all},
                                                {"--cores", !options.cores.empty()},
                                                {"--service", !options.service.empty()},
                                                {"--outstanding", !options.outstanding.empty()},
                                                {"--offered", !options.offered.empty()}};
  for (const auto& [name, there] : given) {
    if (!there) continue;
    return Error{EINVAL, fmt::format("{} requires --simulate; on real threads the load and "
                                     "the cores are fixed",
                                     name)};
  }
  return {};
}

Result<RealRun> real_run_of(const Options& options) {
  if (Status status = refuse_simulated_options(options); !status) return status.error();
  const Result<std::vector<policy::Policy>> policies = policies_of(options);
  if (!policies) return policies.error();
  std::vector<double> caps;
  if (!options.cap.empty()) {
    const Result<double> cap = read_cap(options.cap);
    if (!cap) return cap.error();
    caps.push_back(cap.value());
  }
  Result<std::vector<RealCase>> cases = real_cases(policies.value(), caps);
  if (!cases) return cases.error();
  RealRun run{.cases = std::move(cases.value())};
  const Result<double> busy = read_busy(options.busy);
  if (!busy) return busy.error();
  run.programs.busy = busy.value();
  if (!options.pairs.empty() && busy.value() == 0) {
    return Error{EINVAL, "--pairs compares CPU programs; give --busy, too, such as --busy 100%"};
  }
  if (Status status = read_count("--pairs", options.pairs, pairs_max, run.programs.pairs);
      !status) {
    return status.error();
  }
  const Result<Source> source = source_of(options);
  if (!source) return source.error();
  run.source = source.value();
  run.seconds = real_seconds(run.cases, run.reference(), run.programs.busy > 0);
  std::uint32_t seconds = 0;
  if (Status status = read_count("--seconds", options.seconds, seconds_max, seconds); !status) {
    return status.error();
  }
  if (seconds != 0) run.seconds = seconds;
  return run;
}

Result<std::vector<ordered_json>> run_all(const std::vector<Case>& cases, std::uint64_t seed) {
  ProgressLine progress(cases.size());
  std::vector<ordered_json> rows;
  for (const Case& one : cases) {
    progress.next(
        fmt::format("{}, {} {:g} %", one.load.name, policy::name_of(one.policy), one.cap * 100));
    Result<ordered_json> row = run(one, seed);
    if (!row) return row.error();
    rows.push_back(std::move(row.value()));
  }
  return rows;
}

Result<std::vector<ordered_json>> run_all(const RealRun& run, RealLab& lab) {
  const bool reference = run.reference();
  ProgressLine progress(run.cases.size() + (reference ? 1 : 0));
  if (reference) {
    progress.next(fmt::format("no cap, for comparison, {:g} s", reference_seconds));
    if (Status status = lab.reference(); !status) return status.error();
  }
  std::vector<ordered_json> rows;
  for (const RealCase& one : run.cases) {
    progress.next(one.cap == 0 ? fmt::format("no cap, {:.1f} s", run.seconds)
                               : fmt::format("{} {:g} %, {:.1f} s", policy::name_of(one.policy),
                                             one.cap * 100, run.seconds));
    Result<ordered_json> row = lab.row(one, run.seconds);
    if (!row) return row.error();
    rows.push_back(std::move(row.value()));
  }
  return rows;
}

std::string percent(const ordered_json& value) {
  if (value.is_null()) return "-";
  return fmt::format("{:.2f} %", value.get<double>() * 100);
}

// "3.26 % [1.10, 5.42]".
std::string loss(const ordered_json& row) {
  if (row["cpu_loss_low"].is_null()) return percent(row["cpu_loss"]);
  return fmt::format("{} [{:.2f}, {:.2f}]", percent(row["cpu_loss"]),
                     row["cpu_loss_low"].get<double>() * 100,
                     row["cpu_loss_high"].get<double>() * 100);
}

std::string whole(const ordered_json& value) { return fmt::format("{:.0f}", value.get<double>()); }

std::string table(const std::vector<ordered_json>& rows, bool color) {
  std::vector<std::vector<std::string>> lines = {{"load", "policy", "cap", "share", "worst 100 ms",
                                                  "requests/s", "per CPU-s", "of ideal",
                                                  "displaced", "wakes/s"}};
  for (const ordered_json& row : rows) {
    lines.push_back({row["load"], row["policy"],
                     row["policy"] == "none" ? "-" : percent(row["cap"]), percent(row["share"]),
                     percent(row["worst_100ms"]), whole(row["throughput"]), whole(row["per_cpu_s"]),
                     percent(row["of_ideal"]), percent(row["displaced"]), whole(row["wakes"])});
  }
  return cli::text_table(lines, color);
}

std::string real_table(const std::vector<ordered_json>& rows, const RealLab& lab, bool color) {
  std::vector<std::vector<std::string>> lines = {
      {"policy", "cap", "share", "server's view", "worst 100 ms", "requests/s", "per CPU-s",
       "of ideal", "of uncapped", "of bare", "waits/s", "forced", "CPU loss", "device"}};
  for (const ordered_json& row : rows) {
    lines.push_back({row["policy"], row["policy"] == "none" ? "-" : percent(row["cap"]),
                     percent(row["share"]), percent(row["ledger_share"]),
                     percent(row["worst_100ms"]), whole(row["throughput"]), whole(row["per_cpu_s"]),
                     percent(row["of_ideal"]), percent(row["of_uncapped"]), percent(row["of_bare"]),
                     whole(row["waits"]), whole(row["forced"]), loss(row),
                     percent(row["device_share"])});
  }
  return cli::text_table(lines, color) +
         fmt::format(
             "Real threads, reads of random bytes of {:.1f} us, {} cores; share as schedstat sees "
             "it.\nof ideal: the rest is overhead. of uncapped: the rest includes the loss of a "
             "core that "
             "sleeps between batches.\nof bare: requests per CPU-second, relative to a plain "
             "thread that makes the same reads in such batches.\n",
             lab.service_us(), lab.cores());
}

int run_real(const cli::Context& context, const Options& options) {
  const auto complain = [](const Error& error, int status) {
    return cli::complain(fmt::format("lab governor: {}", error.message), status);
  };
  const Result<RealRun> run = real_run_of(options);
  if (!run) return complain(run.error(), cli::exit_usage);
  const auto loaded = context.load();
  if (!loaded) return cli::complain_config(loaded.error());
  Result<RealLab> lab = RealLab::create(loaded.value().config, options.seed, run.value().programs,
                                        run.value().source);
  if (!lab) return complain(lab.error(), cli::exit_failure);
  const Result<std::vector<ordered_json>> rows = run_all(run.value(), lab.value());
  if (!rows) {
    return complain(rows.error(),
                    rows.error().code == EINVAL ? cli::exit_usage : cli::exit_failure);
  }
  if (!context.json) return cli::print(real_table(rows.value(), lab.value(), context.color));
  const ordered_json result = {{"rows", rows.value()},
                               {"cores", lab->cores()},
                               {"service_us", rounded(lab->service_us())},
                               {"seconds", rounded(run.value().seconds)},
                               {"source", name_of(run.value().source)}};
  return cli::print(result.dump() + "\n");
}

int run_simulated(const cli::Context& context, const Options& options) {
  const Result<std::vector<Case>> cases = cases_of(options);
  if (!cases) {
    return cli::complain(fmt::format("lab governor: {}", cases.error().message), cli::exit_usage);
  }
  const Result<std::vector<ordered_json>> rows = run_all(cases.value(), options.seed);
  if (!rows) {
    return cli::complain(fmt::format("lab governor: {}", rows.error().message), cli::exit_usage);
  }
  if (context.json) return cli::print(ordered_json{{"rows", rows.value()}}.dump() + "\n");
  return cli::print(table(rows.value(), context.color));
}

}  // namespace

cli::Run add_lab(cli::CommandLine& line, cli::Context& context) {
  auto options = std::make_shared<Options>();
  line.flag("--simulate", options->simulate, "Simulated time: the policies' own code, no threads");
  line.option("--seconds", options->seconds,
              "Real threads: seconds of a row, 1 to 60 (8, or less so that all take 55)");
  line.flag("--all", options->all,
            "More loads: one core, burst after silence, log-normal, UVM-sized, paper-calibrated, "
            "cores that are not always busy");
  line.option("--cores", options->cores, "A load of your own: cores of the machine (4)");
  line.option("--cap", options->cap,
              "Fraction of all cores' CPU time, or a percentage such as 5% (0.05); for auto the "
              "permitted loss");
  line.option("--service", options->service,
              "Service time in us: uniform:LO:HI, lognormal:MEAN:SIGMA or fixed:X (uniform:2:50)");
  line.option("--outstanding", options->outstanding,
              "The accelerator stalls with this many unanswered requests (64)");
  line.option("--busy", options->busy,
              "CPU programs want each core for this fraction of the time, such as 0.75 or 75% "
              "(none; simulated: all of the time)");
  line.option("--pairs", options->pairs,
              "Real threads, with --busy: compare the CPU programs beside the load and alone so "
              "often, 2.6 s each, 1 to 200; from 6 on, their loss has a 95 % interval (1)");
  line.option("--offered", options->offered, "New requests a second, or inf (inf)").offer({"inf"});
  std::vector<std::string> policies;
  for (const policy::Policy one : policy::all_policies) policies.emplace_back(policy::name_of(one));
  line.option("--policy", options->policies, "Only these policies, such as backoff,budget")
      .commas()
      .offer(policies);
  line.option("--load", options->load,
              "Real threads: requests are reads of work-items, which occupy a core, or a trace, "
              "which occupies none (reads)")
      .offer({"reads", "trace"});
  line.option("--seed", options->seed, "The same number gives the same result (1)");
  return [&context, options] {
    return options->simulate ? run_simulated(context, *options) : run_real(context, *options);
  };
}

}  // namespace k2k::labs::governor
