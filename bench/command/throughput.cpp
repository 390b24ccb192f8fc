// How many calls a second pass through the protocol alone, and how many through the executor?
//
//   single     a plain client on one thread, no fibres: sixteen lanes in flight, a doorbell each
//   wave       the same with whole waves of 32 lanes, a doorbell per wave
//   executor   the same no-ops made by work-items of the cpu backend
//   floor      as many cache lines written, handed over and read back, in batches like the waves:
//              the memory's part of a whole wave
//
// Rates are information: they differ from machine to machine. The goals are ratios of a round's
// rates, waves beside the floor and executor beside single. The server spins on another core.

#include <algorithm>
#include <cerrno>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/bits.hpp"
#include "base/cache_line.hpp"
#include "base/clock.hpp"
#include "bench/command/bench.hpp"
#include "bench/command/goal.hpp"
#include "bench/command/wait_until.hpp"
#include "calls/rows.hpp"
#include "device/k2k.hpp"
#include "protocol/claim.hpp"

namespace k2k::bench {

namespace {

constexpr int throughput_rounds = 7;
constexpr std::uint32_t lanes_in_flight = 16;
constexpr std::uint32_t wave_lanes = 32;
constexpr std::uint32_t waves_in_flight = 16;
constexpr std::uint64_t single_calls = 1'000'000;
constexpr std::uint64_t wave_calls = 16'000'000;
constexpr std::uint64_t executor_calls = 1'000'000;
constexpr std::uint64_t lanes_of_a_wave = (std::uint64_t{1} << wave_lanes) - 1;

double millions_a_second(std::uint64_t calls, Instant begin) {
  return static_cast<double>(calls) * 1'000 / static_cast<double>((now() - begin).count());
}

// Makes no-ops with the protocol alone, as the device's only thread.
class PlainClient {
 public:
  explicit PlainClient(const protocol::AreaView& area) : area_(area) {}

  // Claims, fills, publishes and rings. Returns false if the lanes are not free.
  bool submit(std::uint32_t wave, std::uint64_t lanes) const {
    if (!protocol::try_claim(area_, wave, lanes)) return false;
    for (std::uint64_t left = lanes; left != 0; left &= left - 1) {
      protocol::Slot& slot = slot_of(wave, left);
      slot.attributes = pack(protocol::Attributes{});
      slot.stamp = 0;
      protocol::move<protocol::SlotState::populating, protocol::SlotState::ready,
                     protocol::Side::device>(slot, calls::nop_number);
    }
    const protocol::DoorbellRing& ring = area_.ring_of(wave);
    const std::uint64_t ticket = protocol::take_ticket(ring);
    wait_until([&] { return protocol::may_ring(ring, ticket); });
    protocol::ring(ring, ticket, wave, lanes);  // The server spins, so no thread needs a wake-up.
    return true;
  }

  // Waits for the answers and releases the slots. Returns false if a no-op was answered with an
  // error.
  [[nodiscard]] bool finish(std::uint32_t wave, std::uint64_t lanes) const {
    // Answers come in order. After the last answer, all lines can be transferred at once, with
    // ownership, because they will be written.
    if ((lanes & (lanes - 1)) != 0) {
      const protocol::Slot& last = area_.slot(wave, wave_lanes - 1);
      wait_for(last);
      for (std::uint64_t left = lanes; left != 0; left &= left - 1) {
        prefetch_to_write(&slot_of(wave, left));
      }
    }
    std::uint64_t failed = 0;
    for (std::uint64_t left = lanes; left != 0; left &= left - 1) {
      protocol::Slot& slot = slot_of(wave, left);
      wait_for(slot);
      failed |= slot.arguments[0];
      protocol::move<protocol::SlotState::finished, protocol::SlotState::free,
                     protocol::Side::device>(slot);
    }
    protocol::unlock(area_, wave, lanes);
    return failed == 0;
  }

 private:
  static void wait_for(const protocol::Slot& slot) {
    wait_until([&] { return observe(slot).state == protocol::SlotState::finished; });
  }
  protocol::Slot& slot_of(std::uint32_t wave, std::uint64_t left) const {
    return area_.slot(wave, lowest_bit(left));
  }

  const protocol::AreaView& area_;
};

Result<double> single(const protocol::AreaView& area) {
  const PlainClient client(area);
  bool good = true;
  const Instant begin = now();
  for (std::uint32_t lane = 0; lane < lanes_in_flight; ++lane) {
    good &= client.submit(0, std::uint64_t{1} << lane);
  }
  for (std::uint64_t call = 0; call < single_calls; ++call) {
    const std::uint64_t lane = std::uint64_t{1} << call % lanes_in_flight;
    good &= client.finish(0, lane) && client.submit(0, lane);
  }
  for (std::uint32_t lane = 0; lane < lanes_in_flight; ++lane) {
    good &= client.finish(0, std::uint64_t{1} << lane);
  }
  if (!good) return Error{EIO, "a no-op was answered with an error, or a lane was not free"};
  return millions_a_second(single_calls, begin);
}

Result<double> whole_waves(const protocol::AreaView& area) {
  const PlainClient client(area);
  bool good = true;
  const Instant begin = now();
  for (std::uint32_t wave = 0; wave < waves_in_flight; ++wave) {
    good &= client.submit(wave, lanes_of_a_wave);
  }
  for (std::uint64_t count = 0; count < wave_calls / wave_lanes; ++count) {
    const auto wave = static_cast<std::uint32_t>(count % waves_in_flight);
    good &= client.finish(wave, lanes_of_a_wave) && client.submit(wave, lanes_of_a_wave);
  }
  for (std::uint32_t wave = 0; wave < waves_in_flight; ++wave) {
    good &= client.finish(wave, lanes_of_a_wave);
  }
  if (!good) return Error{EIO, "a no-op was answered with an error, or a wave was not free"};
  return millions_a_second(wave_calls, begin);
}

template <class Call>
Result<double> executor(Runtime& runtime, std::uint32_t items, Call call) {
  const std::uint64_t calls_of_item = executor_calls / items;
  bool failed = false;
  bool* const failure = &failed;
  const auto kernel = [=] {
    for (std::uint64_t count = 0; count < calls_of_item; ++count) {
      if (call() != 0) *failure = true;
    }
  };
  const LaunchShape shape{.groups = 1, .group_items = items};
  auto report = runtime.launch(shape, kernel, "bench throughput");
  if (!report) return report.error();
  if (failed) return Error{EIO, "a no-op was answered with an error"};
  return static_cast<double>(calls_of_item * items) * 1'000 /
         static_cast<double>(report.value().elapsed.count());
}

// Round by round.
std::vector<double> ratios(const std::vector<double>& rates, const std::vector<double>& others) {
  std::vector<double> each(rates.size());
  std::transform(rates.begin(), rates.end(), others.begin(), each.begin(), std::divides<>());
  return each;
}

// Two cores have no room for this measurement and a spinning server.
Result<double> floor_of_waves(Runtime& runtime, std::uint32_t resting_spin_us) {
  server::ServerConfig config = runtime.server_config();
  const std::uint32_t spin_us = std::exchange(config.spin_us, resting_spin_us);
  if (Status status = runtime.reconfigure(config); !status) return status.error();
  auto floor = lines_handed_over(waves_in_flight, wave_lanes, wave_calls);
  config.spin_us = spin_us;
  if (Status status = runtime.reconfigure(config); !status) return status.error();
  return floor;
}

}  // namespace

Result<nlohmann::ordered_json> throughput(const RuntimeConfig& base) {
  // On one core the floor refuses at once, and the calls before it would take minutes.
  if (auto floor = lines_handed_over(waves_in_flight, wave_lanes, 0); !floor) return floor.error();
  RuntimeConfig config = base;
  config.device.compute_units = 1;
  config.device.wave_lanes = wave_lanes;
  config.server.spin_us = 1'000'000;
  auto runtime = Runtime::create(config);
  if (!runtime) return runtime.error();
  struct Row {
    const char* key;
    std::function<Result<double>()> measure;
    std::vector<double> rounds{};  // Millions of calls a second.
  };
  const protocol::AreaView& area = runtime->area();
  Row rows[] = {
      {"single_mcalls", [&] { return single(area); }},
      {"wave_mcalls", [&] { return whole_waves(area); }},
      {"wave_floor_mcalls", [&] { return floor_of_waves(runtime.value(), base.server.spin_us); }},
      {"executor_mcalls",
       [&] {
         return executor(runtime.value(), lanes_in_flight,
                         [] { return static_cast<long>(k2k::nop(k2k::work_item)); });
       }},
      {"executor_wave_mcalls",
       [&] {
         return executor(runtime.value(), wave_lanes * waves_in_flight, [] {
           return static_cast<long>(k2k::nop(k2k::work_item, k2k::wave_wide));
         });
       }},
  };
  for (int round = 0; round < throughput_rounds; ++round) {
    for (Row& row : rows) {
      auto measured = row.measure();
      if (!measured) return measured.error();
      row.rounds.push_back(measured.value());
    }
  }
  nlohmann::ordered_json result;
  for (Row& row : rows) result[row.key] = rounded(Samples(row.rounds).median());
  const auto& [single_row, wave, wave_floor, executor_row, executor_wave] = rows;
  result["goals"] = {goal_row({"throughput", "whole waves / lines handed over"},
                              ratios(wave.rounds, wave_floor.rounds)),
                     goal_row({"throughput", "executor / single"},
                              ratios(executor_row.rounds, single_row.rounds))};
  return result;
}

}  // namespace k2k::bench
