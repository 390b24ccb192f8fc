#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "backend/cpu/device_fixture.hpp"
#include "backend/cpu/fibre/fibre_pool.hpp"
#include "base/clock.hpp"

namespace k2k::backend::cpu {
namespace {

using namespace std::chrono_literals;

constexpr platform::Wait ways[] = {platform::Wait::polling, platform::Wait::halted};

class BothWaits : public testing::TestWithParam<platform::Wait> {};
std::string wait_name(const testing::TestParamInfo<platform::Wait>& chosen) {
  return chosen.param == platform::Wait::polling ? "polling" : "halted";
}
INSTANTIATE_TEST_SUITE_P(Cpu, BothWaits, testing::ValuesIn(ways), wait_name);

TEST_P(BothWaits, EveryWorkItemGetsItsOwnAnswer) {
  const auto device = build(small_device());
  const Host host(*device);
  std::atomic<int> wrong{0};
  constexpr std::uint32_t groups = race_checked ? 8 : 64;
  const auto report = run(*device, groups, 32, [&] {
    const platform::Item& me = platform::current();
    for (std::uint64_t call = 0; call < 5; ++call) {
      const std::uint64_t asked = me.group * 1000 + me.rank + call;
      if (ask(asked, GetParam()) != asked + 1) ++wrong;
    }
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(report.value().unredeemed_tickets, 0u);
}

// No portable runtime allows this: the neighbours of a work-item that waits make progress.
TEST_P(BothWaits, TheHostMayAnswerOnlyOnceAllAreOutstanding) {
  DeviceConfig config = small_device();
  config.compute_units = 1;
  const auto device = build(config);
  const Host host(*device, {.batch = 64});
  const auto report = run(*device, 4, 64, [] { ask(1, GetParam()); });
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(host.served(), 256u);
}

TEST_P(BothWaits, ASleepingUnitIsWokenByResume) {
  DeviceConfig config = small_device();
  config.spin_us = 0;
  const auto device = build(config);
  const Host host(*device, {.delay = 2ms, .parks = true});
  const auto report = run(*device, 2, 4, [] {
    for (int call = 0; call < 10; ++call) ask(1, GetParam());
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
}

// A claimer that finds its row taken waits on a slot of another unit.
TEST_P(BothWaits, ASlotOfAnotherUnitWakesToo) {
  DeviceConfig config = small_device();
  config.resident_waves = 1;
  config.spin_us = 0;
  const auto device = build(config);
  const Host host(*device, {.batch = 40, .delay = 1ms});
  const auto report = run(*device, 1, 20, [] {
    const protocol::Place first = submit(1, 0, protocol::flag::async);
    const protocol::Place second = submit(2, 0, protocol::flag::async);
    redeem(second, GetParam());
    redeem(first, GetParam());
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
}

TEST(Waiting, EndsWhenTheAreaCloses) {
  const auto device = build(small_device());
  std::atomic<int> shut{0};
  std::thread closer([&] {
    std::this_thread::sleep_for(30ms);
    protocol::store_release(device->area().closed, 1u);
  });
  const auto report = run(*device, 2, 8, [&] {
    const auto how = ways[platform::current().rank % 2];
    if (ask(1, how) == ~std::uint64_t{0}) ++shut;
  });
  closer.join();
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(shut, 16);
}

TEST(Waiting, NoRingIsLostWhileTheServerParks) {
  DeviceConfig config = small_device();
  config.compute_units = 1;
  const auto device = build(config);
  const Host host(*device, {.parks = true});
  constexpr int calls = race_checked ? 5'000 : 100'000;
  const Instant begin{std::chrono::steady_clock::now()};
  const auto report = run(*device, 1, 1, [] {
    for (int call = 0; call < calls; ++call) ask(1);
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(host.served(), static_cast<std::uint64_t>(calls));
  // One lost ring would cost the full 5 s of the park.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 60s);
}

TEST(Waiting, AWakeBeforeTheParkIsKept) {
  const auto device = build(small_device());
  device->wake_server();
  const std::uint64_t positions[8] = {};
  const auto begin = std::chrono::steady_clock::now();
  device->wait_doorbell(positions, 10s);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  device->wait_doorbell(positions, 1ms);
}

// The share of `longest` that an idle server takes to wait for a doorbell.
double awake_in(Backend& device, const std::uint64_t* positions, Nanoseconds longest) {
  const Nanoseconds used = thread_time();
  const Instant begin = now();
  while (now() - begin < longest) device.wait_doorbell(positions, longest);
  return static_cast<double>((thread_time() - used).count()) /
         static_cast<double>((now() - begin).count());
}

TEST(Waiting, TicketsThatAreNeverRungDoNotKeepTheServerAwake) {
  const auto device = build(small_device());
  const protocol::DoorbellRing& ring = device->area().rings[0];
  std::vector<std::uint64_t> positions(device->area().ring_count, any_position);
  positions[0] = 0;
  protocol::take_ticket(ring);  // The ticket of a cancelled work-item, or a forged one.
  EXPECT_LT(awake_in(*device, positions.data(), 200ms), 0.25);
  protocol::take_ticket(ring);  // A second ticket changes nothing.
  EXPECT_LT(awake_in(*device, positions.data(), 200ms), 0.25);
  const auto wakes = [&] {
    const Instant begin = now();
    device->wait_doorbell(positions.data(), 10s);
    return now() - begin < 5s;
  };
  protocol::ring(ring, protocol::take_ticket(ring), 0, 1);
  EXPECT_TRUE(wakes()) << "a doorbell behind holes wakes the server";
  protocol::ring(ring, 0, 0, 1);
  EXPECT_TRUE(wakes()) << "the owner of the ticket was only slow";
}

TEST(Sweep, CountsUnredeemedTicketsAndFreesTheirSlots) {
  const auto device = build(small_device());
  const Host host(*device, {.delay = 1ms});
  const auto report = run(*device, 2, 8, [] { submit(1, 0, protocol::flag::async); });
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report.value().unredeemed_tickets, 16u);
  const protocol::AreaView& area = device->area();
  for (std::uint32_t wave = 0; wave < area.wave_count; ++wave) {
    EXPECT_EQ(area.locks[wave], 0u);
    for (std::uint32_t lane = 0; lane < area.wave_lanes; ++lane) {
      EXPECT_EQ(observe(area.slot(wave, lane)).state, protocol::SlotState::free);
    }
  }
}

TEST(Sweep, SendsAnAbandonedClaimToTheHostAsADetachedNop) {
  const auto device = build(small_device());
  const auto report = run(*device, 1, 1, [] {
    const platform::Item& me = platform::current();
    protocol::Place place{me.wave, me.lane};
    EXPECT_TRUE(protocol::try_claim_one(*me.area, place));
    throw std::runtime_error("between claim and submission");
  });
  ASSERT_FALSE(report.ok());
  const protocol::Slot& slot = device->area().slot(0, 0);
  EXPECT_EQ(observe(slot).state, protocol::SlotState::ready);
  EXPECT_EQ(observe(slot).number, 0xffff);
  EXPECT_EQ(protocol::unpack_attributes(slot.attributes).flags, protocol::flag::detached);
}

TEST(Cancel, AbandonsWorkItemsThatYieldMeetOrWait) {
  const auto device = build(small_device());
  const Host host(*device, {.delay = 1ms});
  std::atomic<std::uint32_t> rounds{0};
  std::thread canceller([&] {
    while (rounds.load() < 100) std::this_thread::yield();
    device->cancel();
  });
  const auto report = run(*device, 6, 8, [&] {
    while (true) {
      ++rounds;
      const std::uint32_t group = platform::current().group % 3;
      if (group == 0) platform::yield();
      if (group == 1) platform::barrier();
      if (group == 2) ask(1);
    }
  });
  canceller.join();
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ECANCELED);
  EXPECT_EQ(report.error().message, "kernel 'test' was cancelled");
  EXPECT_TRUE(run(*device, 4, 8, [] { platform::barrier(); }).ok()) << "the device works on";
}

TEST(Failures, ADeadlockIsReportedAtOnceAndNamesWorkItems) {
  const auto device = build(small_device());
  const auto report = run(*device, 1, 3, [] {
    if (platform::current().rank == 0) {
      platform::ballot(true);
    } else {
      platform::barrier();
    }
  });
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, EDEADLK);
  EXPECT_EQ(report.error().message,
            "kernel 'test': 3 of 3 work-items wait forever: group 0 item 0 at a ballot of its wave "
            "(1 of 3 lanes arrived), group 0 item 1 at a barrier (2 of 3 arrived), group 0 item 2 "
            "at a barrier (2 of 3 arrived)");
}

TEST(Failures, AnExceptionEndsTheLaunchWithItsText) {
  const auto device = build(small_device());
  const auto report = run(*device, 2, 4, [] {
    platform::barrier();
    if (platform::current().rank == 2 && platform::current().group == 1) {
      throw std::runtime_error("out of luck");
    }
    while (true) platform::yield();
  });
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, EIO);
  EXPECT_EQ(report.error().message,
            "kernel 'test': group 1 item 2 threw an exception: out of luck");
}

TEST(Failures, AnExceptionInFlightStaysWithItsWorkItem) {
  const auto device = build(small_device());
  std::atomic<int> wrong{0};
  const auto report = run(*device, 1, 16, [&] {
    const std::uint32_t rank = platform::current().rank;
    try {
      throw rank;
    } catch (std::uint32_t) {
      for (std::uint32_t turn = 0; turn < 3 + rank % 5; ++turn) platform::yield();
      try {
        throw;
      } catch (std::uint32_t mine) {
        if (mine != rank) ++wrong;
      }
    }
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(wrong, 0);
}

// A device, and the reports of its watchdog.
struct Watched {
  Watched(
      std::uint32_t units, std::chrono::milliseconds patience,
      std::function<void()> on_report = [] {})
      : device(build(config_of(units, patience))) {
    set_stall_report(*device, [this, told = std::move(on_report)](const std::string& text) {
      reports.push_back(text);
      told();
    });
  }
  static DeviceConfig config_of(std::uint32_t units, std::chrono::milliseconds patience) {
    DeviceConfig config = small_device();
    config.compute_units = units;
    config.watchdog_ms = static_cast<std::uint32_t>(patience.count());
    return config;
  }

  const std::unique_ptr<Backend> device;
  std::vector<std::string> reports;
};

TEST(Failures, AStallIsReportedOnceAndTheLaunchGoesOn) {
  const Watched watched(small_device().compute_units, 30ms);
  const Host host(*watched.device, {.delay = 200ms});
  const auto report = run(*watched.device, 1, 1, [] { ask(1); });
  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_EQ(watched.reports.size(), 1u);
  EXPECT_EQ(watched.reports[0],
            "k2k: kernel 'test' has made no progress for 30 ms: group 0 item 0 waits for call 0 "
            "(read), slot 0/0 state ready");
}

TEST(Failures, WorkItemsThatOnlyYieldAreAStall) {
  std::atomic<bool> over{false};
  const Watched watched(1, 30ms, [&] { over = true; });
  const Instant begin = now();
  const auto report = run(*watched.device, 1, 2, [&] {
    while (!over && now() - begin < 5s) platform::yield();
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_EQ(watched.reports.size(), 1u);
  EXPECT_EQ(
      watched.reports[0],
      "k2k: kernel 'test' has made no progress for 30 ms: group 0 item 0 yields, group 0 item "
      "1 yields");
}

TEST(Failures, WorkItemsThatWaitForTheHostAreNamedBeforeYieldingOnes) {
  const Watched watched(1, 30ms);
  const Host host(*watched.device, {.delay = 300ms});
  std::atomic<bool> answered{false};
  const auto report = run(*watched.device, 1, 16, [&] {
    if (platform::current().rank == 15) {
      ask(1);
      answered = true;
    }
    while (!answered) platform::yield();
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_EQ(watched.reports.size(), 1u);
  EXPECT_NE(
      watched.reports[0].find("30 ms: group 0 item 15 waits for call 0 (read), slot 0/15 state "
                              "ready, group 0 item 0 yields, "),
      std::string::npos)
      << watched.reports[0];
}

TEST(Failures, AnsweredCallsAreProgressThoughOtherWorkItemsYield) {
  const Watched watched(1, 200ms);
  const Host host(*watched.device, {.delay = 10ms});
  std::atomic<bool> answered{false};
  const auto report = run(*watched.device, 1, 2, [&] {
    if (platform::current().rank == 1) {
      for (int call = 0; call < 40; ++call) ask(1);
      answered = true;
    }
    while (!answered) platform::yield();
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(watched.reports.empty()) << watched.reports[0];
}

// Writes `bytes` of stack; frames below belong to other data by then.
__attribute__((noinline)) void use_stack(std::size_t bytes, bool yields) {
  volatile char deep[24 * 1024];
  for (std::size_t index = 0; index < bytes; ++index) deep[sizeof(deep) - 1 - index] = 1;
  if (yields) platform::yield();
  deep[0] = deep[sizeof(deep) - 1];
}

TEST(Failures, AStackOverflowIsNamedAtTheSwitchAndAtTheEnd) {
  if (race_checked) GTEST_SKIP() << "ThreadSanitizer finds the guard page its own way";
  for (const bool yields : {true, false}) {
    EXPECT_DEATH(
        {
          DeviceConfig config = small_device();
          config.stack_bytes = 16 * 1024;
          const auto device = build(config);
          (void)run(*device, 1, 1, [&] { use_stack(24 * 1024, yields); });
        },
        guard_pages ? ""
                    : "work-item 0 of group 0 overflowed its stack of 16 KiB; raise "
                      "device.stack_bytes");
  }
}

}  // namespace
}  // namespace k2k::backend::cpu
