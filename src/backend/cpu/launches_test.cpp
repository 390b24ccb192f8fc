// Goal: a launch that needs every core wakes no server thread before its first doorbell, and leaves
// the CPUs of the units' threads as they were.

#include <gtest/gtest.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "backend/cpu/device_fixture.hpp"
#include "base/clock.hpp"
#include "base/cores.hpp"

namespace k2k::backend::cpu {
namespace {

using namespace std::chrono_literals;

constexpr int launches = 20;

DeviceConfig device_of(std::uint32_t units) {
  DeviceConfig config = small_device();
  config.compute_units = units;
  return config;
}

// A server thread that sleeps until a launch concerns it.
class WaitingServer {
 public:
  explicit WaitingServer(Backend& device)
      : thread_([this, &device] {
          std::vector<std::uint64_t> positions(device.area().ring_count, any_position);
          begun_ = true;
          launch_ = device.wait_launch(positions.data(), 60s);
          over_ = true;
        }) {
    while (!begun_) std::this_thread::yield();
    std::this_thread::sleep_for(20ms);
  }
  [[nodiscard]] bool is_over() const { return over_; }
  LaunchWait launch() {
    thread_.join();
    return launch_;
  }

 private:
  std::atomic<bool> begun_{false};
  std::atomic<bool> over_{false};
  LaunchWait launch_ = LaunchWait::none;
  std::thread thread_;
};

TEST(Launches, that_take_every_core_wake_the_server_by_their_first_doorbell) {
  const std::uint32_t cores = usable_cores();
  const auto device = build(device_of(cores));
  const Host host(*device);
  const Instant begin = now();
  WaitingServer server(*device);
  for (int launch = 0; launch < launches; ++launch) {
    ASSERT_TRUE(run(*device, cores, 1, [] {}).ok());
  }
  EXPECT_FALSE(server.is_over()) << "no work-item called";
  ASSERT_TRUE(run(*device, cores, 1, [] { ask(1); }).ok());
  server.launch();
  EXPECT_LT(now() - begin, 50s) << "the doorbell did not wake it";
}

TEST(Launches, that_leave_a_core_wake_the_server_at_once) {
  if (usable_cores() < 2) GTEST_SKIP() << "one CPU";
  const auto device = build(device_of(1));
  const Instant begin = now();
  WaitingServer server(*device);
  std::atomic<bool> seen{false};
  ASSERT_TRUE(run(*device, 1, 1, [&] {
                while (!seen) seen = server.is_over() || now() - begin > 50s;
              }).ok());
  EXPECT_EQ(server.launch(), LaunchWait::began);
  EXPECT_LT(now() - begin, 50s);
}

TEST(Launches, leave_units_the_cpus_of_their_threads) {
  cpu_set_t usable;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(usable), &usable), 0);
  const std::uint32_t cores = usable_cores();
  const auto device = build(device_of(2 * cores));
  std::atomic<int> differ{0};
  for (int launch = 0; launch < launches; ++launch) {
    ASSERT_TRUE(run(*device, 2 * cores, 1, [&] {
                  cpu_set_t of_unit;
                  const bool known = ::sched_getaffinity(0, sizeof(of_unit), &of_unit) == 0;
                  differ += known && CPU_EQUAL(&usable, &of_unit) ? 0 : 1;
                }).ok());
  }
  EXPECT_EQ(differ.load(), 0);
}

}  // namespace
}  // namespace k2k::backend::cpu
