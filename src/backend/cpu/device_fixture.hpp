#pragma once
// For the tests of the cpu backend: kernels as lambdas, and a host that answers slots by reading
// the area itself. No server module, because these tests cover only the device's half.
//
// Threading: Host has one thread; the rest is the test's.

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "backend/cpu/cpu.hpp"
#include "base/bits.hpp"
#include "device/platform/cpu.hpp"
#include "protocol/claim.hpp"

namespace k2k::backend::cpu {

namespace platform = device::platform;

// ThreadSanitizer's fibres cost 0.7 ms each: tests stay small under it.
#if defined(K2K_TSAN)
inline constexpr bool race_checked = true;
#else
inline constexpr bool race_checked = false;
#endif

inline DeviceConfig small_device() {
  DeviceConfig config;
  config.compute_units = 2;
  config.resident_waves = 4;
  config.resident_groups = 4;
  config.arena_blocks = 4;
  config.ring_entries = 64;
  config.spin_us = 20;
  return config;
}

inline std::unique_ptr<Backend> build(const DeviceConfig& config) {
  Result<std::unique_ptr<Backend>> device = create(config);
  K2K_EXPECT(device.ok());
  return std::move(device).value();
}

template <class Body>
Result<LaunchReport> run(Backend& device, std::uint32_t groups, std::uint32_t items,
                         const Body& body) {
  KernelImage kernel;
  kernel.entry = [](const void* closure) { (*static_cast<const Body*>(closure))(); };
  kernel.closure = &body;
  kernel.name = "test";
  return device.launch(kernel, {groups, items});
}

// Claims a slot, submits call `number` with one argument, and returns the slot's place.
inline protocol::Place submit(std::uint64_t argument, std::uint16_t number = 0,
                              std::uint8_t flags = 0) {
  const platform::Item& me = platform::current();
  const protocol::AreaView& area = *me.area;
  protocol::Place place{me.wave, me.lane};
  while (!protocol::try_claim_one(area, place)) platform::yield();
  protocol::Slot& slot = area.slot(place.wave, place.lane);
  slot.arguments[0] = argument;
  slot.attributes = pack(protocol::Attributes{protocol::Scope::work_item, flags, 0, 0});
  protocol::move<protocol::SlotState::populating, protocol::SlotState::ready,
                 protocol::Side::device>(slot, number);
  const protocol::DoorbellRing& ring = area.ring_of(place.wave);
  const std::uint64_t ticket = protocol::take_ticket(ring);
  while (!protocol::may_ring(ring, ticket)) platform::yield();
  protocol::ring(ring, ticket, place.wave, std::uint64_t{1} << place.lane);
  platform::interrupt();
  return place;
}

// Waits for the answer and releases the slot; returns ~0 if the runtime closed.
inline std::uint64_t redeem(protocol::Place place, platform::Wait how = platform::Wait::polling) {
  const protocol::AreaView& area = *platform::current().area;
  protocol::Slot& slot = area.slot(place.wave, place.lane);
  platform::wait(slot, how);
  if (observe(slot).state != protocol::SlotState::finished) return ~std::uint64_t{0};
  const std::uint64_t answer = slot.arguments[0];
  protocol::move<protocol::SlotState::finished, protocol::SlotState::free, protocol::Side::device>(
      slot);
  protocol::unlock(area, place.wave, std::uint64_t{1} << place.lane);
  return answer;
}

inline std::uint64_t ask(std::uint64_t argument, platform::Wait how = platform::Wait::polling) {
  return redeem(submit(argument, 0, how == platform::Wait::halted ? protocol::flag::halted : 0),
                how);
}

// Answers every request with its argument plus one. `batch` requests at a time, once that many are
// outstanding; with `delay`, after a sleep.
class Host {
 public:
  struct Options {
    std::size_t batch = 1;
    Nanoseconds delay{};
    bool parks = false;  // Sleeps in wait_doorbell() instead of polling.
  };
  Host(Backend& device, Options options) : device_(device), options_(options) {
    thread_ = std::thread([this] { serve(); });
  }
  explicit Host(Backend& device) : Host(device, Options{}) {}
  ~Host() {
    stop_.store(true);
    device_.wake_server();
    thread_.join();
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  [[nodiscard]] std::uint64_t served() const { return served_.load(); }

 private:
  void serve() {
    const protocol::AreaView& area = device_.area();
    std::vector<protocol::RingConsumer> rings;
    for (std::uint32_t ring = 0; ring < area.ring_count; ++ring) {
      rings.emplace_back(area.rings[ring]);
    }
    std::vector<protocol::Doorbell> waiting;
    std::vector<std::uint64_t> positions(area.ring_count);
    while (!stop_.load()) {
      for (std::uint32_t ring = 0; ring < area.ring_count; ++ring) {
        protocol::Doorbell doorbell{};
        while (rings[ring].poll(doorbell)) waiting.push_back(doorbell);
        rings[ring].publish();
        positions[ring] = rings[ring].position();
      }
      if (waiting.size() >= options_.batch) {
        if (options_.delay.count() != 0) std::this_thread::sleep_for(options_.delay);
        for (std::size_t index = 0; index < options_.batch; ++index) answer(area, waiting[index]);
        waiting.erase(waiting.begin(),
                      waiting.begin() + static_cast<std::ptrdiff_t>(options_.batch));
      } else if (options_.parks) {
        device_.wait_doorbell(positions.data(), std::chrono::seconds(5));
      } else {
        std::this_thread::yield();
      }
    }
  }

  void answer(const protocol::AreaView& area, const protocol::Doorbell& doorbell) {
    using protocol::Side;
    using protocol::SlotState;
    for (std::uint64_t left = doorbell.lanes; left != 0; left &= left - 1) {
      protocol::Slot& slot = area.slot(doorbell.wave, lowest_bit(left));
      const protocol::Control control = observe(slot);
      protocol::move<SlotState::ready, SlotState::processing, Side::host>(slot, control.number);
      slot.arguments[0] += 1;
      served_.fetch_add(1);
      protocol::move<SlotState::processing, SlotState::finished, Side::host>(slot, control.number);
    }
    device_.resume(&doorbell.wave, 1);
  }

  Backend& device_;
  const Options options_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> served_{0};
  std::thread thread_;
};

}  // namespace k2k::backend::cpu
