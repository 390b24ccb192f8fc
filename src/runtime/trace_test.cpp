// Goal: a replay on a real server: no request is lost or answered twice; instead the device stalls.
// It ends when it is cancelled and when its runtime ends; errors contain the remedy.

#include "k2k/trace.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "backend/trace/format.hpp"
#include "backend/trace/trace.hpp"
#include "runtime/backends.hpp"
#include "server/server.hpp"

namespace k2k {
namespace {

using namespace std::chrono_literals;

#if defined(K2K_TSAN)
constexpr int lines_usual = 600;
#else
constexpr int lines_usual = 3'000;
#endif

std::string trace_of(const std::string& lines) {
  return std::string(backend::trace::first_line) + "\n" + lines;
}
std::string repeated(const std::string& line, int times) {
  std::string lines;
  for (int time = 0; time < times; ++time) lines += line + "\n";
  return trace_of(lines);
}
Trace parsed(const std::string& text) {
  auto trace = Trace::parse(text, "test");
  EXPECT_TRUE(trace.ok()) << trace.error().message;
  return std::move(trace).value();
}

Runtime started(const RuntimeConfig& base = {}) {
  RuntimeConfig config = base;
  config.backend = "trace";
  auto runtime = Runtime::create(config);
  EXPECT_TRUE(runtime.ok()) << runtime.error().message;
  return std::move(runtime).value();
}

void expect_all_answered(const Result<TraceReport>& report, const Runtime& runtime,
                         std::uint64_t requests) {
  ASSERT_TRUE(report.ok()) << report.error().message;
  const TraceReport& replay = report.value();
  EXPECT_EQ(replay.requests, requests);
  EXPECT_EQ(replay.answered, requests);
  EXPECT_EQ(replay.refused, 0u);
  EXPECT_EQ(replay.errors, 0u) << replay.first_error;
  EXPECT_EQ(replay.delays.count(), requests);
  // The server's own account: it accepted each request once, and no request that the device does
  // not have.
  const server::Stats stats = runtime.stats();
  EXPECT_EQ(stats.requests, requests);
  EXPECT_EQ(stats.in_flight, 0u);
}

TEST(TraceReplay, makes_real_calls_of_every_kind_and_gets_right_answers) {
  Runtime runtime = started();
  std::string lines;
  for (int round = 0; round < 20; ++round) {
    lines +=
        "+1 nop\n+1 getpid\n+1 pread 4096\n+1 pread 0\n+1 pwrite 100000\n+1 fault 10000\n+1 cost "
        "5\n+1 clock_gettime\n+1 nanosleep 20\n+3 fault 131072\n";
  }
  auto report = parsed(trace_of(lines)).replay(runtime, {.outstanding = 16});
  expect_all_answered(report, runtime, 200);
  EXPECT_GT(report->device.count(), 0);
  EXPECT_GT(report->delay_us(0.5), 0);
}

TEST(TraceReplay, gives_pages_back_asks_for_their_nodes_and_queues_signals) {
  Runtime runtime = started();
  const auto report = parsed(repeated("+1 fault 131072\n+1 release 131072\n+1 signal", 50))
                          .replay(runtime, {.outstanding = 16});
  expect_all_answered(report, runtime, 150);
  if (::syscall(SYS_move_pages, 0, 0ul, nullptr, nullptr, nullptr, 0) != 0) {
    GTEST_SKIP() << "this machine refuses move_pages(2): " << std::strerror(errno);
  }
  Runtime other = started();
  expect_all_answered(parsed(trace_of("+1 fault 4096\n+1 move_pages 31\n+1 move_pages 1\n"))
                          .replay(other, {.outstanding = 2}),
                      other, 3);
}

TEST(TraceReplay, is_the_same_under_every_way_to_serve) {
  const Trace trace = parsed(repeated("+2 pread 100", lines_usual));
  for (const std::uint32_t top_halves : {1u, 4u}) {
    for (const auto bottom : {server::BottomHalfMode::monolithic, server::BottomHalfMode::split,
                              server::BottomHalfMode::staged}) {
      for (const std::uint32_t window : {0u, 20u}) {
        for (const auto notify : {server::Notify::interrupt, server::Notify::polling}) {
          RuntimeConfig config;
          config.device.rings = 4;
          config.device.resident_waves = 8;  // Work-items share rows.
          config.server.top_halves = top_halves;
          config.server.bottom_half = bottom;
          config.server.coalesce_window_us = window;
          config.server.notify = notify;
          Runtime runtime = started(config);
          expect_all_answered(trace.replay(runtime, {.outstanding = 48}), runtime, lines_usual);
        }
      }
    }
  }
}

TEST(TraceReplay, goes_on_while_the_way_to_serve_changes) {
  RuntimeConfig config;
  config.device.rings = 2;
  Runtime runtime = started(config);
  const Trace trace = parsed(repeated("+5 getpid", 50 * lines_usual));
  std::atomic<bool> over{false};
  std::thread changes([&] {
    for (std::uint32_t round = 0; !over; ++round) {
      server::ServerConfig next = runtime.server_config();
      next.top_halves = 1 + round % 2;
      constexpr server::BottomHalfMode modes[] = {server::BottomHalfMode::monolithic,
                                                  server::BottomHalfMode::split,
                                                  server::BottomHalfMode::staged};
      next.bottom_half = modes[round / 2 % 3];
      next.cap_permille = round % 3 == 0 ? 500 : 0;
      EXPECT_TRUE(runtime.reconfigure(next).ok());
      std::this_thread::sleep_for(1ms);
    }
  });
  auto report = trace.replay(runtime, {.outstanding = 32});
  over = true;
  changes.join();
  expect_all_answered(report, runtime, 50 * lines_usual);
}

TEST(TraceReplay, needs_threads_of_the_server) {
  RuntimeConfig config;
  config.operator_settings = false;
  config.backend = "trace";
  config.server.bottom_half = server::BottomHalfMode::on_unit;
  const Result<Runtime> runtime = Runtime::create(config);
  ASSERT_FALSE(runtime.ok());
  EXPECT_NE(runtime.error().message.find(
                "server.bottom_half = \"inline\" needs a device whose units are threads of the "
                "host: backend = \"cpu\"; this one is "),
            std::string::npos)
      << runtime.error().message;
}

TEST(TraceReplay, may_be_repeated_on_one_runtime) {
  Runtime runtime = started();
  const Trace trace = parsed(repeated("+0 nop", 100));
  for (std::uint64_t round = 1; round <= 20; ++round) {
    auto report = trace.replay(runtime, {.outstanding = static_cast<std::uint32_t>(round)});
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->answered, 100u);
    EXPECT_EQ(runtime.stats().requests, 100 * round);
  }
}

// Idle between requests: the server sleeps, and the timer wakes it for each.
TEST(TraceReplay, wakes_a_server_that_sleeps) {
  for (const auto notify : {server::Notify::interrupt, server::Notify::polling}) {
    RuntimeConfig config;
    config.server.notify = notify;
    config.server.sleep_us = 1'000'000;
    Runtime runtime = started(config);
    std::string lines;
    for (int line = 1; line <= 20; ++line) lines += std::to_string(line * 3'000) + " getpid\n";
    auto report = parsed(trace_of(lines)).replay(runtime);
    expect_all_answered(report, runtime, 20);
    EXPECT_GE(report->elapsed, 57ms);
    EXPECT_LT(report->delay_us(0.5), 500'000)
        << "the timer wakes the server, not its next regular look";
    EXPECT_GE(runtime.stats().parks, 1u);
    EXPECT_EQ(report->stalled.count(), 0);
  }
}

// Backpressure (HISS, section VI): more requests arrive than the cap permits, and the device
// stalls.
TEST(TraceReplay, stalls_under_a_cap_and_loses_nothing) {
  RuntimeConfig config;
  config.server.cap_permille = 100;
  Runtime runtime = started(config);
  std::string lines;
  for (int line = 0; line < 3'000; ++line) lines += std::to_string(line * 5) + " cost 40\n";
  auto report = parsed(trace_of(lines)).replay(runtime, {.outstanding = 8});
  expect_all_answered(report, runtime, 3'000);
  EXPECT_GT(report->stalled, report->elapsed / 4);
  EXPECT_LE(report->stalled, report->elapsed);
  EXPECT_GT(report->delay_us(1), report->delay_us(0))
      << "late requests waited for all earlier requests";
}

TEST(TraceReplay, of_a_load_without_end_ends_when_its_time_is_over) {
  Runtime runtime = started();
  for (const char* name : {"uniform", "lognormal", "poisson:5000"}) {
    auto trace = Trace::named(name, 3);
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    EXPECT_TRUE(trace->endless());
    auto report = trace->replay(runtime, {.outstanding = 32, .longest = 100ms});
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_GT(report->requests, 50u) << name;
    EXPECT_EQ(report->answered, report->requests) << name;
    EXPECT_EQ(report->errors, 0u) << report->first_error;
  }
  EXPECT_EQ(runtime.stats().in_flight, 0u);
}

// A replay in a thread; the test ends it.
class EndedReplay : public testing::Test {
 protected:
  void run(Runtime& runtime, const Trace& trace) {
    thread = std::thread([&] {
      const auto result = trace.replay(runtime, {.outstanding = 16, .longest = 1h}, &report);
      if (!result) error = result.error();
    });
  }
  ~EndedReplay() override {
    if (thread.joinable()) thread.join();
  }
  static void await_requests(const Runtime& runtime, std::uint64_t requests) {
    for (int wait = 0; wait < 20'000 && runtime.stats().requests < requests; ++wait) {
      std::this_thread::sleep_for(1ms);
    }
    ASSERT_GE(runtime.stats().requests, requests);
  }

  TraceReport report;
  Error error;
  std::thread thread;
};

TEST_F(EndedReplay, by_cancel_waits_for_its_answers) {
  Runtime runtime = started();
  auto trace = Trace::named("uniform");
  for (int round = 0; round < 3; ++round) {
    const std::uint64_t before = runtime.stats().requests;
    run(runtime, trace.value());
    await_requests(runtime, before + 200);
    runtime.cancel();
    thread.join();
    EXPECT_EQ(error.code, ECANCELED);
    EXPECT_EQ(error.message, "trace 'uniform': it was cancelled");
    EXPECT_EQ(report.answered, report.requests);
    EXPECT_EQ(report.errors, 0u) << report.first_error;
    EXPECT_EQ(runtime.stats().in_flight, 0u);
  }
}

// After the server's end no request is answered: requests with the host are counted, and no thread
// waits for ever. Without a Runtime, because the device has to outlive its launch.
TEST(TraceReplay, counts_requests_that_an_ending_server_refuses) {
  for (const char* line : {"+1 nanosleep 20000", "+1 nop"}) {
    auto device = runtime::create_backend("trace", {});
    ASSERT_TRUE(device.ok()) << device.error().message;
    server::ServerConfig config;
    config.shutdown_ms = 5;
    auto server = server::Server::start(*device.value(), config);
    ASSERT_TRUE(server.ok()) << server.error().message;

    const std::vector<backend::trace::Event> events =
        backend::trace::parse_trace(repeated(line, 1'000'000)).value();
    backend::trace::ListedEvents source(events);
    TraceReport report;
    backend::trace::Replay replay;
    replay.source = &source;
    replay.outstanding = 8;
    replay.report = &report;
    Error error;
    std::thread launch([&] {
      const auto launched = device.value()->launch(backend::trace::image_of(replay, "endless"), {});
      if (!launched) error = launched.error();
    });
    while (server.value()->stats().requests < 8) std::this_thread::sleep_for(1ms);
    server.value().reset();
    launch.join();
    EXPECT_EQ(error.code, ESHUTDOWN) << error.message;
    EXPECT_EQ(error.message, "trace 'endless': the server ended before the trace did; " +
                                 std::to_string(report.refused) + " requests were refused");
    EXPECT_EQ(report.answered + report.refused, report.requests);
    EXPECT_LE(report.refused, 8u);
    EXPECT_TRUE(device.value()->abandoned());
  }
}

TEST(TraceErrors, contain_the_remedy) {
  Runtime runtime = started();
  const auto message = [](const auto& result) {
    EXPECT_FALSE(result.ok());
    return result.ok() ? "" : result.error().message;
  };
  const Trace nop = parsed(repeated("0 nop", 1));
  EXPECT_EQ(message(nop.replay(runtime, {.outstanding = 0})),
            "trace 'test': it may have 1 to 2048 requests outstanding, not 0; raise "
            "device.resident_waves for more");
  EXPECT_EQ(message(nop.replay(runtime, {.outstanding = 2'049})),
            "trace 'test': it may have 1 to 2048 requests outstanding, not 2049; raise "
            "device.resident_waves for more");
  const std::string no_end = "trace 'uniform': it has no end of its own; say how long to replay it";
  EXPECT_EQ(message(Trace::named("uniform")->replay(runtime)), no_end);
  EXPECT_EQ(message(Trace::named("uniform")->replay(runtime, {.longest = -1ns})), no_end);
  EXPECT_EQ(message(Trace::parse("what?", "file")).substr(0, 15), "file: line 1: '");
  EXPECT_EQ(message(Trace::load("/nowhere/at/all")),
            "cannot read /nowhere/at/all: No such file or directory");
  EXPECT_EQ(message(Trace::load("/")), "cannot read /: Is a directory");
  EXPECT_FALSE(Trace::named("abacus").ok());

  auto other = Runtime::create({});
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(message(nop.replay(other.value())),
            "trace 'test': this runtime's device is '" + other->device().name +
                "', which replays no traces; set backend = \"trace\"");
  const auto kernel = runtime.launch({1, 1}, [] {}, "grep");
  EXPECT_EQ(message(kernel),
            "kernel 'grep' was compiled for cpu, this runtime's device, the trace-driven "
            "accelerator, runs no kernels; set backend = \"cpu\"");
  EXPECT_EQ(kernel.error().code, ENOEXEC);
  EXPECT_EQ(runtime.stats().requests, 0u);
}

TEST(TraceFiles, are_replayed_without_changes) {
  const std::string path = testing::TempDir() + "k2k_trace_test";
  std::ofstream(path) << trace_of("0 nop\n5 getpid\n");
  auto trace = Trace::load(path);
  std::remove(path.c_str());
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(trace->events(), 2u);
  EXPECT_FALSE(trace->endless());
  Runtime runtime = started();
  expect_all_answered(trace->replay(runtime), runtime, 2);
}

TEST(TraceOf, replays_events_without_a_text) {
  const std::vector<TraceEvent> events(100, {Since::answer, Operation::getpid, 1'000, 0});
  const auto trace = Trace::of(events, "made");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(trace.value().name(), "made");
  EXPECT_EQ(trace.value().events(), 100u);
  EXPECT_FALSE(trace.value().endless());
  Runtime runtime = started();
  expect_all_answered(trace.value().replay(runtime), runtime, 100);
  const auto wrong = Trace::of({{Since::answer, Operation::nop, 0, 3}}, "made");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, EINVAL);
  EXPECT_EQ(wrong.error().message, "made: event 0: 3 is no such amount; nop takes nothing");
}

TEST(TraceOf, is_the_text_that_gives_it_back) {
  const std::string text = trace_of("0 nop\n+2.5 fault 4096 tenant=2 urgent\n");
  EXPECT_EQ(parsed(text).text(), text);
  EXPECT_EQ(Trace::named("uniform").value().text(), trace_of(""));
}

TEST(TraceOf, makes_requests_for_tenants) {
  std::vector<TraceEvent> events(90, {Since::answer, Operation::getpid, 1'000, 0, 1});
  for (std::size_t event = 0; event < 30; ++event) events[event].tenant = 5;
  for (std::size_t event = 0; event < 90; event += 2) events[event].urgent = true;
  const auto trace = Trace::of(events);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  Runtime runtime = started();
  expect_all_answered(trace.value().replay(runtime), runtime, 90);
  const server::Stats stats = runtime.stats();
  ASSERT_EQ(stats.tenants.size(), 2u);
  EXPECT_EQ(stats.tenants[0].tenant, 1u);
  EXPECT_EQ(stats.tenants[0].requests, 60u);
  EXPECT_EQ(stats.tenants[1].tenant, 5u);
  EXPECT_EQ(stats.tenants[1].requests, 30u);
}

TEST(RandomBytes, take_longer_if_there_are_more) {
  const auto few = random_bytes_taking(2);
  const auto many = random_bytes_taking(45);
  ASSERT_TRUE(few.ok()) << few.error().message;
  ASSERT_TRUE(many.ok()) << many.error().message;
  EXPECT_GE(few.value(), 64u);
  EXPECT_LE(many.value(), 128u << 10);
  EXPECT_LT(few.value(), many.value());
  EXPECT_EQ(random_bytes_taking(2).value(), few.value()) << "measured once";
}

}  // namespace
}  // namespace k2k
