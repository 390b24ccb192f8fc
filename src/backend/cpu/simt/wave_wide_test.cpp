// Goal: a wave that calls together gets one row for all its lanes, or each lane a slot of its own,
// whether its leader claims for all, as on this backend, or each lane for itself, as on a GPU
// (device/submit.hpp). Method: both ways as fibres here, where the race checker sees them.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "backend/cpu/device_fixture.hpp"
#include "device/submit.hpp"

namespace k2k::backend::cpu {
namespace {

using namespace std::chrono_literals;
using protocol::Side;
using protocol::SlotState;

// Answers all ready requests, with and without a doorbell: a cancelled wave may leave both kinds.
class ScanningHost {
 public:
  explicit ScanningHost(const protocol::AreaView& area) : thread_([this, &area] { serve(area); }) {}
  ~ScanningHost() {
    stop_ = true;
    thread_.join();
  }
  ScanningHost(const ScanningHost&) = delete;
  ScanningHost& operator=(const ScanningHost&) = delete;

 private:
  void serve(const protocol::AreaView& area) {
    std::vector<protocol::RingConsumer> rings(area.rings, area.rings + area.ring_count);
    while (!stop_) {
      protocol::Doorbell doorbell{};
      for (protocol::RingConsumer& ring : rings) {
        while (ring.poll(doorbell) || ring.skip_hole()) ring.publish();
      }
      for (std::uint32_t slot = 0; slot < area.wave_count * area.wave_lanes; ++slot) {
        if (observe(area.slots[slot]).state == SlotState::ready) answer(area.slots[slot]);
      }
      std::this_thread::yield();
    }
  }

  static void answer(protocol::Slot& slot) {
    protocol::move<SlotState::ready, SlotState::processing, Side::host>(slot);
    const std::uint8_t flags = protocol::unpack_attributes(slot.attributes).flags;
    if ((flags & protocol::flag::detached) != 0) {  // The sweep turned a claim into this call.
      protocol::move<SlotState::processing, SlotState::free, Side::host>(slot);
    } else {
      protocol::move<SlotState::processing, SlotState::finished, Side::host>(slot);
    }
  }

  std::atomic<bool> stop_{false};
  std::thread thread_;
};

template <class SideBySide>
class WaveWide : public testing::Test {
 protected:
  static device::Handle submit_together(std::uint64_t argument) {
    using Chosen = std::remove_const_t<decltype(wave_wide)>;
    return device::submit<k2k::WorkItem, Chosen, SideBySide::value>(0, device::Words{{argument}});
  }
  static long ask_together(std::uint64_t argument) {
    const protocol::AreaView& area = *platform::current().area;
    return device::finish(area, submit_together(argument), platform::Wait::polling).value();
  }
  static void expect_unlocked(const Backend& device) {
    for (std::uint32_t wave = 0; wave < device.area().wave_count; ++wave) {
      EXPECT_EQ(device.area().locks[wave], 0u);
    }
  }
};

struct NameOfWay {
  template <class SideBySide>
  static std::string GetName(int) {
    return SideBySide::value ? "side_by_side" : "by_leader";
  }
};
using Ways = testing::Types<std::false_type, std::true_type>;
TYPED_TEST_SUITE(WaveWide, Ways, NameOfWay);

TYPED_TEST(WaveWide, leaves_a_row_alone_of_which_the_host_has_a_slot) {
  DeviceConfig config = small_device();
  config.compute_units = 1;
  const auto device = build(config);
  protocol::Slot& held = device->area().slot(0, 3);  // A detached call: its lock was given up.
  protocol::move<SlotState::free, SlotState::populating, Side::device>(held);
  protocol::move<SlotState::populating, SlotState::ready, Side::device>(held);
  protocol::move<SlotState::ready, SlotState::processing, Side::host>(held);

  std::array<device::Handle, 32> handles;
  const Host host(*device);
  const auto report = run(*device, 1, 32, [&] {
    const platform::Item& me = platform::current();
    const device::Handle handle = TestFixture::submit_together(1);
    handles[me.rank] = handle;
    device::finish(*me.area, handle, platform::Wait::polling);
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  for (std::uint32_t lane = 0; lane < handles.size(); ++lane) {
    EXPECT_TRUE(handles[lane].live());
    EXPECT_EQ(handles[lane].place.wave, 1u);
    EXPECT_EQ(handles[lane].place.lane, lane);
    EXPECT_EQ(handles[lane].generation, 1u);
  }
  TestFixture::expect_unlocked(*device);
  EXPECT_EQ(device->area().slot(0, 0).generation, 0u) << "no call used the slot";
}

// Tickets hold slots of all rows: some waves find a row, others call lane by lane.
TYPED_TEST(WaveWide, gives_each_lane_its_own_answer_among_slots_that_are_taken) {
  const auto device = build(small_device());
  const Host host(*device);
  std::atomic<int> wrong{0};
  constexpr std::uint32_t groups = race_checked ? 8 : 64;
  const auto report = run(*device, groups, 32, [&] {
    const platform::Item& me = platform::current();
    for (std::uint64_t call = 0; call < 4; ++call) {
      const bool holds = (me.rank + me.group) % 16 == call;
      const protocol::Place ticket =
          holds ? submit(me.rank, 0, protocol::flag::async) : protocol::Place{};
      const std::uint64_t asked = me.group * 1000 + me.rank + call;
      if (TestFixture::ask_together(asked) != static_cast<long>(asked + 1)) ++wrong;
      if (holds && redeem(ticket) != me.rank + 1) ++wrong;
    }
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(wrong, 0);
  TestFixture::expect_unlocked(*device);
}

TYPED_TEST(WaveWide, leaves_no_lock_behind_when_the_launch_is_cancelled) {
  const auto device = build(small_device());
  const ScanningHost host(device->area());
  for (int launch = 0; launch < 5; ++launch) {
    std::atomic<bool> ended{false};
    std::thread canceller([&] {
      while (!ended) {  // A cancel before the launch has no effect.
        std::this_thread::sleep_for(10ms);
        device->cancel();
      }
    });
    const auto report = run(*device, 8, 32, [] {
      while (true) TestFixture::ask_together(1);
    });
    ended = true;
    canceller.join();
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().code, ECANCELED);
    TestFixture::expect_unlocked(*device);
  }
}

}  // namespace
}  // namespace k2k::backend::cpu
