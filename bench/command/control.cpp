// How much does a control socket cost a runtime while it receives no request?
//
//   create, end   a runtime of the configured size begins and ends: with and without, interleaved
//   idle          no kernel runs: CPU time of the whole process in a second, and of the socket's
//                 thread
//   call          the round trip of a no-op: with and without

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/clock.hpp"
#include "bench/command/bench.hpp"
#include "device/k2k.hpp"

namespace k2k::bench {

namespace {

using namespace std::chrono_literals;

constexpr int control_rounds = 60;
constexpr int idle_rounds = 4;
constexpr std::size_t calls = 20'000;

struct Costs {
  Samples create_us;
  Samples end_us;
  Samples idle_us;         // CPU time in a second.
  Samples thread_idle_us;  // CPU time of the socket's thread.
  Samples call_ns;
};

double process_us() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

double us_since(Instant moment) { return static_cast<double>((now() - moment).count()) / 1e3; }

Status begin_and_end(const RuntimeConfig& config, Costs& costs) {
  const Instant begun = now();
  Instant ends;
  {
    auto runtime = Runtime::create(config);
    if (!runtime) return runtime.error();
    costs.create_us.add(us_since(begun));
    ends = now();
  }
  costs.end_us.add(us_since(ends));
  return {};
}

Status rest(const RuntimeConfig& config, Costs& costs) {
  auto runtime = Runtime::create(config);
  if (!runtime) return runtime.error();
  std::this_thread::sleep_for(200ms);  // Until the runtime sleeps.
  const double thread_before = runtime->stats().control.cpu_seconds;
  const double before = process_us();
  const Instant begun = now();
  std::this_thread::sleep_for(1s);
  const double seconds = us_since(begun) / 1e6;
  costs.idle_us.add((process_us() - before) / seconds);
  costs.thread_idle_us.add((runtime->stats().control.cpu_seconds - thread_before) * 1e6 / seconds);
  return {};
}

Status call(const RuntimeConfig& config, Costs& costs) {
  auto runtime = Runtime::create(config);
  if (!runtime) return runtime.error();
  std::vector<double> taken(calls);
  double* const each = taken.data();
  auto report = runtime->launch(
      {.groups = 1, .group_items = 1},
      [=] {
        for (std::size_t index = 0; index < calls; ++index) {
          const std::uint64_t start = cycles();
          static_cast<void>(k2k::nop(k2k::work_item));
          each[index] = static_cast<double>(cycles() - start);
        }
      },
      "bench control");
  if (!report) return report.error();
  const auto middle = taken.begin() + calls / 2;
  std::nth_element(taken.begin(), middle, taken.end());
  costs.call_ns.add(*middle * nanoseconds_per_cycle());
  return {};
}

nlohmann::ordered_json beside(const Samples& with, const Samples& without) {
  return {{"with", rounded(with.median())},
          {"without", rounded(without.median())},
          {"ratio", rounded(with.median() / without.median())}};
}

}  // namespace

Result<nlohmann::ordered_json> control_socket(const RuntimeConfig& base) {
  Costs costs[2];
  const auto each = [&](int count, Status (*measure)(const RuntimeConfig&, Costs&)) -> Status {
    for (int round = 0; round < 2 * count; ++round) {
      // With, without, without, with: a drift of the machine affects both alike.
      const bool socket = round % 4 == 0 || round % 4 == 3;
      RuntimeConfig config = base;
      config.control.socket = socket;
      if (Status status = measure(config, costs[socket ? 1 : 0]); !status) return status;
    }
    return {};
  };
  if (Status status = each(control_rounds, begin_and_end); !status) return status.error();
  if (Status status = each(idle_rounds, rest); !status) return status.error();
  if (Status status = each(control_rounds / 6, call); !status) return status.error();
  const Costs& with = costs[1];
  const Costs& without = costs[0];
  nlohmann::ordered_json result;
  result["create_us"] = beside(with.create_us, without.create_us);
  result["end_us"] = beside(with.end_us, without.end_us);
  result["idle_us_a_second"] = beside(with.idle_us, without.idle_us);
  result["thread_idle_us_a_second"] = rounded(with.thread_idle_us.quantile(1));
  result["call_ns"] = beside(with.call_ns, without.call_ns);
  return result;
}

}  // namespace k2k::bench
