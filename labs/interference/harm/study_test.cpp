// Goal: a study measures each arm, goes on where it ended, and is ended by what must end it.

#include "labs/interference/harm/study.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "labs/interference/harm/records.hpp"

namespace k2k::labs::harm {
namespace {

using nlohmann::ordered_json;

volatile std::sig_atomic_t never = 0;

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

TEST_F(HarmStudy, that_goes_on_after_its_time_measures_nothing_more) {
  comparisons.resize(1);
  options.rule = {.half_width = 0, .pairs_min = 2, .pairs_cut = 2, .pairs_max = 200};
  options.longest_s = 0.01;
  const std::vector<Outcome> outcomes = run({});
  ASSERT_EQ(kept.size(), 4u) << "a comparison has two pairs at least";
  EXPECT_TRUE(outcomes[0].figures.cut);
  EarlierRuns earlier;
  for (const ordered_json& record : kept) earlier[record["at"]] = run_from(record);
  kept.clear();
  options.longest_s = 1e-6;
  EXPECT_EQ(run(earlier)[0].figures.made, 2u);
  EXPECT_TRUE(kept.empty());
}

TEST_F(HarmStudy, that_goes_on_has_the_figures_of_all_earlier_pairs) {
  comparisons.resize(1);
  options.rule = {.half_width = 0, .pairs_min = 2, .pairs_cut = 2, .pairs_max = 200};
  options.longest_s = 1e-6;
  const Comparison& comparison = comparisons[0];
  EarlierRuns earlier;
  std::vector<std::pair<harm::Run, harm::Run>> pairs;
  for (std::size_t block = 0; block < 3; ++block) {
    const auto order = block_order(options.seed, comparison.key(), block);
    std::array<harm::Run, 4> runs;
    for (std::size_t place = 0; place < 4; ++place) {
      runs[place].cpu_s = runs[place].wall_s = 1 + 0.01 * static_cast<double>(4 * block + place);
      if (block == 2 && place == 2) break;
      earlier[fmt::format("{}|{}|{}", comparison.key(), block, place)] = runs[place];
      if (place % 2 == 0) continue;
      const std::size_t first = place - 1;
      pairs.emplace_back(runs[order[first] ? place : first], runs[order[first] ? first : place]);
    }
  }
  const Figures expected =
      figures_of(pairs, comparison.kind, options.rule, seed_of(options.seed, comparison.key()));
  const Figures figures = run(earlier)[0].figures;
  EXPECT_TRUE(kept.empty());
  EXPECT_TRUE(figures.cut);
  EXPECT_EQ(figures.made, 5u);
  EXPECT_EQ(figures.wall.low, expected.wall.low);
  EXPECT_EQ(figures.wall.mean, expected.wall.mean);
  EXPECT_EQ(figures.wall.high, expected.wall.high);
  // Half a pair is completed.
  earlier[fmt::format("{}|2|2", comparison.key())] = {};
  EXPECT_EQ(run(earlier)[0].figures.made, 6u);
  EXPECT_EQ(kept.size(), 1u);
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

TEST_F(HarmStudy, auto_finds_its_cap_before_a_victim_is_measured) {
  const std::string path = testing::TempDir() + "k2k_runs_" + std::to_string(::getpid());
  const Victim victim{.name = "mine",
                      .command = {"sh", "-c", "echo run >> " + path + "; sleep 0.02"}};
  const auto runs_of = [&](const char* setting) {
    std::remove(path.c_str());
    kept.clear();
    comparisons = {{victim, "ubench", Kind::service, setting}};
    EXPECT_EQ(run({})[0].problem, "");
    std::ifstream file(path);
    return std::pair(kept.size(), std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
  };
  options.settling_auto_s = 0.1;
  EXPECT_EQ(runs_of("default+cap=5%"), std::pair(4ul, 4l)) << "each run is measured";
  const auto [measured, all] = runs_of("default+loss=5%");
  EXPECT_EQ(measured, 4u);
  EXPECT_GE(all, 8) << "a run at least precedes each one that is measured";
  std::remove(path.c_str());
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

}  // namespace
}  // namespace k2k::labs::harm
