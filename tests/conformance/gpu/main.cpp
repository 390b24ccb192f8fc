// The portable suite on a GPU. Without a usable GPU it prints the reason and exits with 77
// (skipped). Any other problem is a failure.

#include <cstdio>

#include "tests/conformance/device_under_test.hpp"

int main(int argc, char** argv) {
  constexpr int exit_skipped = 77;
  testing::InitGoogleTest(&argc, argv);
  if (!testing::GTEST_FLAG(list_tests)) {
    k2k::RuntimeConfig config;
    config.backend = K2K_CONFORMANCE_GPU;
    const k2k::Result<k2k::Runtime> probe = k2k::Runtime::create(config);
    if (!probe) {
      std::fprintf(stderr, "%s\n", probe.error().message.c_str());
      return probe.error().code == ENODEV ? exit_skipped : 1;
    }
    std::printf("device: %s\n", probe.value().device().name.c_str());
  }
  return RUN_ALL_TESTS();
}
