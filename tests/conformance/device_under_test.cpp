#include "tests/conformance/device_under_test.hpp"

#include <sys/resource.h>
#include <sys/wait.h>

#include <cstdlib>
#include <string_view>

namespace k2k::conformance {

namespace {
constexpr unsigned child_limit_s = 60;
}

std::vector<Setup> setups() {
  std::vector<Setup> all;
#if defined(K2K_CONFORMANCE_GPU)
  all.push_back({K2K_CONFORMANCE_GPU, backend::Schedule::round_robin, 1});
  return all;
#endif
  for (const std::string& backend : {std::string("cpu")}) {
    all.push_back({backend, backend::Schedule::round_robin, 1});
// A schedule decides the order of work-items within a unit. For a sanitizer two orders are enough.
#if !defined(K2K_ASAN) && !defined(K2K_TSAN)
    all.push_back({backend, backend::Schedule::round_robin, 1, 1});
    all.push_back({backend, backend::Schedule::random, 1});
    all.push_back({backend, backend::Schedule::random, 2});
    all.push_back({backend, backend::Schedule::adversarial, 1});
#endif
    all.push_back({backend, backend::Schedule::random, 20260});
    all.push_back({backend, backend::Schedule::round_robin, 1, 2, true});
    all.push_back({backend, backend::Schedule::round_robin, 1, 2, false, true});
    // K2K_CONFORMANCE_SEEDS=100 makes a longer run that tries more seeds.
    const char* const seeds = std::getenv("K2K_CONFORMANCE_SEEDS");
    const std::uint64_t last = seeds == nullptr ? 0 : std::strtoull(seeds, nullptr, 10);
    for (std::uint64_t seed = 1; seed <= last; ++seed) {
      if (seed > 2) all.push_back({backend, backend::Schedule::random, seed});
      all.push_back({backend, backend::Schedule::random, seed, 1});
    }
  }
  return all;
}

std::vector<Setup> setups_behind_walls() {
  std::vector<Setup> all;
  for (const Setup& setup : setups()) {
    if (setup.schedule != backend::Schedule::round_robin || setup.compute_units == 1) continue;
    if (setup.on_units || setup.backend != "cpu") continue;  // Units that serve have no walls.
    all.push_back(setup);
    all.back().walls = true;
  }
  return all;
}

void DeviceUnderTest::SetUp() {
  if (!GetParam().walls) return;
  const Result<Runtime> runtime = Runtime::create(config_of(GetParam()));
  if (!runtime) GTEST_SKIP() << runtime.error().message;
}

std::string name_of(const testing::TestParamInfo<Setup>& info) {
  if (info.param.backend != "cpu") return info.param.backend;  // It has its own schedule.
  const std::string device =
      info.param.backend + (info.param.compute_units == 1 ? "_one_unit" : "") +
      (info.param.on_units ? "_inline" : "") + (info.param.staged ? "_staged" : "");
  switch (info.param.schedule) {
    case backend::Schedule::round_robin:
      return device + "_round_robin";
    case backend::Schedule::random:
      return device + "_random_" + std::to_string(info.param.seed);
    case backend::Schedule::adversarial:
      return device + "_adversarial";
  }
  return "";
}

RuntimeConfig config_of(const Setup& setup) {
  RuntimeConfig config;
  config.operator_settings = false;
  config.backend = setup.backend;
  config.device.compute_units = setup.compute_units;
  config.device.wave_lanes = 32;
  config.device.resident_waves = 4;
  config.device.resident_groups = 4;
  config.device.schedule = setup.schedule;
  config.device.seed = setup.seed;
  config.device.ring_entries = 64;
  config.device.arena_blocks = 8;
  config.device.watchdog_ms = 0;
  config.server.shutdown_ms = 200;
  if (setup.on_units) config.server.bottom_half = server::BottomHalfMode::on_unit;
  if (setup.staged) config.server.bottom_half = server::BottomHalfMode::staged;
  if (setup.walls) config.server.walls = server::WallMode::strict;
  // K2K_SERVER_WALLS=strict runs the suite behind walls.
  const char* const walls = std::getenv("K2K_SERVER_WALLS");
  if (walls != nullptr && !setup.on_units && !setup.walls) {
    config.server.walls =
        std::string_view(walls) == "strict" ? server::WallMode::strict : server::WallMode::off;
  }
  return config;
}

int status_of_child(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::alarm(child_limit_s);
    body();
    ::_exit(0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace k2k::conformance
