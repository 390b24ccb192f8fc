// A device as a whole: its memory, its configuration, its launches, and the races that it shows.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backend/cpu/device_fixture.hpp"
#include "backend/given_memory.hpp"

namespace k2k::backend::cpu {
namespace {

using namespace std::chrono_literals;

TEST(Hooks, OutsideAKernelEndTheProcess) {
  EXPECT_DEATH(platform::barrier(),
               "k2k: barrier\\(\\) called outside a kernel; device functions run only inside "
               "launch\\(\\)");
}

TEST(Strict, StacksLocalAndDeviceMemoryAreNotTheHosts) {
  for (const bool strict : {false, true}) {
    DeviceConfig config = small_device();
    config.strict = strict;
    const auto device = build(config);
    void* const allocated = device->allocate(100).value();
    int mine = 0;
    static const char tag = 0;
    const auto report = run(*device, 1, 1, [&] {
      int on_stack = 0;
      EXPECT_EQ(platform::host_visible(&on_stack, 4), !strict);
      EXPECT_EQ(platform::host_visible(platform::local_memory(&tag, 8, 8), 8), !strict);
      EXPECT_EQ(platform::host_visible(allocated, 100), !strict);
      EXPECT_TRUE(platform::host_visible(&mine, 4));
    });
    EXPECT_TRUE(report.ok());
    EXPECT_EQ(device->host_may_access(static_cast<char*>(allocated) - 8, 16), !strict);
    EXPECT_EQ(device->host_may_access(&mine, ~std::size_t{0}), !strict) << "it wraps";
    device->free(allocated);
    EXPECT_TRUE(device->host_may_access(allocated, 100));
  }
}

TEST(Given, MemoryOfKernelsIsThatOfAllocationsStacksAndConstants) {
  for (const bool strict : {false, true}) {
    DeviceConfig config = small_device();
    config.strict = strict;
    const auto device = build(config);
    auto* const own = static_cast<char*>(device->allocate(128).value());
    auto* const shared = static_cast<char*>(device->allocate_shared(8192).value());
    const auto gave = [&](const void* address, std::size_t bytes, bool only_read = false) {
      return device->info().kernel_memory->gave_to_kernels(address, bytes, only_read);
    };
    static char global = 0;
    static const char tag = 0;
    static const char constant[] = "text";
    const auto heap = std::make_unique<int>();
    const auto report = run(*device, 1, 1, [&] {
      int on_stack = 0;
      EXPECT_TRUE(gave(&on_stack, 4));
      EXPECT_TRUE(gave(platform::local_memory(&tag, 8, 8), 8));
    });
    EXPECT_TRUE(report.ok());
    EXPECT_TRUE(gave(own, 128));
    EXPECT_FALSE(gave(own, 129));
    EXPECT_FALSE(gave(own - 1, 1));
    EXPECT_TRUE(gave(shared + 8191, 1));
    EXPECT_FALSE(gave(shared, ~std::size_t{0}));
    EXPECT_TRUE(gave(constant, sizeof(constant), true));
    EXPECT_FALSE(gave(constant, sizeof(constant), false));
    for (const bool only_read : {false, true}) {
      EXPECT_FALSE(gave(&global, 1, only_read));
      EXPECT_FALSE(gave(heap.get(), 4, only_read));
      EXPECT_FALSE(gave(device->area().slots, 8, only_read)) << "K2K's own";
      EXPECT_FALSE(gave(nullptr, 1, only_read));
    }
    device->free(own);
    device->free_shared(shared);
    EXPECT_FALSE(gave(own, 1));
    EXPECT_FALSE(gave(shared, 1));
  }
}

TEST(Config, NamesKeyValueAndRange) {
  const auto message = [](auto change) {
    DeviceConfig config;
    change(config);
    const auto device = create(config);
    return device.ok() ? std::string("ok") : device.error().message;
  };
  EXPECT_EQ(message([](DeviceConfig& c) { c.wave_lanes = 16; }),
            "device.wave_lanes is 16; it must be 32 or 64");
  EXPECT_EQ(message([](DeviceConfig& c) { c.rings = 9; }), "device.rings is 9; it must be 1 to 8");
  EXPECT_EQ(message([](DeviceConfig& c) { c.stack_bytes = 4096; }),
            "device.stack_bytes is 4096; it must be 16384 to 67108864");
  EXPECT_EQ(message([](DeviceConfig& c) { c.resident_waves = 0; }),
            "device.resident_waves is 0; it must be 1 to 16384");
  EXPECT_EQ(message([](DeviceConfig&) {}), "ok");
}

long resident_kib() {
  long pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (std::fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
  std::fclose(file);
  return pages * 4;
}

TEST(Memory, AnIdleDeviceOfAnySizeTakesHardlyAny) {
  DeviceConfig config;
  config.compute_units = 4;
  config.resident_waves = 4096;  // 16,384 waves, 32 MB of slots, 34 GB of stacks.
  const long before = resident_kib();
  const auto device = build(config);
  EXPECT_LT(resident_kib() - before, 10 * 1024);
}

TEST(Memory, ADeviceThatRestsGivesTheStacksOfALargeLaunchBack) {
#if defined(K2K_ASAN) || defined(K2K_TSAN)
  constexpr bool counted = false;  // A sanitizer's own memory is resident, too.
#else
  constexpr bool counted = true;
#endif
  DeviceConfig config;
  config.compute_units = 1;
  config.resident_waves = 512;
  config.resident_groups = 512;
  config.watchdog_ms = 0;
  const auto device = build(config);
  constexpr std::uint32_t items = race_checked ? 32 : 1024 + 15 * 1024;
  std::atomic<std::uint32_t> ran{0};
  const auto big = [&] {
    char frame[3 * 4096];
    frame[0] = 1;
    asm volatile("" : : "r"(frame) : "memory");
    platform::barrier();  // All work-items of a group are on their stacks.
    ++ran;
  };
  const long before = resident_kib();
  ASSERT_TRUE(run(*device, items / 32, 32, big).ok());
  const long after = resident_kib();
  EXPECT_TRUE(!counted || after - before >= 64 * 1024) << after - before;
  const auto end = std::chrono::steady_clock::now() + 20s;
  const long kept = before + (after - before) / 4;
  while (counted && resident_kib() > kept && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_TRUE(!counted || resident_kib() <= kept) << resident_kib();
  ASSERT_TRUE(run(*device, items / 32, 32, big).ok()) << "the stacks are available again";
  EXPECT_EQ(ran.load(), 2 * items);
}

TEST(Launch, RefusesShapesAndForeignKernels) {
  const auto device = build(small_device());
  EXPECT_EQ(run(*device, 1, 129, [] {}).error().message,
            "kernel 'test': a work-group has 1 to 128 work-items, not 129");
  EXPECT_EQ(run(*device, 0, 1, [] {}).error().code, EINVAL);
  KernelImage foreign;
  foreign.layout_hash ^= 1;
  EXPECT_NE(device->launch(foreign, {}).error().message.find("rebuild the kernel"),
            std::string::npos);
}

TEST(Launch, LaunchesFromSeveralThreadsTakeTurns) {
  const auto device = build(small_device());
  std::atomic<int> inside{0};
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        const auto report = run(*device, 1, 1, [&] {
          if (inside.fetch_add(1) != 0) ++wrong;
          platform::yield();
          inside.fetch_sub(1);
        });
        if (!report.ok()) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Launch, TheSameSeedInterleavesTheSame) {
  const auto order_of = [](std::uint64_t seed) {
    DeviceConfig config = small_device();
    config.compute_units = 1;
    config.schedule = Schedule::random;
    config.seed = seed;
    const auto device = build(config);
    std::vector<std::uint32_t> order;
    EXPECT_TRUE(run(*device, 2, 16, [&] {
                  for (int turn = 0; turn < 4; ++turn) {
                    // One unit, one thread: the order is the schedule.
                    if (!race_checked) order.push_back(platform::current().rank);
                    platform::yield();
                  }
                }).ok());
    return order;
  };
  EXPECT_EQ(order_of(7), order_of(7));
  if (!race_checked) {
    EXPECT_NE(order_of(7), order_of(8));
  }
}

TEST(Launch, AForkedChildGetsAnErrorAndCanDestroyItsCopy) {
  if (race_checked) GTEST_SKIP() << "ThreadSanitizer does not follow forks of threaded programs";
  auto device = build(small_device());
  ASSERT_TRUE(run(*device, 2, 4, [] {}).ok());
  const pid_t child = fork();
  if (child == 0) {
    const auto report = run(*device, 1, 1, [] {});
    const bool refused = !report.ok() && report.error().code == EPERM;
    device.reset();
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

#if defined(K2K_TSAN)
TEST(Races, AMissingBarrierIsReportedThoughOneThreadRunsBoth) {
  EXPECT_EXIT(
      {
        DeviceConfig config = small_device();
        config.compute_units = 1;
        const auto device = build(config);
        int shared = 0;
        (void)run(*device, 1, 2, [&] {
          if (platform::current().rank == 0) shared = 1;
          platform::yield();  // Orders nothing.
          if (platform::current().rank == 1) shared += 1;
        });
        _exit(0);
      },
      testing::ExitedWithCode(66), "data race");
}

TEST(Races, ABarrierAfterTheReadIsReportedToo) {
  EXPECT_EXIT(
      {
        DeviceConfig config = small_device();
        config.compute_units = 1;
        const auto device = build(config);
        static const char tag = 0;
        (void)run(*device, 1, 4, [&] {
          auto* const local = static_cast<int*>(platform::local_memory(&tag, 16, 4));
          const std::uint32_t rank = platform::current().rank;
          local[rank] = 1;
          platform::barrier();
          local[rank] = local[(rank + 1) % 4];
        });
        _exit(0);
      },
      testing::ExitedWithCode(66), "data race");
}
#endif

}  // namespace
}  // namespace k2k::backend::cpu
