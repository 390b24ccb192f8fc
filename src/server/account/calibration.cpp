#include "server/account/calibration.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/found_once.hpp"

namespace k2k::server {

namespace {

using namespace std::chrono_literals;

constexpr int rounds = 64;
constexpr Nanoseconds pause_between = 50us;  // Long enough for the other thread to fall asleep.
// A shorter time is no system call: on a busy machine the other thread was not asleep yet.
constexpr Nanoseconds wake_least = 100ns;
constexpr std::size_t wakes_least = 8;

Nanoseconds nanoseconds_of(std::uint64_t spent) {
  return Nanoseconds(
      static_cast<std::int64_t>(static_cast<double>(spent) * nanoseconds_per_cycle()));
}

std::uint64_t median(std::vector<std::uint64_t>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// One thread sleeps, this one wakes it.
void measure_wake(governor::Costs& costs) {
  std::atomic<int> turn{0};
  Nanoseconds used{};
  std::thread sleeper([&] {
    const Nanoseconds before = thread_time();
    for (int round = 0; round < rounds; ++round) turn.wait(round);
    used = thread_time() - before;
  });
  std::vector<std::uint64_t> wakes;
  for (int round = 0; round < rounds; ++round) {
    std::this_thread::sleep_for(pause_between);
    turn.store(round + 1);
    const std::uint64_t begin = cycles();
    turn.notify_one();
    const std::uint64_t spent = cycles() - begin;
    if (nanoseconds_of(spent) >= wake_least) wakes.push_back(spent);
  }
  sleeper.join();
  if (wakes.size() >= wakes_least) costs.interrupt = nanoseconds_of(median(wakes));
  costs.wake = used / rounds;
}

void measure_sleep(governor::Costs& costs) {
  const Nanoseconds before = thread_time();
  for (int round = 0; round < rounds; ++round) std::this_thread::sleep_for(pause_between);
  costs.sleep = costs.tick = (thread_time() - before) / rounds;
}

governor::Costs measure() {
  governor::Costs costs;
  try {
    measure_wake(costs);
  } catch (const std::system_error&) {
    return costs;  // No thread could start: the papers' figures.
  }
  measure_sleep(costs);
  return costs;
}

}  // namespace

const governor::Costs& calibrated_costs() {
  static constinit FoundOnce<governor::Costs> costs;
  return costs.get(measure);
}

}  // namespace k2k::server
