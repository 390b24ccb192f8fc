#pragma once
// The base of tests in which a thousand work-items wait beside at most 16 service threads.

#include <thread>

#include "base/clock.hpp"
#include "tests/conformance/device_under_test.hpp"

namespace k2k::conformance {

inline constexpr std::uint32_t thousand = 1'000;

class ThousandWaits : public DeviceUnderTest {
 protected:
  Runtime start_for_thousand() {
    return start([](RuntimeConfig& config) {
      config.device.arena_blocks = thousand;  // A detached call keeps its copy until it ends.
      config.server.threads_max = 16;
      config.server.shutdown_ms = 100;
      config.device.compute_units = 1;
      config.device.resident_waves = 64;
      config.device.resident_groups = 8;
    });
  }
  // Behind a stage, the watcher adds workers while a thousand first attempts are queued: up to
  // threads_max, beside the threads that wait.
  void expect_threads_below(const Runtime& runtime, std::uint64_t most) const {
    EXPECT_LT(runtime.stats().threads, GetParam().staged ? 16u + 16u : most);
  }
};

}  // namespace k2k::conformance
