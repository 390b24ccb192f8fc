// Goal: a recorded trace has one event for each request, with the time that the work-item computed,
// and a replay makes as many requests; a recording with a gap is refused.

#include "labs/interference/generators/record.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/temporary_folder.hpp"
#include "labs/interference/trace/replay.hpp"

namespace k2k::labs::generators {
namespace {

using telemetry::Event;
using telemetry::EventKind;

constexpr std::uint16_t fault_in = 0xfffd;

// A request of lane 0 of `wave`, accepted at `when` and served from then + 1,000 for `takes`
// cycles.
void add(std::vector<Event>& events, std::uint64_t when, std::uint32_t wave, std::uint16_t number,
         std::uint64_t argument = 0, std::uint64_t takes = 2'000) {
  events.push_back({when, EventKind::accepted, 0, number, wave, argument});
  events.push_back({when + 1'000, EventKind::started, 0, number, wave, 0});
  events.push_back({when + 1'000 + takes, EventKind::completed, 0, number, wave, 0});
}

std::string lines_of(const Result<Trace>& trace) {
  EXPECT_TRUE(trace.ok()) << trace.error().message;
  if (!trace) return {};
  const std::string text = trace->text();
  return text.substr(text.find('\n') + 1);
}

TEST(RecordedTrace, has_the_times_between_an_answer_and_the_next_request) {
  std::vector<Event> events;
  add(events, 10'000, 3, fault_in, 0x5000);
  add(events, 12'000, 4, fault_in, 0x5008);  // The same page.
  add(events, 63'000, 3, fault_in, 0x6000);  // 50,000 cycles after its answer.
  add(events, 70'000, 4, fault_in, 0x7fff);
  // Two nanoseconds a cycle.
  EXPECT_EQ(lines_of(trace_from(events, 2, "made")),
            "0 fault 4096\n4 nop\n+100 fault 4096\n+110 fault 4096\n");
}

TEST(RecordedTrace, replays_calls_by_calls_of_the_device_and_all_others_by_their_cost) {
  std::vector<Event> events;
  const std::vector<std::uint16_t> numbers = {SYS_mmap,     SYS_munmap,     SYS_pread64,
                                              SYS_pwrite64, SYS_move_pages, SYS_rt_sigqueueinfo,
                                              SYS_open};
  for (std::size_t at = 0; at < numbers.size(); ++at) {
    add(events, 1'000 + 100 * at, static_cast<std::uint32_t>(at), numbers[at], 0, 3'456);
  }
  EXPECT_EQ(lines_of(trace_from(events, 1, "made")),
            "0 fault 131072\n0.1 release 131072\n0.2 pread 256\n0.3 pwrite 256\n"
            "0.4 move_pages 16\n0.5 signal\n0.6 cost 3.5\n");
}

TEST(RecordedTrace, takes_a_request_that_seems_older_than_the_answer_before_as_immediate) {
  std::vector<Event> events;
  add(events, 1'000, 0, fault_in, 0x1000);
  add(events, 3'900, 0, fault_in, 0x2000);  // The answer before is of 4,000.
  EXPECT_EQ(lines_of(trace_from(events, 1, "made")), "0 fault 4096\n+0 fault 4096\n");
}

TEST(RecordedTrace, is_refused_with_a_gap) {
  std::vector<Event> events;
  add(events, 1'000, 0, fault_in);
  events.push_back({9'000, EventKind::accepted, 0, fault_in, 0, 0});
  const auto trace = trace_from(events, 1, "made");
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.error().code, EINVAL);
  EXPECT_EQ(trace.error().message, "made: slot 0.0 has 2 requests and 1 answers");
  EXPECT_EQ(lines_of(trace_from({}, 1, "made")), "");
}

class Recorded : public testing::TestWithParam<std::string> {};

TEST_P(Recorded, makes_its_requests_again_without_a_kernel) {
  const auto& all = all_generators();
  const auto generator = std::find_if(all.begin(), all.end(),
                                      [](const Generator& one) { return GetParam() == one.name; });
  RuntimeConfig config;
  config.device.compute_units = 2;
  const Result<Trace> trace = record(*generator, config, {.scale = Scale::small});
  if (!trace && trace.error().code == ENOTSUP) GTEST_SKIP() << trace.error().message;
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_GT(trace->events(), 20u);
  const TemporaryFolder folder = TemporaryFolder::create("k2k-record").value();
  const std::string path = folder.path() + "/one.trace";
  ASSERT_TRUE(write_trace(path, trace.value()).ok());
  const Result<Trace> read = Trace::load(path);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->text(), trace->text());
  const auto row = trace::measure({}, read.value(), {});
  ASSERT_TRUE(row.ok()) << row.error().message;
  EXPECT_EQ(row.value()["requests"], trace->events());
  EXPECT_EQ(row.value()["errors"], 0) << row.value()["first_error"];
}

INSTANTIATE_TEST_SUITE_P(generator, Recorded,
                         testing::Values("ubench", "bpt", "xsbench", "bfs", "spmv", "sssp", "heap",
                                         "pages", "signals", "files"),
                         [](const auto& instance) { return instance.param; });

TEST(WriteTrace, leaves_the_old_file_where_there_is_no_room_for_the_new_one) {
  const TemporaryFolder folder = TemporaryFolder::create("k2k-record").value();
  const std::string path = folder.path() + "/one.trace";
  const Trace small = Trace::of({{Since::begin, Operation::nop, 0, 0}}).value();
  ASSERT_TRUE(write_trace(path, small).ok());
  const Trace large =
      Trace::of(std::vector<TraceEvent>(10'000, {Since::answer, Operation::nop, 0, 0})).value();
  // As on a full disk, without one: a file may have 4 KiB.
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit little{4'096, before.rlim_max};
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &little);
  const Status status = write_trace(path, large);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "cannot write " + path + ": File too large");
  EXPECT_EQ(Trace::load(path)->text(), small.text());
  EXPECT_FALSE(std::ifstream(path + ".part").good()) << "nothing is left behind";
}

}  // namespace
}  // namespace k2k::labs::generators
