#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "backend/cpu/device_fixture.hpp"

namespace k2k::backend::cpu {
namespace {

constexpr Schedule schedules[] = {Schedule::round_robin, Schedule::random, Schedule::adversarial};

class EverySchedule : public testing::TestWithParam<Schedule> {
 protected:
  static std::unique_ptr<Backend> device() {
    DeviceConfig config = small_device();
    config.schedule = GetParam();
    return build(config);
  }
};
std::string schedule_name(const testing::TestParamInfo<Schedule>& chosen) {
  if (chosen.param == Schedule::round_robin) return "round_robin";
  return chosen.param == Schedule::random ? "random" : "adversarial";
}
INSTANTIATE_TEST_SUITE_P(Cpu, EverySchedule, testing::ValuesIn(schedules), schedule_name);

TEST_P(EverySchedule, ABarrierShowsEveryWriteOfTheGroup) {
  const auto device = EverySchedule::device();
  int data[2][64] = {};
  std::atomic<int> wrong{0};
  const auto report = run(*device, 2, 64, [&] {
    const platform::Item& me = platform::current();
    int* const mine = data[me.group];
    for (int round = 1; round <= 20; ++round) {
      mine[me.rank] = round;
      platform::barrier();
      if (mine[(me.rank + 13) % 64] != round) ++wrong;
      platform::barrier();
    }
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(wrong, 0);
}

TEST_P(EverySchedule, ABallotCollectsThePredicatesOfItsWave) {
  const auto device = EverySchedule::device();
  std::atomic<int> wrong{0};
  const auto report = run(*device, 1, 48, [&] {
    const platform::Item& me = platform::current();
    const std::uint64_t all = me.rank < 32 ? 0xffffffffu : 0xffffu;
    if (me.wave_members != all) ++wrong;
    for (int round = 0; round < 10; ++round) {
      if (platform::ballot(me.lane % 2 == 1) != (all & 0xaaaaaaaau)) ++wrong;
      if (platform::ballot(true) != all) ++wrong;
    }
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(wrong, 0);
}

TEST_P(EverySchedule, AShuffleReadsTheNamedLane) {
  const auto device = EverySchedule::device();
  std::atomic<int> wrong{0};
  const auto report = run(*device, 1, 40, [&] {
    const platform::Item& me = platform::current();
    for (std::uint32_t round = 0; round < 10; ++round) {
      if (platform::shuffle(100 + me.rank + round, 3) != 103 + me.rank / 32 * 32 + round) ++wrong;
      const std::uint64_t from_31 = platform::shuffle(7, 31);  // The second wave has 8 lanes.
      if (from_31 != (me.rank < 32 ? 7u : 0u)) ++wrong;
    }
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(wrong, 0);
}

TEST_P(EverySchedule, WorkItemsThatReturnEarlyDelayNoOther) {
  const auto device = EverySchedule::device();
  std::atomic<int> reached{0};
  std::atomic<std::uint64_t> last_ballot{0};
  const auto report = run(*device, 3, 32, [&] {
    const platform::Item& me = platform::current();
    if (me.rank % 4 == 0) return;
    platform::barrier();
    if (me.rank % 4 == 1) return;
    platform::barrier();
    last_ballot = platform::ballot(true);
    ++reached;
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(reached, 3 * 16);
}

TEST_P(EverySchedule, AWorkItemMaySpinOnItsPeer) {
  const auto device = EverySchedule::device();
  std::atomic<std::uint32_t> flag{0};
  const auto report = run(*device, 1, 8, [&] {
    const platform::Item& me = platform::current();
    if (me.rank == 3) {
      for (int turn = 0; turn < 5; ++turn) platform::yield();
      flag.store(1, std::memory_order_release);
    } else {
      while (flag.load(std::memory_order_acquire) == 0) platform::yield();
    }
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
}

TEST_P(EverySchedule, ManyMoreGroupsThanFitAllRun) {
  const auto device = EverySchedule::device();
  constexpr std::uint32_t groups = race_checked ? 40 : 1000;
  std::vector<std::atomic<int>> runs(groups);
  const auto report = run(*device, groups, 32, [&] {
    const platform::Item& me = platform::current();
    platform::barrier();
    if (me.rank == 0) runs[me.group].fetch_add(1);
    platform::barrier();
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  for (const auto& count : runs) EXPECT_EQ(count, 1);
}

TEST(LocalMemory, IsTheSamePerGroupAndZeroedForTheNext) {
  const auto device = build(small_device());
  static const char first = 0;
  static const char second = 0;
  std::atomic<int> wrong{0};
  const auto report = run(*device, 24, 16, [&] {
    const platform::Item& me = platform::current();
    auto* const sum = static_cast<std::atomic<std::uint32_t>*>(
        platform::local_memory(&first, sizeof(std::uint32_t), alignof(std::uint32_t)));
    auto* const table = static_cast<std::uint32_t*>(platform::local_memory(&second, 256, 64));
    if (reinterpret_cast<std::uintptr_t>(table) % 64 != 0) ++wrong;
    if (table[me.rank] != 0) ++wrong;
    table[me.rank] = me.group + 1;
    sum->fetch_add(1);
    platform::barrier();
    if (table[15 - me.rank] != me.group + 1 || sum->load() != 16) ++wrong;
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(wrong, 0);
}

TEST(LocalMemory, BeyondTheLimitIsRefusedWithBothNumbers) {
  DeviceConfig config = small_device();
  config.local_bytes = 1024;
  const auto device = build(config);
  static const char tag = 0;
  const auto report = run(*device, 4, 4, [] { platform::local_memory(&tag, 2048, 8); });
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, EINVAL);
  EXPECT_EQ(report.error().message,
            "kernel 'test': work-group needs 2048 bytes of local memory, device.local_bytes is "
            "1024");
  EXPECT_TRUE(run(*device, 4, 4, [] { platform::local_memory(&tag, 1024, 8); }).ok());
}

// The leader of a gathering doubles each lane's value, and lets other work-items run meanwhile.
const protocol::Slot* double_all(const platform::Item& me, const std::uint64_t* brought,
                                 std::uint64_t lanes) {
  if ((lanes >> me.lane & 1) == 0) return nullptr;
  platform::yield();
  for (std::uint64_t left = lanes; left != 0; left &= left - 1) {
    *reinterpret_cast<std::uint32_t*>(brought[lowest_bit(left)]) *= 2;
  }
  platform::yield();
  return nullptr;
}

TEST_P(EverySchedule, OneLaneWorksForAllThatGathered) {
  const auto device = EverySchedule::device();
  std::atomic<int> wrong{0};
  const auto report = run(*device, 2, 48, [&] {
    const std::uint32_t rank = platform::current().rank;
    for (std::uint32_t round = 0; round < 10; ++round) {
      std::uint32_t mine = rank + round;
      platform::gather(&mine, &double_all, false);
      if (mine != 2 * (rank + round)) ++wrong;
    }
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(wrong, 0);
}

TEST_P(EverySchedule, AnotherLaneLeadsOnceTheLastArrivalHasEnded) {
  const auto device = EverySchedule::device();
  std::atomic<int> wrong{0};
  const auto report = run(*device, 1, 32, [&] {
    const std::uint32_t lane = platform::current().lane;
    for (std::uint32_t round = 0; round < 32; ++round) {
      if (round == lane) {  // Ends while the others gather, or before.
        for (std::uint32_t turn = 0; turn < lane % 3; ++turn) platform::yield();
        return;
      }
      std::uint32_t mine = lane;
      platform::gather(&mine, &double_all, false);
      if (mine != 2 * lane) ++wrong;
    }
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(wrong, 0);
}

struct Question {
  std::uint64_t argument;
  protocol::Place place;
};

const protocol::Slot* ask_for_all(const platform::Item& me, const std::uint64_t* brought,
                                  std::uint64_t lanes) {
  const protocol::AreaView& area = *me.area;
  while (!protocol::try_claim(area, me.wave, lanes)) platform::yield();
  for (std::uint64_t left = lanes; left != 0; left &= left - 1) {
    const std::uint32_t lane = lowest_bit(left);
    auto& question = *reinterpret_cast<Question*>(brought[lane]);
    question.place = {me.wave, lane};
    protocol::Slot& slot = area.slot(me.wave, lane);
    slot.arguments[0] = question.argument;
    slot.attributes = pack(protocol::Attributes{});
    protocol::move<protocol::SlotState::populating, protocol::SlotState::ready,
                   protocol::Side::device>(slot, 0);
  }
  const protocol::DoorbellRing& ring = area.ring_of(me.wave);
  const std::uint64_t ticket = protocol::take_ticket(ring);
  while (!protocol::may_ring(ring, ticket)) platform::yield();
  protocol::ring(ring, ticket, me.wave, lanes);
  platform::interrupt();
  return &area.slot(me.wave, 0);
}

TEST_P(EverySchedule, LanesThatGatheredForCallsGetTheirAnswers) {
  const auto device = EverySchedule::device();
  const Host host(*device, {.batch = 1, .delay = std::chrono::microseconds(50)});
  std::atomic<int> early{0};
  std::atomic<int> wrong{0};
  const auto report = run(*device, 2, 40, [&] {
    const platform::Item& me = platform::current();
    for (std::uint64_t round = 0; round < 5; ++round) {
      Question question{me.rank * 100 + round, {}};
      platform::gather(&question, &ask_for_all, true);
      // The leader goes on as soon as all calls are published.
      const protocol::Slot& slot = me.area->slot(question.place.wave, question.place.lane);
      if (observe(slot).state != protocol::SlotState::finished) ++early;
      if (redeem(question.place) != me.rank * 100 + round + 1) ++wrong;
    }
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(early, 2 * 2 * 5);  // One lane of each of two waves a group.
}

TEST(Meetings, UnequalCallsOfOneWaveEndTheProcess) {
  EXPECT_DEATH(
      {
        const auto device = build(small_device());
        (void)run(*device, 1, 2, [] {
          if (platform::current().rank == 0) {
            platform::ballot(true);
          } else {
            platform::shuffle(1, 0);
          }
        });
      },
      "lanes of one wave meet at different calls");
}

TEST(Identity, WavesOfResidentGroupsAreUniqueAndDense) {
  DeviceConfig config = small_device();
  config.compute_units = 1;
  const auto device = build(config);
  std::atomic<std::uint32_t> highest{0};
  std::atomic<int> clashes{0};
  std::atomic<int> owner[4][32] = {};
  const auto report = run(*device, 12, 20, [&] {
    const platform::Item& me = platform::current();
    if (owner[me.wave][me.lane].exchange(1) != 0) ++clashes;
    std::uint32_t seen = highest.load();
    while (seen < me.wave && !highest.compare_exchange_weak(seen, me.wave)) {
    }
    platform::barrier();
    owner[me.wave][me.lane].store(0);
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(clashes, 0);
  EXPECT_LT(highest, 4u);
}

}  // namespace
}  // namespace k2k::backend::cpu
