// Goal: figures say what the runs say, a study goes on where it ended, and claims are judged by the
// figures that they name.

#include "labs/interference/harm/study.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "governor/loss_filter.hpp"
#include "labs/interference/harm/claims.hpp"
#include "labs/interference/harm/combinations.hpp"
#include "labs/interference/harm/leave_one_out.hpp"
#include "labs/interference/harm/machine.hpp"
#include "labs/interference/harm/page.hpp"
#include "labs/interference/harm/plan.hpp"
#include "labs/interference/harm/records.hpp"

namespace k2k::labs::harm {
namespace {

using nlohmann::ordered_json;

using OneRun = harm::Run;

volatile std::sig_atomic_t never = 0;

std::vector<std::pair<OneRun, OneRun>> pairs_of(const OneRun& a, const OneRun& b,
                                                std::size_t count) {
  return std::vector<std::pair<OneRun, OneRun>>(count, {a, b});
}

TEST(HarmFigures, tell_stolen_time_from_inflation) {
  const OneRun a{.wall_s = 1, .cpu_s = 1, .run_delay_s = 0.1};
  const OneRun b{.wall_s = 1.5, .cpu_s = 1.1, .run_delay_s = 0.4};
  const Figures figures = figures_of(pairs_of(a, b, 10), Kind::service, {}, 1);
  EXPECT_NEAR(figures.inflation.mean, std::log(1.1), 1e-9);
  EXPECT_NEAR(figures.delay.mean, 0.3, 1e-9);
  EXPECT_NEAR(figures.wall.mean, std::log(1.5), 1e-9);
  EXPECT_NEAR(figures.occupied.mean, std::log(1.5 / 1.1), 1e-9);
  EXPECT_EQ(figures.end, End::precise);
}

TEST(HarmFigures, split_the_loss_into_stolen_time_and_pollution) {
  // One thread: 1.0 s alone, then 0.1 s of caches and 0.2 s on the run queue.
  const OneRun a{.wall_s = 1, .cpu_s = 0.95, .run_delay_s = 0.05};
  const OneRun b{.wall_s = 1.3, .cpu_s = 1.05, .run_delay_s = 0.25, .service_share = 0.1};
  const Figures figures = figures_of(pairs_of(a, b, 10), Kind::service, {}, 1);
  EXPECT_NEAR(figures.stolen.mean, 0.2, 1e-9);
  EXPECT_NEAR(figures.polluted.mean, 0.1, 1e-9);
  EXPECT_NEAR(figures.loss.mean, 0.3, 1e-9);
  EXPECT_NEAR(figures.share.mean, 0.1, 1e-9);
  Outcome outcome{.comparison = {{.name = "single"}, "ubench", Kind::service, "staged"}};
  outcome.figures = figures;
  outcome.figures.loss.low -= 1e-6;
  outcome.figures.loss.high += 1e-6;
  EXPECT_EQ(json_of(outcome)["decomposed"]["sum_in_interval"], true);
  outcome.figures.polluted.mean += 0.05;
  EXPECT_EQ(json_of(outcome)["decomposed"]["sum_in_interval"], false);
}

TEST(HarmFigures, compare_idle_states_with_the_idle_time_of_stat) {
  const OneRun a{.wall_s = 1, .asleep = 0.7, .polling = 0.1, .idle = 0.81};
  const OneRun b{.wall_s = 1, .asleep = 0.2, .polling = 0.0, .idle = 0.19};
  Outcome outcome{.comparison = {{.name = "none"}, "ubench", Kind::idle, "staged"}};
  outcome.figures = figures_of(pairs_of(a, b, 10), Kind::idle, {}, 1);
  EXPECT_NEAR(outcome.figures.idle_gap.mean, 0, 1e-9);
  EXPECT_EQ(outcome.figures.idle_gap.pairs, 20u) << "both sides count";
  EXPECT_EQ(json_of(outcome)["idle_states"]["agree"], true);
  outcome.figures.idle_gap.mean = -0.03;
  EXPECT_EQ(json_of(outcome)["idle_states"]["agree"], false);
  outcome.figures.mean_asleep_before = 0.01;
  EXPECT_TRUE(json_of(outcome)["idle_states"]["agree"].is_null()) << "the cores were never idle";
  outcome.figures.mean_asleep_before = 0.7;
  outcome.figures.idle_gap = {};
  EXPECT_TRUE(json_of(outcome)["idle_states"]["agree"].is_null()) << "no state is shown";
}

TEST(HarmFigures, leave_out_pairs_that_the_hypervisor_disturbed) {
  const OneRun quiet{.wall_s = 1, .cpu_s = 1};
  OneRun disturbed = quiet;
  disturbed.stolen = 2 * stolen_max;
  auto pairs = pairs_of(quiet, quiet, 10);
  pairs.emplace_back(quiet, disturbed);
  const Figures figures = figures_of(pairs, Kind::service, {.pairs_max = 11}, 1);
  EXPECT_EQ(figures.made, 11u);
  EXPECT_EQ(figures.discarded, 1u);
  EXPECT_EQ(figures.wall.pairs, 10u);
}

TEST(HarmFigures, of_idle_cores_end_by_their_sleep) {
  const OneRun a{.wall_s = 1, .asleep = 0.8, .idle = 0.81};
  const OneRun b{.wall_s = 1, .asleep = 0.2, .idle = 0.21};
  const Figures figures = figures_of(pairs_of(a, b, 10), Kind::idle, {}, 1);
  EXPECT_NEAR(figures.asleep.mean, -0.6, 1e-9);
  EXPECT_NEAR(figures.asleep_ratio.mean, std::log(0.25), 1e-9);
  EXPECT_NEAR(figures.mean_asleep_before, 0.8, 1e-9);
  EXPECT_NEAR(figures.mean_idle, 0.21, 1e-9);
  EXPECT_EQ(figures.end, End::precise);
  EXPECT_FALSE(figures_of(pairs_of({}, {}, 10), Kind::idle, {}, 1).sleep_shown);
}

TEST(HarmFigures, of_a_reverse_arm_end_by_the_rate) {
  std::vector<std::pair<OneRun, OneRun>> pairs;
  for (int at = 0; at < 12; ++at) {
    pairs.emplace_back(OneRun{.cpu_s = 1, .rate = 1000},
                       OneRun{.cpu_s = 1.0 + at % 3, .rate = 900});
  }
  EXPECT_EQ(figures_of(pairs, Kind::reverse, {}, 1).end, End::precise);
  EXPECT_EQ(figures_of(pairs, Kind::service, {}, 1).end, End::goes_on);
}

TEST(HarmMachine, counts_idle_stolen_and_interrupts) {
  const Counters counters = counters_of("cpu  100 0 50 800 50 0 0 25 0 0\ncpu0 1 2 3\n",
                                        "           CPU0 CPU1\n 24: 5 5 x\nRES: 10 20 text\n"
                                        "CAL: 1 2 Function call interrupts\nLOC: 9 9\n");
  const double tick = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  EXPECT_NEAR(counters.busy_s, 150 * tick, 1e-9);
  EXPECT_NEAR(counters.idle_s, 850 * tick, 1e-9);
  EXPECT_NEAR(counters.stolen_s, 25 * tick, 1e-9);
  EXPECT_EQ(counters.interrupts, 33);
  EXPECT_EQ(counters_of("", "").interrupts, 0);
  EXPECT_GT(machine()["cores"].get<int>(), 0);
}

TEST(HarmMachine, adds_the_sleep_of_all_cores_without_polling) {
  const std::string root = testing::TempDir() + "k2k_cores_" + std::to_string(::getpid());
  const auto put = [&](int core, int state, const char* name, const char* time) {
    const std::string folder =
        root + "/cpu" + std::to_string(core) + "/cpuidle/state" + std::to_string(state);
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/name") << name << "\n";
    std::ofstream(folder + "/time") << time << "\n";
  };
  EXPECT_EQ(idle_seconds(root).asleep, -1) << "no core shows a state";
  put(0, 0, "POLL", "9000000");
  EXPECT_EQ(idle_seconds(root).asleep, -1) << "polling is no sleep";
  put(0, 1, "C1", "1000000");
  put(0, 2, "C6", "2000000");
  put(1, 1, "C1", "500000");
  EXPECT_DOUBLE_EQ(idle_seconds(root).asleep, 3.5);
  EXPECT_DOUBLE_EQ(idle_seconds(root).polling, 9);
  EXPECT_EQ(idle_seconds(root + "/cpu9").polling, -1);
  std::filesystem::remove_all(root);
}

TEST(HarmMachine, visits_cores_and_returns_to_where_it_may_run) {
  cpu_set_t before;
  cpu_set_t after;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
  visit_cores();
  ASSERT_EQ(::sched_getaffinity(0, sizeof(after), &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

// A small study of one real victim beside a real source.
class HarmStudy : public testing::Test {
 protected:
  HarmStudy() {
    options.run_s = 0.05;
    options.threads = 1;
    options.rule = {.half_width = 0, .pairs_min = 2, .pairs_max = 2};
    Victim victim{.name = "single", .loop = "single"};
    victim.rounds = 8'000;  // Some 30 ms, in which even a busy machine serves requests.
    for (const Kind kind : {Kind::a_a, Kind::no_op, Kind::service, Kind::idle, Kind::reverse}) {
      comparisons.push_back({victim, "ubench", kind, "staged"});
    }
  }
  std::vector<Outcome> run(const EarlierRuns& earlier) {
    Study study(options, never);
    auto outcomes = study.run(
        comparisons, earlier,
        [&](const ordered_json& record) {
          kept.push_back(record);
          return Status();
        },
        [](auto&&...) {});
    EXPECT_TRUE(outcomes.ok());
    return outcomes.ok() ? std::move(outcomes).value() : std::vector<Outcome>();
  }
  // On a busy machine a source may not run during one short run; in all of its kind it does.
  void expect_requests_except_of_twins() const {
    std::map<std::string, double> rates;
    std::map<std::string, double> shares;
    for (const ordered_json& record : kept) {
      const std::string at = record["at"];
      const bool twin = record["side"] == "A" && at.find("|reverse|") == std::string::npos;
      if (twin || at.find("|a_a|") != std::string::npos) {
        EXPECT_EQ(record["rate"], 0) << "a twin makes no request: " << record;
        continue;
      }
      const std::string kind = at.substr(0, at.rfind('|', at.rfind('|') - 1));
      rates[kind] += record["rate"].get<double>();
      shares[kind] += record["service_share"].get<double>();
    }
    EXPECT_FALSE(rates.empty());
    for (const auto& [kind, rate] : rates) {
      EXPECT_GT(rate, 0) << kind;
      EXPECT_GT(shares[kind], 0) << kind;
    }
  }
  StudyOptions options;
  std::vector<Comparison> comparisons;
  std::vector<ordered_json> kept;
};

TEST_F(HarmStudy, measures_each_arm_and_goes_on_from_records) {
  const std::vector<Outcome> outcomes = run({});
  ASSERT_EQ(outcomes.size(), 5u);
  for (const Outcome& one : outcomes) {
    EXPECT_EQ(one.problem, "") << one.comparison.key();
    EXPECT_EQ(one.figures.made, 2u) << one.comparison.key();
    EXPECT_NE(one.figures.end, End::goes_on);
  }
  expect_requests_except_of_twins();
  ASSERT_EQ(kept.size(), 20u);

  const std::string path = testing::TempDir() + "k2k_records_" + std::to_string(::getpid());
  {
    std::ofstream file(path);
    file << ordered_json{{"kind", "plan"}, {"schema", schema}}.dump() << "\n";
    for (std::size_t at = 0; at < 17; ++at) file << kept[at].dump() << "\n";
    file << R"({"kind":"run","at":"cut o)";
  }
  const Result<Earlier> earlier = load_records(path);
  ::unlink(path.c_str());
  ASSERT_TRUE(earlier.ok()) << earlier.error().message;
  EXPECT_EQ(earlier.value().runs.size(), 17u);
  kept.clear();
  const std::vector<Outcome> again = run(earlier.value().runs);
  EXPECT_EQ(kept.size(), 3u) << "only the runs that are missing are measured";
  ASSERT_EQ(again.size(), 5u);
  EXPECT_EQ(again[2].figures.wall.mean, outcomes[2].figures.wall.mean);
}

TEST_F(HarmStudy, measures_a_kernel_s_reads_on_the_configured_backend) {
  for (Comparison& one : comparisons) one.source = kernel_source;
  std::erase_if(comparisons, [](const Comparison& one) { return one.kind == Kind::no_op; });
  const std::vector<Outcome> outcomes = run({});
  ASSERT_EQ(outcomes.size(), 4u);
  for (const Outcome& one : outcomes) EXPECT_EQ(one.problem, "") << one.comparison.key();
  expect_requests_except_of_twins();
}

TEST_F(HarmStudy, tells_why_a_kernel_could_not_be_launched) {
  comparisons = {{comparisons[0].victim, kernel_source, Kind::service, "staged"}};
  options.kernel = [](Runtime&, const ReadsJob&) {
    return Result<LaunchReport>(Error{ENOEXEC, "no kernel for this device"});
  };
  EXPECT_EQ(run({})[0].problem, "no kernel for this device");
  options.config.backend = "nowhere";
  EXPECT_NE(run({})[0].problem.find("nowhere"), std::string::npos);
}

TEST(HarmPlan, compares_a_kernel_with_no_no_ops) {
  const std::vector<Victim> victims = {{.name = "single", .loop = "single"}};
  const auto kinds_of = [&](const char* source) {
    const auto all = comparisons_of({.sources = {source}, .settings = {"staged"}}, victims, {});
    EXPECT_TRUE(all.ok());
    return std::count_if(all.value().begin(), all.value().end(),
                         [](const Comparison& one) { return one.kind == Kind::no_op; });
  };
  EXPECT_EQ(kinds_of(kernel_source), 0);
  EXPECT_EQ(kinds_of("ubench"), 1);
}

TEST_F(HarmStudy, a_victim_that_crashes_is_the_outcome_and_the_others_go_on) {
  comparisons[0].victim = {.name = "mine", .command = {"sh", "-c", "kill -9 $$"}};
  comparisons[1].victim = comparisons[0].victim;
  comparisons.resize(3);
  const std::vector<Outcome> outcomes = run({});
  ASSERT_EQ(outcomes.size(), 3u);
  EXPECT_EQ(outcomes[0].problem, "mine crashed: signal 9 (Killed)");
  EXPECT_EQ(outcomes[1].problem, outcomes[0].problem);
  EXPECT_EQ(outcomes[2].problem, "");
}

volatile std::sig_atomic_t alarmed = 0;

// The signal comes while no wait for the source is in progress, and the source never ends by
// itself: it must be killed.
TEST_F(HarmStudy, a_signal_ends_it_although_its_source_does_not_end) {
  comparisons = {{comparisons[0].victim, kernel_source, Kind::idle, "staged"}};
  options.run_s = 0.4;
  options.kernel = [](Runtime&, const ReadsJob&) {
    while (true) ::pause();
    return Result<LaunchReport>(Error{ENOSYS, "never reached"});
  };
  alarmed = 0;
  struct sigaction action{};
  struct sigaction usual{};
  action.sa_handler = [](int) { alarmed = 1; };
  ::sigaction(SIGALRM, &action, &usual);
  const itimerval soon{{0, 0}, {0, 300'000}};
  ::setitimer(ITIMER_REAL, &soon, nullptr);
  Study study(options, alarmed);
  const auto begin = std::chrono::steady_clock::now();
  const auto outcomes =
      study.run(comparisons, {}, [](const ordered_json&) { return Status(); }, [](auto&&...) {});
  const auto took = std::chrono::steady_clock::now() - begin;
  ::sigaction(SIGALRM, &usual, nullptr);
  ASSERT_TRUE(outcomes.ok());
  EXPECT_TRUE(study.stopped());
  EXPECT_TRUE(outcomes.value()[0].figures.cut);
  EXPECT_LT(took, std::chrono::seconds(20)) << "before, it waited for ever";
}

TEST_F(HarmStudy, several_devices_share_a_host_limit) {
  comparisons = {{comparisons[0].victim, "ubench", Kind::service, "default+devices=3+limit=5%"}};
  options.settling_limited_s = 0.4;
  options.run_limited_s = 0.2;  // Four turns of a victim that runs for 0.05 s.
  const std::vector<Outcome> outcomes = run({});
  ASSERT_EQ(outcomes.size(), 1u);
  if (outcomes[0].problem.find("has a host limit") != std::string::npos) GTEST_SKIP();
  EXPECT_EQ(outcomes[0].problem, "");
  ASSERT_EQ(kept.size(), 4u);
  for (const ordered_json& record : kept) {
    EXPECT_EQ(record["rate"] != 0, record["side"] == "B") << record;
    // Without the limit a single source takes a core: half of two.
    EXPECT_LT(record["service_share"].get<double>(), 0.15) << record;
  }
}

TEST_F(HarmStudy, a_record_that_cannot_be_kept_ends_it) {
  Study study(options, never);
  const auto outcomes = study.run(
      comparisons, {}, [](const ordered_json&) { return Status(Error{ENOSPC, "no room"}); },
      [](auto&&...) {});
  ASSERT_FALSE(outcomes.ok());
  EXPECT_EQ(outcomes.error().message, "no room");
}

TEST_F(HarmStudy, a_core_that_goes_offline_ends_it_and_no_run_of_two_machines_is_kept) {
  const std::string online = testing::TempDir() + "k2k_online_" + std::to_string(::getpid());
  std::ofstream(online) << "0-1\n";
  options.online = online;
  Study study(options, never);
  const auto outcomes = study.run(
      comparisons, {},
      [&](const ordered_json& record) {
        kept.push_back(record);
        if (kept.size() == 3) std::ofstream(online) << "0\n";
        return Status();
      },
      [](auto&&...) {});
  std::remove(online.c_str());
  ASSERT_FALSE(outcomes.ok());
  EXPECT_EQ(outcomes.error().code, ENXIO);
  EXPECT_EQ(outcomes.error().message,
            "cores 0 are online, and 0-1 were when the study began; the run in progress does not "
            "count; --out FILE --resume goes on with the cores of the beginning");
  EXPECT_EQ(kept.size(), 3u);
}

TEST(HarmSources, has_each_generator_as_a_trace) {
  const std::vector<std::string> names = source_names();
  for (const char* const name : {"ubench-recorded", "bpt", "xsbench", "bfs", "spmv", "sssp", "heap",
                                 "pages", "signals", "files"}) {
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
    const Result<Trace> trace = source_of(name, 1);
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    EXPECT_FALSE(trace->endless());
    EXPECT_GT(trace->events(), 100u) << name;
  }
}

TEST(HarmSources, refuse_a_file_that_is_no_trace_by_its_line) {
  const std::string path = testing::TempDir() + "k2k_source_" + std::to_string(::getpid());
  std::ofstream(path) << "# k2k trace 1\n+1 fault 4096\n+1 fault none\n";
  const Result<Trace> trace = source_of(path, 1);
  std::remove(path.c_str());
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.error().message,
            path + ": line 3: 'none' is no such amount; fault takes 1 to 131072 bytes");
}

TEST(HarmRecords, are_refused_with_the_reason) {
  Records records;
  ASSERT_TRUE(records.open("/dev/full").ok());
  EXPECT_EQ(records.write({{"kind", "plan"}}).error().message,
            "cannot write /dev/full: No space left on device; the runs so far are kept there: make "
            "room and run again with --resume");
  Records nowhere;
  EXPECT_EQ(nowhere.open("/nowhere/x").error().message,
            "cannot write /nowhere/x: No such file or directory; name another file with --out");
  const std::string path = testing::TempDir() + "k2k_wrong_" + std::to_string(::getpid());
  const auto refusal = [&](const char* text) {
    std::ofstream(path) << text;
    return load_records(path).error().message;
  };
  EXPECT_NE(refusal("{\"kind\":\"plan\",\"schema\":0}\n").find("has records of schema 0"),
            std::string::npos);
  EXPECT_NE(refusal("[1]\n{}\n").find("line 1 is no record"), std::string::npos);
  EXPECT_NE(refusal("").find("has no plan"), std::string::npos);
  ::unlink(path.c_str());
  EXPECT_EQ(load_records(path).error().code, ENOENT);
}

// --- Claims.

Outcome outcome_of(const char* victim, Kind kind, const char* setting, double wall, double rate) {
  Outcome outcome;
  outcome.comparison.victim.name = victim;
  outcome.comparison.source = "ubench";
  outcome.comparison.kind = kind;
  outcome.comparison.setting = setting;
  const OneRun a{
      .wall_s = 1, .cpu_s = 1, .rate = 1000, .wakes = 1, .interrupts = 10, .asleep = 0.8};
  const OneRun b{
      .wall_s = wall, .cpu_s = 1, .rate = rate, .wakes = 0.5, .interrupts = 20, .asleep = 0.1};
  outcome.figures = figures_of(pairs_of(a, b, 10), kind, {}, 1);
  return outcome;
}

std::map<std::string, Judged> judged(const std::vector<Outcome>& outcomes) {
  const Result<std::vector<Claim>> claims = all_claims();
  EXPECT_TRUE(claims.ok()) << claims.error().message;
  std::map<std::string, Judged> all;
  for (const Judged& one : judge_claims(claims.value(), outcomes)) all.emplace(one.claim.id, one);
  return all;
}

TEST(HarmClaims, are_judged_by_the_figures_that_they_name) {
  auto all = judged({outcome_of("single", Kind::service, "staged", 1.1, 500),
                     outcome_of("compute", Kind::service, "staged", 2.0, 500),
                     outcome_of("compute", Kind::service, "monolithic", 1.5, 1500),
                     outcome_of("none", Kind::idle, "staged", 1, 700),
                     outcome_of("compute", Kind::reverse, "staged", 1, 700)});
  EXPECT_EQ(all["cpu-loss-ubench-most"].verdict, "reproduced");
  EXPECT_EQ(all["cpu-loss-ubench-most"].note, "compute");
  EXPECT_NEAR(all["cpu-loss-ubench-most"].ours->mean, 2, 1e-9);
  EXPECT_EQ(all["cpu-loss-ubench-mean"].verdict, "reproduced") << "the root of 2.2";
  EXPECT_NEAR(all["cpu-loss-ubench-mean"].ours->mean, std::sqrt(2.2), 1e-9);
  EXPECT_EQ(all["single-threaded-suffers-less"].verdict, "reproduced");
  EXPECT_EQ(all["gpu-loss-most"].verdict, "reproduced") << "0.7 is below 0.82";
  EXPECT_EQ(all["monolithic-serves-faster"].verdict, "reproduced") << "3 times";
  EXPECT_EQ(all["monolithic-costs-more"].verdict, "not reproduced") << "it costs less here";
  EXPECT_EQ(all["interrupts-between-cores"].verdict, "not reproduced") << "2 times, not 477";
  EXPECT_EQ(all["sleep-lost"].verdict, "reproduced") << "80 to 10 %";
  EXPECT_NE(all["sleep-lost"].note.find("80.0 % to 10.0 %"), std::string::npos);
  EXPECT_EQ(all["caches"].verdict, "not measured");
  EXPECT_EQ(all["caches"].note, "needs the victim l1");
  EXPECT_EQ(all["cpu-loss-programs-most"].verdict, "not measurable here");
  EXPECT_NE(all["cpu-loss-programs-most"].note, "");
  EXPECT_EQ(all["coalescing-saves-interrupts"].verdict, "not measured");
}

TEST(HarmClaims, sleep_is_not_measurable_where_no_state_is_shown) {
  Outcome outcome = outcome_of("none", Kind::idle, "staged", 1, 700);
  outcome.figures.sleep_shown = false;
  const Judged sleep = judged({outcome})["sleep-lost"];
  EXPECT_EQ(sleep.verdict, "not measurable here");
  EXPECT_EQ(sleep.note, no_sleep_states);
  outcome.figures.sleep_shown = true;
  outcome.figures.mean_asleep_before = 0.01;
  EXPECT_EQ(judged({outcome})["sleep-lost"].note, "other programs kept the cores awake");
}

TEST(HarmClaims, pollution_is_the_cpu_time_of_a_victim_that_uses_one_part_of_a_core) {
  Outcome chase = outcome_of("l1", Kind::service, "staged", 2.0, 500);
  chase.figures.inflation = {0.01, 0.02, 0.03, 10};
  Outcome branches = outcome_of("branchy", Kind::service, "staged", 2.0, 500);
  branches.figures.inflation = {-0.01, 0.001, 0.01, 10};
  auto all = judged({chase, branches});
  EXPECT_EQ(all["caches"].verdict, "reproduced");
  EXPECT_NEAR(all["caches"].ours->mean, std::exp(0.02), 1e-9);
  EXPECT_EQ(all["branches"].verdict, "cannot tell");
}

TEST(HarmClaims, rates_of_settings_have_the_intervals_of_their_runs) {
  Outcome slow = outcome_of("compute", Kind::service, "staged", 2.0, 500);
  Outcome fast = outcome_of("compute", Kind::service, "monolithic", 2.0, 1'250);
  EXPECT_EQ(judged({slow, fast})["monolithic-serves-faster"].verdict, "reproduced");
  fast.figures.rate_level.low -= 0.5;
  fast.figures.rate_level.high += 0.5;
  EXPECT_EQ(judged({slow, fast})["monolithic-serves-faster"].verdict, "cannot tell");
}

TEST(HarmClaims, an_interval_around_the_target_cannot_tell) {
  Outcome outcome = outcome_of("compute", Kind::service, "staged", 1.8, 500);
  outcome.figures.wall.low = std::log(1.5);
  outcome.figures.wall.high = std::log(2.1);
  EXPECT_EQ(judged({outcome})["cpu-loss-ubench-most"].verdict, "cannot tell");
}

TEST(HarmClaims, a_wrong_file_is_refused_with_the_claim) {
  EXPECT_NE(parse_claims("[[claim]\n").error().message.find("claims.toml, line 1"),
            std::string::npos);
  EXPECT_NE(parse_claims("[[claim]]\nid='a'\n").error().message.find("claim 'a' lacks"),
            std::string::npos);
  const std::string base = "[[claim]]\nid='a'\nsection='I'\nsays='x'\n";
  EXPECT_NE(parse_claims(base + "figure='wrong'\n").error().message.find("there are loss, rate"),
            std::string::npos);
  EXPECT_NE(parse_claims(base + "figure='none'\n").error().message.find("no reason"),
            std::string::npos);
  EXPECT_NE(parse_claims(base + "figure='loss'\n").error().message.find("lacks its ratio"),
            std::string::npos);
  const std::string whole = base + "figure='none'\nbecause='y'\n";
  EXPECT_NE(parse_claims(whole + whole).error().message.find("two claims"), std::string::npos);
}

TEST(HarmPlan, refuses_unknown_victims_and_settings_with_the_known_ones) {
  EXPECT_NE(victims_of({.victims = {"singel"}}, "", 1)
                .error()
                .message.find("victim 'singel' does not exist; there are single, compute"),
            std::string::npos);
  StudyOptions options;
  EXPECT_NE(comparisons_of({.settings = {"staged+fast"}}, {}, options)
                .error()
                .message.find("has no word 'fast'; there are default, staged"),
            std::string::npos);
  EXPECT_FALSE(comparisons_of({.settings = {"cap=0"}}, {}, options).ok());
  EXPECT_FALSE(comparisons_of({.settings = {"governor=best"}}, {}, options).ok());
  EXPECT_FALSE(comparisons_of({.sources = {"nothing"}}, {}, options).ok());
  const auto usual = victims_of({}, "", 2);
  ASSERT_TRUE(usual.ok());
  EXPECT_EQ(usual.value().size(), all_victims("", 2).size());
}

// --- Settings side by side.

TEST(HarmSettings, are_compared_with_what_remains_without_their_cap) {
  EXPECT_EQ(base_of("staged+cap=1%+governor=backoff"), "staged");
  EXPECT_EQ(base_of("default+devices=8+limit=5%"), "default");
  EXPECT_EQ(base_of("loss=5%"), "default");
  EXPECT_EQ(base_of("monolithic+steer"), "monolithic+steer");
}

std::map<std::string, SettingPoint> points_by_setting(const std::vector<Outcome>& outcomes) {
  std::map<std::string, SettingPoint> all;
  for (const SettingPoint& one : points_of(outcomes)) all.emplace(one.setting, one);
  return all;
}

TEST(HarmSettings, the_front_has_the_combinations_that_no_other_beats) {
  const auto all = points_by_setting(
      {outcome_of("compute", Kind::service, "staged", 2.0, 500),
       outcome_of("compute", Kind::service, "monolithic", 1.5, 1500),
       outcome_of("compute", Kind::service, "staged+steer", 1.2, 300),
       outcome_of("compute", Kind::service, "split", 1.6, 400),
       outcome_of("compute", Kind::service, "staged+cap=1%+governor=backoff", 1.02, 25)});
  EXPECT_TRUE(all.at("monolithic").front);
  EXPECT_TRUE(all.at("staged+steer").front) << "it harms least";
  EXPECT_FALSE(all.at("staged").front);
  EXPECT_FALSE(all.at("split").front);
  EXPECT_TRUE(all.at("monolithic").dominates);
  EXPECT_FALSE(all.at("staged+steer").dominates) << "it serves less";
  const SettingPoint& governed = all.at("staged+cap=1%+governor=backoff");
  EXPECT_FALSE(governed.combination);
  EXPECT_FALSE(governed.front);
  EXPECT_EQ(governed.base, "staged");
  EXPECT_NEAR(governed.rate_to_base.mean, 0.05, 1e-9);
  EXPECT_NEAR(governed.wall.mean, 1.02, 1e-9);
  Outcome ticking =
      outcome_of("compute", Kind::service, "staged+cap=1%+governor=backoff", 1.02, 25);
  ticking.figures.mean_governor_share = 0.9;
  EXPECT_EQ(json_of(points_of({ticking})[0])["governor_share"], 0.9) << "the ticker, apart";
}

TEST(HarmSettings, dominate_only_by_whole_intervals_and_over_the_victims_that_both_have) {
  Outcome better = outcome_of("compute", Kind::service, "monolithic", 1.5, 1500);
  better.figures.wall.high = std::log(6.0);
  const auto all =
      points_by_setting({outcome_of("compute", Kind::service, "staged", 2.0, 500),
                         outcome_of("single", Kind::service, "staged", 3.0, 500), better});
  EXPECT_FALSE(all.at("monolithic").dominates);
  EXPECT_TRUE(all.at("monolithic").front);
  EXPECT_NEAR(all.at("monolithic").wall_to_base.mean, 0.75, 1e-9) << "compute alone";
  EXPECT_NEAR(all.at("staged").wall.mean, std::sqrt(6.0), 1e-9);
  const auto lonely =
      points_by_setting({outcome_of("compute", Kind::service, "default+cap=1%", 1.1, 5)});
  EXPECT_EQ(lonely.at("default+cap=1%").rate_to_base.rounds, 0u) << "its base is not there";
}

TEST(HarmSettings, devices_keep_a_limit_or_exceed_it) {
  const auto shared = [](const char* setting, double share) {
    Outcome outcome = outcome_of("compute", Kind::service, setting, 1.1, 100);
    outcome.figures.share = {share, share, share, 10};
    return json_of(points_of({outcome})[0]);
  };
  const ordered_json kept = shared("default+devices=16+limit=5%", 0.054);
  EXPECT_EQ(kept["devices"], 16);
  EXPECT_EQ(kept["limit"], 0.05);
  EXPECT_NEAR(kept["of_limit"]["mean"].get<double>(), 1.08, 1e-3);
  EXPECT_EQ(kept["kept"], true);
  EXPECT_EQ(shared("default+devices=16+limit=5%", 0.056)["kept"], false);
  EXPECT_FALSE(shared("default", 0.5).contains("kept"));
}

TEST(HarmSettings, words_need_values_that_a_server_can_take) {
  const server::ServerConfig usual;
  const auto automatic = setting_of("default+loss=2%", usual);
  ASSERT_TRUE(automatic.ok());
  EXPECT_EQ(automatic.value().governor, k2k::governor::Policy::automatic);
  EXPECT_EQ(automatic.value().loss_max_permille, 20u);
  EXPECT_EQ(automatic.value().cap_permille, 1000u);
  EXPECT_EQ(crowd_of("staged+devices=4+limit=5%").value().devices, 4u);
  EXPECT_EQ(crowd_of("staged").value().devices, 1u);
  for (const char* wrong : {"devices=0", "devices=65", "devices=", "limit=", "limit=2",
                            "loss=", "loss=0.01%", "cap="}) {
    EXPECT_FALSE(setting_of(wrong, usual).ok()) << wrong;
  }
  EXPECT_EQ(setting_of("devices=65", usual).error().message,
            "devices is '65'; permitted are 1 to 64");
}

// --- `auto` on victims that its constant was not taken from.

Outcome losing(const char* victim, const char* setting, double loss, double share) {
  Outcome outcome = outcome_of(victim, Kind::service, setting, 1 / (1 - loss), 100);
  outcome.figures.share = {share, share, share, 10};
  return outcome;
}

TEST(HarmAuto, is_judged_by_the_constant_that_the_other_victims_give) {
  std::vector<Outcome> outcomes = {
      losing("compute", "default+cap=5%", 0.055, 0.05),  // A factor of 1.1,
      losing("cache", "default+cap=5%", 0.08, 0.05),     // 1.6,
      losing("stencil", "default+cap=5%", 0.125, 0.05),  // and 2.5.
      losing("single", "default+cap=5%", 0.001, 0.05),   // One thread: no factor.
      losing("compute", "default+loss=5%", 0.048, 0.04),
      losing("cache", "default+loss=5%", 0.056, 0.035),
      losing("stencil", "default+loss=5%", 0.09, 0.035),
      losing("single", "default+loss=5%", 0.001, 0.04)};
  for (Outcome& one : outcomes) {
    one.comparison.victim.one_thread = one.comparison.victim.name == "single";
  }
  const std::vector<AutoPoint> points = auto_points_of(outcomes);
  ASSERT_EQ(points.size(), 1u);
  const AutoPoint& point = points[0];
  EXPECT_EQ(point.setting, "default+loss=5%");
  EXPECT_EQ(point.loss_max, 0.05);
  ASSERT_EQ(point.victims.size(), 4u);
  const double unseen = k2k::governor::LossFilter::unseen;
  EXPECT_NEAR(point.victims[0].factor, 1.1, 1e-9);
  EXPECT_NEAR(point.victims[0].constant, std::sqrt(1.6 * 2.5), 1e-9) << "not its own factor";
  EXPECT_NEAR(point.victims[0].scaled_high, 0.048 * unseen / 2, 1e-9);
  EXPECT_TRUE(point.victims[0].kept);
  EXPECT_TRUE(point.victims[1].kept) << "0.056 is above 0.055, but the others' constant is 1.66";
  EXPECT_NEAR(point.victims[2].constant, std::sqrt(1.1 * 1.6), 1e-9);
  EXPECT_FALSE(point.victims[2].kept) << "0.081";
  EXPECT_EQ(point.victims[3].factor, 0);
  EXPECT_EQ(point.kept(), 3u);
  EXPECT_FALSE(point.met()) << "three of four are fewer than eight of ten";
  const ordered_json json = json_of(point);
  EXPECT_EQ(json["met"], false);
  EXPECT_TRUE(json["victims"][3]["factor"].is_null());
  outcomes.pop_back();
  EXPECT_EQ(auto_points_of(outcomes)[0].victims.size(), 3u);
}

TEST(HarmAuto, that_cuts_the_rate_for_a_victim_that_loses_little_throttles_for_somebody_else) {
  const auto needless = [](double loss, double rate) {
    Outcome base = losing("compute", "default", 0.3, 0.5);
    Outcome governed = losing("compute", "default+loss=5%", loss, 0.04);
    base.figures.rate_level = {std::log(1000), std::log(1000), std::log(1000), 10};
    governed.figures.rate_level = {std::log(rate), std::log(rate), std::log(rate), 10};
    const std::vector<AutoPoint> points = auto_points_of({base, governed});
    EXPECT_NEAR(points[0].victims[0].rate, rate / 1000, 1e-9);
    EXPECT_EQ(json_of(points[0])["needless"], points[0].needless());
    return points[0].victims[0].needless;
  };
  EXPECT_TRUE(needless(0.01, 100));
  EXPECT_FALSE(needless(0.01, 950)) << "it did not throttle";
  EXPECT_FALSE(needless(0.04, 100)) << "the victim needed it";
  const auto alone = auto_points_of({losing("compute", "default+loss=5%", 0.01, 0.04)});
  EXPECT_EQ(alone[0].victims[0].rate, 0) << "nothing to compare with";
  EXPECT_FALSE(alone[0].victims[0].needless);
}

TEST(HarmAuto, has_its_own_constant_without_budgets_and_no_point_without_auto) {
  const auto points = auto_points_of({losing("compute", "default+loss=1%", 0.012, 0.01)});
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].victims[0].constant, k2k::governor::LossFilter::unseen);
  EXPECT_NEAR(points[0].victims[0].scaled_high, 0.012, 1e-9);
  EXPECT_TRUE(points[0].met());
  EXPECT_TRUE(auto_points_of({losing("compute", "default+cap=1%", 0.012, 0.01)}).empty());
}

TEST(HarmPage, shows_pareto_charts_governors_devices_and_the_parts_of_the_loss) {
  const std::vector<Outcome> outcomes = {
      outcome_of("compute", Kind::service, "staged", 2.0, 500),
      outcome_of("compute", Kind::service, "monolithic", 1.5, 1500),
      outcome_of("compute", Kind::service, "default+devices=2+limit=5%", 1.1, 100)};
  const std::string page = page_of(result_of({}, outcomes, {}, true));
  for (const char* part :
       {"Pareto chart of ubench", "monolithic *", "dominates the base", "of the limit: kept",
        "<circle", "Where the loss comes from: figure 5", "sum in its interval"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  for (const char* part : {"nan", "inf\"", "null"}) {
    EXPECT_EQ(page.find(part), std::string::npos) << part;
  }
}

TEST(HarmPage, stands_alone_and_shows_every_claim_and_comparison) {
  std::vector<Outcome> outcomes = {outcome_of("compute", Kind::service, "staged", 2.0, 500)};
  outcomes.push_back(outcomes.front());
  outcomes.back().comparison.victim.name = "a<b";
  outcomes.back().problem = "it & crashed";
  const Result<std::vector<Claim>> claims = all_claims();
  ASSERT_TRUE(claims.ok());
  const std::string page =
      page_of(result_of({}, outcomes, judge_claims(claims.value(), outcomes), false));
  for (const Claim& claim : claims.value()) {
    EXPECT_NE(page.find(claim.says.substr(0, 20)), std::string::npos) << claim.id;
  }
  for (const char* part : {"<!doctype html>", "name=viewport", "compute, service staged", "<svg",
                           "not complete", "a&lt;b", "it &amp; crashed", "class=reproduced"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  for (const char* part : {"http:", "https:", "src=", "a<b", "nan", "+inf"}) {
    EXPECT_EQ(page.find(part), std::string::npos) << part;
  }
}

}  // namespace
}  // namespace k2k::labs::harm
