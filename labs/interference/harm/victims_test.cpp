// Goal: a victim is measured to its end, does the same work each time, and each way in which it can
// fail gives one message that names it.

#include "labs/interference/harm/victims.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "labs/interference/first_core.hpp"
#include "labs/interference/harm/loops.hpp"
#include "labs/interference/harm/schedstat.hpp"

namespace k2k::labs::harm {
namespace {

volatile std::sig_atomic_t unstopped = 0;

Victim loop_of(const std::string& name, std::uint64_t rounds) {
  Victim victim{.name = name, .loop = name};
  victim.rounds = rounds;
  return victim;
}
Victim program(std::vector<std::string> command) {
  return {.name = "mine", .command = std::move(command)};
}

TEST(HarmVictims, every_loop_does_the_same_work_in_each_run) {
  std::set<std::uint64_t> answers;
  for (const Loop& loop : loops()) {
    const Result<Usage> first = run_victim(loop_of(loop.name, 40), 2, unstopped);
    const Result<Usage> second = run_victim(loop_of(loop.name, 40), 2, unstopped);
    ASSERT_TRUE(first.ok() && second.ok()) << loop.name;
    EXPECT_EQ(first.value().answer, second.value().answer) << loop.name;
    EXPECT_GT(first.value().wall_s, 0) << loop.name;
    EXPECT_GT(first.value().cpu_s, 0) << loop.name;
    EXPECT_GE(first.value().run_delay_s, 0) << loop.name;
    answers.insert(first.value().answer);
  }
  EXPECT_EQ(answers.size(), loops().size()) << "each loop has work of its own";
}

TEST(HarmVictims, more_rounds_are_more_work) {
  const Result<Usage> few = run_victim(loop_of("single", 200), 1, unstopped);
  const Result<Usage> many = run_victim(loop_of("single", 2'000), 1, unstopped);
  ASSERT_TRUE(few.ok() && many.ok());
  EXPECT_GT(many.value().cpu_s, 4 * few.value().cpu_s);
}

TEST(HarmVictims, programs_that_a_victim_starts_are_measured_with_it) {
  if (::access("/proc/thread-self/children", F_OK) != 0) GTEST_SKIP() << "no list of children";
  // The shell itself waits; what it starts computes, all of it on one core.
  cpu_set_t usual;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(usual), &usual), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first_core(), &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
  const Result<Usage> usage = run_victim(
      program({"sh", "-c",
               "for i in 1 2 3 4 5 6; do { n=0; while [ $n -lt 60000 ]; do n=$((n+1)); done; } & "
               "done; wait"}),
      1, unstopped);
  ::sched_setaffinity(0, sizeof(usual), &usual);
  ASSERT_TRUE(usage.ok()) << usage.error().message;
  EXPECT_GT(usage.value().cpu_s, 0.01);
  EXPECT_GT(usage.value().run_delay_s, 0.001);
  EXPECT_EQ(usage.value().tail_s, -1);
}

TEST(HarmVictims, a_load_generator_tells_the_tail_of_the_latency) {
  const std::string names =
      "\"test\",\"rps\",\"p50_latency_ms\",\"p99_latency_ms\",\"max_latency_ms\"\n";
  EXPECT_DOUBLE_EQ(tail_of(names + "\"GET\",\"28169.02\",\"0.047\",\"3.735\",\"9\"\n").value(),
                   0.003735);
  for (const std::string& wrong :
       {std::string(), names, names + "\"GET\",\"28169.02\"\n",
        names + "\"GET\",\"1\",\"1\",\"much\",\"9\"\n", std::string("ERROR\nno server\n")}) {
    EXPECT_EQ(tail_of(wrong).error().code, EIO) << wrong;
  }
  Victim silent = program({"true"});
  silent.latencies = "/nowhere/x";
  const Result<Usage> usage = run_victim(silent, 1, unstopped);
  ASSERT_FALSE(usage.ok());
  EXPECT_EQ(usage.error().message,
            "mine in /nowhere/x: the load generator told no 99th percentile of the latency");
}

TEST(HarmVictims, redis_serves_its_load_and_is_gone) {
  const std::string input = testing::TempDir() + "k2k_redis_" + std::to_string(::getpid());
  for (const Victim& one : all_victims(input, 2)) {
    if (one.name != "redis") continue;
    if (const std::string reason = one.missing(); !reason.empty()) GTEST_SKIP() << reason;
    const Result<Usage> usage = run_victim(one, 2, unstopped);
    ASSERT_TRUE(usage.ok()) << usage.error().message;
    EXPECT_GT(usage.value().tail_s, 0);
    EXPECT_GT(usage.value().cpu_s, 0.01) << "of the server and its load";
    EXPECT_NE(::access((input + ".socket").c_str(), F_OK), 0) << "the server removes its socket";
    ::unlink((input + ".latencies").c_str());
    return;
  }
  FAIL() << "there is no victim redis";
}

TEST(HarmVictims, a_program_that_needs_others_names_the_one_that_is_missing) {
  Victim victim = program({"sh"});
  victim.needs = {"/nowhere/needed"};
  EXPECT_EQ(victim.missing(), "there is no program '/nowhere/needed'");
  victim.package = "needed";
  EXPECT_EQ(victim.missing(), "'/nowhere/needed' is not installed: apt install needed");
}

TEST(HarmVictims, rounds_are_found_for_a_time) {
  const Result<std::uint64_t> rounds = rounds_taking(loop_of("single", 0), 0.02, 1, unstopped);
  ASSERT_TRUE(rounds.ok());
  const Result<Usage> usage = run_victim(loop_of("single", rounds.value()), 1, unstopped);
  ASSERT_TRUE(usage.ok());
  EXPECT_GT(usage.value().cpu_s, 0.002);
  EXPECT_LT(usage.value().cpu_s, 0.2);
}

TEST(HarmVictims, a_program_is_measured_with_its_threads_delay) {
  const Result<Usage> usage = run_victim(
      program({"sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"}), 1, unstopped);
  ASSERT_TRUE(usage.ok()) << usage.error().message;
  EXPECT_GT(usage.value().cpu_s, 0);
  EXPECT_LE(usage.value().cpu_s, usage.value().wall_s + 0.02);
}

TEST(HarmVictims, a_crash_a_failure_and_a_program_that_cannot_start_are_told_apart) {
  const auto message = [](const Victim& victim) {
    const Result<Usage> usage = run_victim(victim, 1, unstopped);
    return usage.ok() ? "none" : usage.error().message;
  };
  EXPECT_EQ(message(program({"sh", "-c", "kill -SEGV $$"})),
            "mine crashed: signal 11 (Segmentation fault)");
  EXPECT_EQ(message(program({"sh", "-c", "exit 3"})), "mine failed: exit status 3");
  EXPECT_EQ(message(program({"/nowhere/mine"})),
            "mine cannot be started: /nowhere/mine: No such file or directory");
  const std::string path = testing::TempDir() + "k2k_no_program_" + std::to_string(::getpid());
  std::ofstream(path) << "text";
  ::chmod(path.c_str(), 0600);
  EXPECT_EQ(message(program({path})), "mine cannot be started: " + path + ": Permission denied");
  ::unlink(path.c_str());
}

// Software events, which every machine has: faults of pages that a program touches for the first
// time.
constexpr CounterEvent page_faults{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS};

TEST(HarmVictims, counters_see_a_victim_from_its_begin_and_the_processes_that_it_starts) {
  const CounterEvents events{.cache_misses = page_faults};
  if (UserCounters(::getpid(), events).read().cache_misses < 0) {
    GTEST_SKIP() << "perf_event_open is not permitted";
  }
  const auto faults_of = [&](const char* script) {
    const Result<Usage> usage = run_victim(program({"sh", "-c", script}), 1, unstopped, events);
    EXPECT_TRUE(usage.ok());
    EXPECT_EQ(usage.value().counts.branch_misses, -1) << "nobody asked for it";
    return usage.value().counts.cache_misses;
  };
  const double alone = faults_of("true");
  EXPECT_GT(alone, 20) << "the program's own begin";
  // The difference alone tells of the six shells: what the fork copies before the program begins
  // depends on the size of this process, which a sanitizer multiplies.
  const double each = (faults_of("for i in 1 2 3 4 5 6; do sh -c true; done") - alone) / 6;
  EXPECT_GT(each, 20) << "each shell's begin";
}

TEST(HarmVictims, a_machine_without_a_counter_has_no_count) {
  const CounterEvents events{.cache_misses = CounterEvent{PERF_TYPE_HW_CACHE, 0xffffff}};
  const Result<Usage> usage = run_victim(loop_of("single", 10), 1, unstopped, events);
  ASSERT_TRUE(usage.ok());
  EXPECT_EQ(usage.value().counts.cache_misses, -1);
  EXPECT_EQ(hardware_events().any(), has_hardware_counters());
}

TEST(HarmVictims, counts_of_several_runs_add_up) {
  Counts counts;
  counts.add({.cache_misses = -1, .branch_misses = 3});
  counts.add({.cache_misses = -1, .branch_misses = 4});
  EXPECT_EQ(counts.cache_misses, -1);
  EXPECT_EQ(counts.branch_misses, 7);
}

TEST(HarmVictims, a_missing_program_names_its_package) {
  Victim victim = program({"k2k-no-such-program"});
  EXPECT_EQ(victim.missing(), "there is no program 'k2k-no-such-program'");
  victim.package = "nothing-utils";
  EXPECT_EQ(victim.missing(), "'k2k-no-such-program' is not installed: apt install nothing-utils");
  EXPECT_EQ(loop_of("single", 1).missing(), "");
}

TEST(HarmVictims, a_stop_kills_a_victim) {
  volatile std::sig_atomic_t stopped = 1;
  const Result<Usage> usage = run_victim(program({"sleep", "100"}), 1, stopped);
  ASSERT_FALSE(usage.ok());
  EXPECT_EQ(usage.error().code, ECANCELED);
}

TEST(HarmVictims, the_caller_s_own_needs_a_name_and_a_command) {
  const Result<Victim> victim = victim_of("mine=prog a b");
  ASSERT_TRUE(victim.ok());
  EXPECT_EQ(victim.value().command, (std::vector<std::string>{"prog", "a", "b"}));
  for (const char* wrong : {"", "mine", "mine=", "=prog", "a b=prog", "a|b=prog"}) {
    EXPECT_EQ(victim_of(wrong).error().code, EINVAL) << wrong;
  }
}

TEST(HarmVictims, the_input_is_the_same_for_a_seed_and_a_full_disk_is_told) {
  const std::string path = testing::TempDir() + "k2k_input_" + std::to_string(::getpid());
  const auto content = [&] {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  ASSERT_TRUE(make_input(path, 100'000, 1).ok());
  const std::string first = content();
  EXPECT_EQ(first.size(), 100'000u);
  ASSERT_TRUE(make_input(path, 100'000, 1).ok());
  EXPECT_EQ(content(), first);
  ASSERT_TRUE(make_input(path, 100'000, 2).ok());
  EXPECT_NE(content(), first);
  ::unlink(path.c_str());
  EXPECT_EQ(make_input("/dev/full", 1'000, 1).error().message,
            "cannot write the victims' input /dev/full: No space left on device; set TMPDIR to a "
            "folder with 0 MiB free");
}

TEST(HarmSchedstat, is_read_and_refused_with_its_path) {
  const Result<Schedstat> line = parse_schedstat("2000000000 500000000 7");
  ASSERT_TRUE(line.ok());
  EXPECT_DOUBLE_EQ(line.value().cpu_s, 2);
  EXPECT_DOUBLE_EQ(line.value().run_delay_s, 0.5);
  for (const char* wrong : {"", "12", "x 1 2"}) EXPECT_FALSE(parse_schedstat(wrong).ok()) << wrong;
  EXPECT_EQ(read_schedstat("/nowhere/schedstat").error().message,
            "cannot read /nowhere/schedstat: No such file or directory; the run delay needs "
            "Linux' schedstat, and /proc of the victim's user");
  EXPECT_TRUE(own_schedstat().ok());
}

}  // namespace
}  // namespace k2k::labs::harm
