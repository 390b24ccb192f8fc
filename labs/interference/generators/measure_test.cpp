// Goal: every generator makes requests of its kind and agrees with the CPU; a wrong answer is
// noticed; a missing resource is an error with its text.

#include "labs/interference/generators/measure.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/signals_blocked.hpp"
#include "labs/interference/generators/pages.hpp"
#include "labs/interference/generators/signals.hpp"

namespace k2k::labs::generators {
namespace {

using namespace std::chrono_literals;

RuntimeConfig small_device() {
  RuntimeConfig config;
  config.device.compute_units = 2;
  return config;
}

Settings small() { return {.scale = Scale::small}; }

const Generator& named(const std::string& name) {
  for (const Generator& generator : all_generators()) {
    if (name == generator.name) return generator;
  }
  ADD_FAILURE() << "there is no generator '" << name << "'";
  return all_generators().front();
}

Row measured(const std::string& name, const Settings& settings = small()) {
  Result<Row> row = measure(named(name), small_device(), settings);
  EXPECT_TRUE(row.ok()) << row.error().message;
  return row.ok() ? row.value() : Row{};
}

class EveryGenerator : public testing::TestWithParam<std::string> {};

TEST_P(EveryGenerator, agrees_with_the_cpu_and_makes_requests_of_its_kind) {
  const Row row = measured(GetParam());
  if (row.skipped) GTEST_SKIP() << row.note;
  EXPECT_EQ(row.answers.wrong, 0u) << row.answers.first;
  EXPECT_GT(row.answers.compared, 100u);
  EXPECT_GT(row.faults, 0u) << "inputs are allocated on demand";
  EXPECT_EQ(row.calls != 0, std::string(row.generator->row) != "page faults");
  EXPECT_GT(row.elapsed_s, 0);
  EXPECT_GT(row.service_cpu_s, 0);
}

TEST_P(EveryGenerator, notices_each_wrong_reference) {
  auto runtime = Runtime::create(small_device());
  ASSERT_TRUE(runtime.ok()) << runtime.error().message;
  auto workload = named(GetParam()).make(runtime.value(), small());
  ASSERT_TRUE(workload.ok()) << workload.error().message;
  ASSERT_TRUE(workload.value()->run(runtime.value()).ok());
  if (!workload.value()->skipped().empty()) GTEST_SKIP() << workload.value()->skipped();
  const std::vector<double> answers = workload.value()->answers();
  std::vector<double> planted = workload.value()->reference();
  const double tolerance = workload.value()->tolerance();
  ASSERT_EQ(compare(answers, planted, tolerance).wrong, 0u);
  for (const std::size_t place : {std::size_t{0}, planted.size() / 2, planted.size() - 1}) {
    const double right = planted[place];
    planted[place] = right * (1 + 1e-9) + (right == 0 ? 1 : 0);
    EXPECT_EQ(compare(answers, planted, tolerance).wrong, 1u) << place;
    planted[place] = right;
  }
}

TEST_P(EveryGenerator, returns_the_error_of_inputs_that_cannot_be_allocated_on_demand) {
  RuntimeConfig config = small_device();
  config.device.stack_bytes = 16384;
  const Result<Row> row = measure(named(GetParam()), config, small());
  ASSERT_FALSE(row.ok());
  EXPECT_EQ(row.error().code, EINVAL);
  EXPECT_NE(row.error().message.find("device.stack_bytes is 16384"), std::string::npos)
      << row.error().message;
}

TEST_P(EveryGenerator, returns_the_error_of_a_launch_that_ended_early) {
  auto runtime = Runtime::create(small_device());
  ASSERT_TRUE(runtime.ok()) << runtime.error().message;
  auto workload = named(GetParam()).make(runtime.value(), small());
  ASSERT_TRUE(workload.ok()) << workload.error().message;
  // cancel() is called as often as possible; a run that ended before a cancellation is repeated.
  std::atomic<bool> over{false};
  const auto start_canceller = [&] {
    // A signal to the process is delivered to any thread that does not block it, so this thread
    // must block it from its first instruction on.
    const SignalsBlocked guard;
    return std::thread([&] {
      while (!over.load()) runtime->cancel();
    });
  };
  std::thread canceller = start_canceller();
  Status status;
  for (int tries = 0; status.ok() && tries < 1'000; ++tries) {
    status = workload.value()->run(runtime.value());
  }
  over = true;
  canceller.join();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ECANCELED) << status.error().message;
}

INSTANTIATE_TEST_SUITE_P(Generators, EveryGenerator,
                         testing::Values("ubench", "bpt", "xsbench", "bfs", "spmv", "sssp", "heap",
                                         "pages", "signals", "files"),
                         [](const auto& one) { return one.param; });

// A fault's answer that comes late lets more work-items touch its page meanwhile. So requests for
// pages are repeated, more or less often, but the same pages are filled and the same calls made.
TEST_P(EveryGenerator, fills_the_same_pages_and_makes_the_same_calls_for_a_seed) {
  const auto run = [](unsigned units, std::uint32_t answered_after_us) {
    RuntimeConfig config = small_device();
    config.device.compute_units = units;
    config.server.coalesce_window_us = answered_after_us;
    Result<Row> row = measure(named(GetParam()), config, small());
    EXPECT_TRUE(row.ok()) << row.error().message;
    return row.ok() ? row.value() : Row{};
  };
  const Row first = run(1, 0);
  if (first.skipped) GTEST_SKIP() << first.note;
  EXPECT_GT(first.pages, 0u);
  EXPECT_GE(first.faults, first.pages) << "each page was requested at least once";
  for (const Row& other : {run(1, 0), run(1, 200), run(2, 0), run(3, 40)}) {
    EXPECT_EQ(other.pages, first.pages);
    EXPECT_EQ(other.calls, first.calls);
    EXPECT_EQ(other.answers.wrong, 0u) << other.answers.first;
  }
}

TEST(Generators, are_all_tested_and_cover_every_row_of_table_I) {
  EXPECT_EQ(all_generators().size(), 10u);
  for (const std::string row :
       {"page faults", "memory allocation", "page migration", "signals", "file system"}) {
    int sources = 0;
    for (const Generator& generator : all_generators()) sources += row == generator.row ? 1 : 0;
    EXPECT_GT(sources, 0) << row;
  }
}

TEST(Generators, give_the_same_requests_for_the_same_seed_and_others_for_another) {
  const auto reference_of = [](std::uint64_t seed) {
    Runtime runtime = std::move(Runtime::create(small_device())).value();
    const Settings settings{.scale = Scale::small, .seed = seed};
    auto workload = std::move(make_bpt(runtime, settings)).value();
    return workload->reference();
  };
  EXPECT_EQ(reference_of(7), reference_of(7));
  EXPECT_NE(reference_of(7), reference_of(8));
}

TEST(Ubench, makes_one_fault_or_one_call_per_access) {
  EXPECT_EQ(measured("ubench").faults, 512u);
  const Row calls = measured("ubench", {.scale = Scale::small, .per = Per::call});
  EXPECT_EQ(calls.faults, 0u);
  EXPECT_EQ(calls.calls, 512u);
  EXPECT_TRUE(calls.agrees()) << calls.answers.first;
}

TEST(Ubench, is_never_faster_than_its_rate) {
  for (const Per per : {Per::fault, Per::call}) {
    const Row row = measured("ubench", {.scale = Scale::small, .per = per, .rate = 5'000});
    EXPECT_EQ(row.requests(), 512u);
    EXPECT_GT(row.elapsed_s, 0.9 * 511 / 5'000);
    EXPECT_TRUE(row.agrees()) << row.answers.first;
    EXPECT_EQ(row.note, "offered 5000/s");
  }
}

TEST(Ubench, takes_five_seconds_at_most_at_a_low_rate) {
  Runtime runtime = std::move(Runtime::create(small_device())).value();
  auto workload = make_ubench(runtime, {.scale = Scale::small, .rate = 3});
  ASSERT_TRUE(workload.ok());
  EXPECT_EQ(workload.value()->reference().size(), 15u);
}

// Restores a limit of this process.
class Limit {
 public:
  Limit(__rlimit_resource which, rlim_t value) : which_(which) {
    ::getrlimit(which_, &before_);
    rlimit now = before_;
    now.rlim_cur = value;
    ::setrlimit(which_, &now);
  }
  ~Limit() { ::setrlimit(which_, &before_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  __rlimit_resource which_;
  rlimit before_{};
};

TEST(Ubench, returns_an_error_if_its_file_finds_no_room) {
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  Result<Row> row = Error{};
  {
    const Limit file(RLIMIT_FSIZE, 1024);
    row = measure(named("ubench"), small_device(), {.scale = Scale::small, .per = Per::call});
  }
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(row.ok());
  EXPECT_EQ(row.error().message,
            "cannot keep 4096 bytes in a memfd (No space left on device); free memory or try a "
            "smaller --scale");
}

TEST(Files, that_cannot_be_written_are_wrong_answers) {
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  Row row;
  {
    const Limit file(RLIMIT_FSIZE, 4096);  // 16 of 128 records.
    row = measured("files");
  }
  std::signal(SIGXFSZ, handler);
  EXPECT_FALSE(row.agrees());
  EXPECT_EQ(row.answers.wrong, row.answers.compared / 128 * 112);
}

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    ::setenv(name, value, 1);
  }
  ~Variable() { before_.empty() ? ::unsetenv(name_) : ::setenv(name_, before_.c_str(), 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string before_;
};

TEST(Files, need_a_folder_whose_path_is_not_too_long) {
  {
    const Variable nowhere("TMPDIR", "/nowhere");
    EXPECT_EQ(measure(named("files"), small_device(), small()).error().message,
              "cannot make a folder in '/nowhere' (No such file or directory); set TMPDIR to a "
              "folder that may be written to");
  }
  const std::string deep = "/tmp/" + std::string(100, '/');
  const Variable long_path("TMPDIR", deep.c_str());
  const std::string text = measure(named("files"), small_device(), small()).error().message;
  EXPECT_NE(text.find("has 129 bytes; permitted are 127; set TMPDIR to a shorter one"),
            std::string::npos)
      << text;
}

TEST(Signals, all_arrive_where_few_may_be_pending) {
  const Limit pending(RLIMIT_SIGPENDING, 100);
  const Row row = measured("signals");
  EXPECT_TRUE(row.agrees()) << row.answers.first;
}

TEST(Signals, that_may_not_be_sent_are_wrong_answers) {
  Runtime runtime = std::move(Runtime::create(small_device())).value();
  auto workload = std::move(make_signals_with(runtime, small(), 50)).value();
  const Limit pending(RLIMIT_SIGPENDING, 0);
  ASSERT_TRUE(workload->run(runtime).ok());
  const Comparison result = compare(workload->answers(), workload->reference(), 0);
  EXPECT_EQ(result.wrong, 4'000u);
  EXPECT_EQ(result.first, "answer 0 is -11, the reference has 0");
}

TEST(Signals, leave_the_mask_of_their_thread_as_it_was) {
  sigset_t mask;
  measured("signals");
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGRTMAX - 2), 0);
}

// Twice the same node: the call is made and answers even on a machine with one node.
TEST(Pages, are_on_their_new_node_with_their_content) {
  Runtime runtime = std::move(Runtime::create(small_device())).value();
  auto workload = std::move(make_pages_on(runtime, small(), {0, 0})).value();
  ASSERT_TRUE(workload->run(runtime).ok());
  if (!workload->skipped().empty()) GTEST_SKIP() << workload->skipped();
  const Comparison result = compare(workload->answers(), workload->reference(), 0);
  EXPECT_EQ(result.wrong, 0u) << result.first;
  EXPECT_EQ(workload->note(), "moved between 2 nodes");
  EXPECT_EQ(runtime.stats().requests, 32u * (16 + 3));
}

TEST(Pages, that_cannot_be_moved_are_wrong_answers) {
  Runtime runtime = std::move(Runtime::create(small_device())).value();
  auto workload = std::move(make_pages_on(runtime, small(), {0, 1023})).value();
  ASSERT_TRUE(workload->run(runtime).ok());
  if (!workload->skipped().empty()) GTEST_SKIP() << workload->skipped();
  EXPECT_GT(compare(workload->answers(), workload->reference(), 0).wrong, 0u);
}

TEST(Pages, are_skipped_with_the_reason_where_the_call_is_refused) {
  RuntimeConfig config = small_device();
  config.server.policy = server::CallPolicy::known_only;
  const Result<Row> row = measure(named("pages"), config, small());
  ASSERT_TRUE(row.ok()) << row.error().message;
  EXPECT_TRUE(row.value().skipped);
  EXPECT_FALSE(row.value().agrees());
  EXPECT_EQ(row.value().note,
            "move_pages(2) answers Function not implemented; allow it in the container's seccomp "
            "profile, or set server.policy = \"any\"");
  EXPECT_TRUE(json_of(row.value())["agrees"].is_null());
}

TEST(Comparison, counts_wrong_and_missing_answers) {
  EXPECT_EQ(compare({1, 2}, {1, 2}, 0).wrong, 0u);
  EXPECT_EQ(compare({1, 2.5}, {1, 2}, 0).first, "answer 1 is 2.5, the reference has 2");
  EXPECT_EQ(compare({1, 2.5}, {1, 2}, 0.25).wrong, 0u);
  EXPECT_EQ(compare({0}, {1e-300}, 0.25).wrong, 1u);
  const Comparison missing = compare({1}, {1, 2, 3}, 0);
  EXPECT_EQ(missing.wrong, 2u);
  EXPECT_EQ(missing.compared, 3u);
  EXPECT_EQ(missing.first, "there are 1 answers, the reference has 3");
  EXPECT_EQ(compare({std::numeric_limits<double>::quiet_NaN()}, {1}, 1).wrong, 1u);
}

TEST(Rows, tell_requests_and_cost_by_kind) {
  Row row;
  row.generator = &named("heap");
  row.pages = 2;
  row.faults = 3;
  row.calls = 5;
  row.elapsed_s = 2;
  row.service_cpu_s = 0.004;
  row.answers.compared = 7;
  EXPECT_EQ(json_of(row).dump(),
            "{\"generator\":\"heap\",\"requests\":\"memory "
            "allocation\",\"pages\":2,\"faults\":3,\"calls\":5,"
            "\"elapsed_s\":2.0,\"requests_per_s\":4.0,\"service_cpu_s\":0.004,"
            "\"service_us_per_request\":500.0,\"compared\":7,\"wrong\":0,\"agrees\":true,"
            "\"note\":\"\"}");
  row.answers.wrong = 1;
  EXPECT_EQ(json_of(row)["agrees"], false);
}

}  // namespace
}  // namespace k2k::labs::generators
