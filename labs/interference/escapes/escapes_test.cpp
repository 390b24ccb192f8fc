// Goal: a row reports what the machine did for an attempt; verdicts follow from the numbers; what
// cannot be measured is an error.

#include "labs/interference/escapes/escapes.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "labs/interference/escapes/kernel_time.hpp"

namespace k2k::labs::escapes {
namespace {

const Attempt& attempt_for(Deed deed) {
  for (const Attempt& attempt : all_attempts()) {
    if (attempt.deed == deed) return attempt;
  }
  std::abort();
}

TEST(Escapes, attempts_cover_every_deed_and_have_names_of_their_own) {
  std::set<std::string> names;
  std::set<Deed> deeds;
  for (const Attempt& attempt : all_attempts()) {
    names.insert(attempt.name);
    deeds.insert(attempt.deed);
    EXPECT_GE(attempt.processes, 1u);
    EXPECT_LE(attempt.processes, processes_max);
  }
  EXPECT_EQ(names.size(), all_attempts().size());
  EXPECT_EQ(deeds.size(), 8u);
}

// Two rounds that differ by a hundredth of a percent.
std::vector<Found> rounds_of(double machine, std::uint64_t answered = 9,
                             std::uint64_t refused = 0) {
  const Found low{.processes = machine - 1e-6, .answered = answered, .refused = refused};
  const Found high{.processes = machine + 1e-6, .answered = answered, .refused = refused};
  return {low, high};
}

TEST(Escapes, verdicts_follow_from_whole_intervals) {
  EXPECT_EQ(verdict(rounds_of(0.05), 0.05), "charged");
  EXPECT_EQ(verdict(rounds_of(0.059), 0.05), "charged");
  EXPECT_EQ(verdict(rounds_of(0.061), 0.05), "escaped");
  EXPECT_EQ(verdict(rounds_of(0.2, 1, 9), 0.05), "escaped");
  const std::vector<Found> wide = {{.processes = 0.05, .answered = 9},
                                   {.processes = 0.055, .answered = 9},
                                   {.processes = 0.062, .answered = 9}};
  EXPECT_EQ(verdict(wide, 0.05).rfind("cannot tell (", 0), 0u) << verdict(wide, 0.05);
}

TEST(Escapes, an_attempt_is_refused_if_each_round_was) {
  EXPECT_EQ(verdict(rounds_of(0.2, 0, 9), 0.05), "refused");
  std::vector<Found> mixed = rounds_of(0.2, 0, 9);
  mixed.back().answered = 1;
  EXPECT_EQ(verdict(mixed, 0.05), "escaped");
}

TEST(Escapes, rows_have_the_mean_of_their_rounds_and_count_all_parts_of_the_machine) {
  const std::vector<Found> rounds = {
      {.processes = 0.05, .threads = 0.006, .interrupts = 0.005, .charged = 0.04, .answered = 9},
      {.processes = 0.05, .threads = 0.006, .interrupts = 0.005, .charged = 0.06, .answered = 8}};
  const auto row = row_of(attempt_for(Deed::sends), 0.05, rounds);
  EXPECT_DOUBLE_EQ(row["machine"], 0.061);
  EXPECT_DOUBLE_EQ(row["low"], 0.061);
  EXPECT_DOUBLE_EQ(row["high"], 0.061);
  EXPECT_DOUBLE_EQ(row["of_threads"], 0.006);
  EXPECT_DOUBLE_EQ(row["charged"], 0.05);
  EXPECT_EQ(row["answered"], 17);
  EXPECT_EQ(row["rounds"], 2);
  EXPECT_EQ(row["verdict"], "escaped");
}

TEST(Escapes, what_costs_less_than_the_baseline_costs_nothing) {
  const auto row = row_of(attempt_for(Deed::sends), 0.05, rounds_of(-0.01));
  EXPECT_EQ(row["verdict"], "charged");
  EXPECT_LT(row["machine"].get<double>(), 0.001);
}

TEST(KernelTime, has_the_children_of_a_process) {
  EXPECT_EQ(ticks_of_children("7 (a (b) 1) S 1 2 3 4 5 6 7 8 9 10 11 12 130 1400 15"), 1530u);
  EXPECT_EQ(ticks_of_children("7 (short) S 1 2"), 0u);
  EXPECT_EQ(ticks_of_children(""), 0u);
}

TEST(KernelTime, has_the_threads_of_linux_and_no_process) {
  EXPECT_TRUE(is_kernel_thread("11 (kworker/0:1 (x)) I 2 0 0"));
  EXPECT_FALSE(is_kernel_thread("2 (kthreadd) S 0 0 0"));
  EXPECT_FALSE(is_kernel_thread("99 (2) R 1 2 2"));
  EXPECT_FALSE(is_kernel_thread(""));
  std::string folder = testing::TempDir() + "k2k_proc_XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const auto put = [&](const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder + name).parent_path());
    std::ofstream(folder + name) << text;
  };
  const double tick = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  Instant moment{std::chrono::hours(1)};
  std::map<int, Nanoseconds> processes;
  const KernelClocks clocks{.now = [&] { return moment; },
                            .of_process = [&](int process) -> std::optional<Nanoseconds> {
                              const auto found = processes.find(process);
                              if (found == processes.end()) return {};
                              return found->second;
                            },
                            .cores = 2};
  put("/stat", "cpu  0 0 0 0 0 1 1 0\n");
  put("/11/stat", "11 (jbd2) S 2 0");
  put("/11/schedstat", "1000000000 5 6\n");
  put("/12/stat", "12 (program) S 1 0");
  put("/12/schedstat", "9000000000 5 6\n");
  put("/tty/stat", "11 (no process) S 2 0");
  KernelTime time(folder, clocks);
  const auto before = time.read();
  ASSERT_TRUE(before.ok()) << before.error().message;
  EXPECT_EQ(time.threads(), 1u);
  put("/stat", "cpu  0 0 0 0 0 2 2 0\n");
  put("/11/schedstat", "3000000000 5 6\n");
  const auto after = time.read();
  ASSERT_TRUE(after.ok()) << after.error().message;
  EXPECT_NEAR(after.value().threads - before.value().threads, 2, 1e-9);
  EXPECT_NEAR(after.value().interrupts - before.value().interrupts, 2 * tick, 1e-9);
  // A Linux that only samples: two cores, idle for a second, and threads for half of one.
  put("/stat", "cpu  0 0 0 0 0 0 5 0\n");
  processes = {{11, Nanoseconds(7'000'000)}, {12, Nanoseconds(9'000'000)}};
  const auto sampled = time.read();
  ASSERT_TRUE(sampled.ok()) << sampled.error().message;
  moment += std::chrono::seconds(1);
  put("/stat", fmt::format("cpu  0 0 0 {} 0 0 99 0\n", ::sysconf(_SC_CLK_TCK)));
  put("/12/stat",
      fmt::format("12 (program) S 1 3 4 5 6 7 8 9 10 11 12 13 {} 0", ::sysconf(_SC_CLK_TCK) / 4));
  processes[11] += std::chrono::milliseconds(250);
  const auto later = time.read();
  ASSERT_TRUE(later.ok()) << later.error().message;
  EXPECT_NEAR(later.value().interrupts - sampled.value().interrupts, 0.5, 1e-9);
  put("/stat", "cpu0 1 2 3 4 5 6 7 8\ncpu  1 2 3 4 5 6 7 8\n");
  const auto wrong = time.read();
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, EPROTO);
  EXPECT_EQ(wrong.error().message, "/proc/stat begins with 'cpu0 1 2 3 4 5 6 7 8'");
  std::filesystem::remove_all(folder);
  const auto gone = time.read();
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().code, EPROTO);
}

TEST(Escapes, rounds_report_the_measurements) {
  const auto found = measure({}, attempt_for(Deed::sends), 50, 0.3);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_GT(found.value().processes, 0);
  EXPECT_GT(found.value().charged, 0);
  EXPECT_LE(found.value().charged, 1);
  EXPECT_GT(found.value().answered, 0u);
  EXPECT_EQ(found.value().refused, 0u);
}

TEST(Escapes, each_deed_is_answered_or_refused) {
  for (const Attempt& attempt : all_attempts()) {
    if (attempt.deed == Deed::direct_reads) continue;  // TMPDIR may have none.
    SCOPED_TRACE(attempt.name);
    const auto found = measure({}, attempt, 200, 0.2);
    ASSERT_TRUE(found.ok()) << found.error().message;
    const bool refuses = attempt.deed == Deed::ring_of_calls || attempt.deed == Deed::child;
    EXPECT_EQ(found.value().answered == 0, refuses);
    EXPECT_EQ(found.value().refused > 0, refuses);
  }
}

TEST(Escapes, an_attempt_that_cannot_start_is_an_error) {
  ASSERT_EQ(::setenv("TMPDIR", "/nowhere", 1), 0);
  const auto row = measure({}, attempt_for(Deed::fsync), 50, 0.2);
  ::unsetenv("TMPDIR");
  ASSERT_FALSE(row.ok());
  EXPECT_EQ(row.error().code, ENOENT);
  EXPECT_EQ(row.error().message,
            "cannot make a file in '/nowhere'; set TMPDIR to another folder: No such file or "
            "directory");
  RuntimeConfig config;
  config.device.stack_bytes = 1;
  EXPECT_FALSE(measure(config, attempt_for(Deed::sends), 50, 0.2).ok());
}

}  // namespace
}  // namespace k2k::labs::escapes
