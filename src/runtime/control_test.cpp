// Goal: external control of a runtime may coincide with the program's own calls, its load and its
// end in any order; nothing is lost or half done. Method: the client end of the socket in this
// process, so that ThreadSanitizer sees both ends.

#include "runtime/control.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <thread>

#include "control/client.hpp"
#include "control/folder_fixture.hpp"
#include "control/http_fixture.hpp"
#include "device/k2k.hpp"
#include "k2k/runtime.hpp"
#include "runtime/report/metrics_page_fixture.hpp"

namespace k2k::runtime {
namespace {

using control::ControlRequest;
using control::Endpoint;
using control::RequestKind;

using ControlledRuntime = control::InOwnFolder;

Runtime make() {
  RuntimeConfig config;
  config.device.compute_units = 1;
  auto made = Runtime::create(config);
  if (!made) throw std::runtime_error(made.error().message);
  return std::move(made).value();
}

ControlRequest set(std::vector<std::pair<std::string, std::string>> values) {
  return {RequestKind::set, false, std::move(values)};
}

TEST_F(ControlledRuntime, is_steered_from_two_sides_under_load_and_loses_nothing) {
  Runtime runtime = make();
  const Endpoint endpoint = control::endpoints().at(0);
  constexpr std::uint32_t items = 32;
  constexpr std::uint64_t calls = 300;
  std::atomic<std::uint64_t> right{0};
  std::atomic<bool> over{false};
  std::thread load([&] {
    std::atomic<std::uint64_t>* const counted = &right;
    const auto report = runtime.launch({.groups = 1, .group_items = items}, [=] K2K_DEVICE {
      for (std::uint64_t call = 0; call < calls; ++call) {
        const long answer = k2k::nop(k2k::work_item);
        if (answer == 0) counted->fetch_add(1);
      }
    });
    EXPECT_TRUE(report.ok());
    over.store(true);
  });
  std::thread program([&] {
    while (!over.load()) {
      server::ServerConfig config = runtime.server_config();
      config.coalesce_max = config.coalesce_max == 64 ? 8 : 64;
      EXPECT_TRUE(runtime.reconfigure(config).ok());
    }
  });
  std::thread watcher([&] {
    while (!over.load()) EXPECT_TRUE(control::ask(endpoint, {RequestKind::show, true, {}}).ok());
  });
  do {
    for (const char* half : {"split", "monolithic"}) {
      for (const char* cap : {"50%", "off"}) {
        const auto done = control::ask(endpoint, set({{"bottom_half", half}, {"cap", cap}}));
        EXPECT_TRUE(done.ok()) << done.error().message;
      }
    }
  } while (!over.load());
  for (std::thread* thread : {&load, &program, &watcher}) thread->join();
  EXPECT_EQ(right.load(), items * calls);
  EXPECT_EQ(runtime.stats().requests, items * calls);
  EXPECT_EQ(runtime.stats().in_flight, 0u);
}

TEST_F(ControlledRuntime, ends_during_requests_from_outside) {
  for (int round = 0; round < 20; ++round) {
    auto runtime = std::make_unique<Runtime>(make());
    const Endpoint endpoint = control::endpoints().at(0);
    std::atomic<bool> over{false};
    std::thread asker([&] {
      while (!over.load()) {
        const auto shown = control::ask(endpoint, {});
        EXPECT_TRUE(shown || shown.error().code == ESRCH) << shown.error().message;
      }
    });
    runtime.reset();
    over.store(true);
    asker.join();
    EXPECT_EQ(files(), 0u);
  }
}

TEST_F(ControlledRuntime, shows_configuration_and_statistics) {
  Runtime runtime = make();
  const auto shown = control::ask(control::endpoints().at(0), {});
  ASSERT_TRUE(shown.ok()) << shown.error().message;
  const nlohmann::ordered_json& all = shown.value();
  EXPECT_EQ(all["settings"]["cap"], "off");
  EXPECT_EQ(all["settings"]["governor"], "budget");
  EXPECT_EQ(all["config"]["server.coalesce_max"], "64");
  EXPECT_EQ(all["config"]["device.compute_units"], "1");
  EXPECT_EQ(all["stats"]["requests"], 0);
  EXPECT_EQ(all["stats"]["control"]["socket"], runtime.stats().control.socket);
  EXPECT_FALSE(all.contains("latency_us"));
}

TEST_F(ControlledRuntime, refuses_as_reconfigure_without_a_change) {
  Runtime runtime = make();
  const Endpoint endpoint = control::endpoints().at(0);
  const auto refused = control::ask(endpoint, set({{"cap", "5%"}, {"steering", "steered"}}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, EINVAL);
  EXPECT_EQ(refused.error().message, "server.steering is steered, but server.cores names no core");
  EXPECT_EQ(runtime.server_config().cap_permille, 0u);
}

TEST_F(ControlledRuntime, without_a_socket_serves_and_reports_the_reason) {
  RuntimeConfig config;
  config.control.socket = false;
  auto runtime = Runtime::create(config);
  ASSERT_TRUE(runtime.ok());
  EXPECT_EQ(files(), 0u);
  EXPECT_EQ(runtime->stats().control.absent, "control.socket = false");
  EXPECT_EQ(runtime->stats().control.cpu_seconds, 0);
}

TEST_F(ControlledRuntime, shares_a_page_of_metrics_that_is_read_while_it_ends) {
  RuntimeConfig config;
  config.device.compute_units = 1;
  config.control.metrics_port = control::free_port();
  auto stays = Runtime::create(config);
  ASSERT_TRUE(stays.ok()) << stays.error().message;
  std::atomic<bool> over{false};
  std::thread reader([&] {
    while (!over.load()) {
      EXPECT_EQ(parse_metrics(control::fetch_metrics(config.control.metrics_port)).wrong, "");
    }
  });
  for (int round = 0; round < 10; ++round) {
    auto another = Runtime::create(config);
    EXPECT_TRUE(another.ok()) << another.error().message;
  }
  over.store(true);
  reader.join();
  const MetricsPage page = parse_metrics(control::fetch_metrics(config.control.metrics_port));
  EXPECT_EQ(page.samples.count("k2k_requests_total{runtime=\"1\"}"), 1u);
  EXPECT_EQ(page.samples.count("k2k_requests_total{runtime=\"2\"}"), 0u)
      << "the second runtime ended";
}

}  // namespace
}  // namespace k2k::runtime
