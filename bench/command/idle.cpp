// How much does an idle server cost, and how fast does it respond again?
//
//   polling   requests at random times, from a device that cannot interrupt: latency, core's share
//   quiet     no kernel runs for a second: share of a core, latency of the next kernel's first call
//   waiting   a kernel runs without a request for a second: the same
//   futex     the device wakes the server: latency beside a bare futex wake between two threads
//   nap       the CPU time of a sleep of 80 us and of 1.3 ms that does nothing else: the floor of
//             periodic polling on this machine (a timer is cheap on bare metal, expensive in a
//             virtual machine)

#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <system_error>
#include <thread>

#include "base/clock.hpp"
#include "bench/command/bench.hpp"
#include "bench/command/goal.hpp"
#include "device/k2k.hpp"

namespace k2k::bench {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t random_calls = 6'000;
constexpr double think_mean_us = 1'000;
constexpr std::size_t futex_calls = 2'000;
constexpr int quiet_rounds = 7;

// Exponential, so that arrivals are a Poisson process; from a fixed seed.
std::vector<std::uint64_t> think_times(std::size_t count, double mean_us, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> think(1 / mean_us);
  std::vector<std::uint64_t> cycles(count);
  for (std::uint64_t& time : cycles) {
    time = static_cast<std::uint64_t>(think(random) * 1'000 / nanoseconds_per_cycle());
  }
  return cycles;
}

struct IdleCost {
  Samples microseconds;
  double cpu_share = 0;  // Of one core.
};

// One work-item pauses, calls, pauses. The pauses keep the device awake.
Result<IdleCost> ask(Runtime& runtime, const std::vector<std::uint64_t>& thinks) {
  std::vector<double> latencies(thinks.size());
  double* const latency = latencies.data();
  const std::uint64_t* const think = thinks.data();
  const std::size_t count = thinks.size();
  const double scale = nanoseconds_per_cycle() / 1'000;
  bool failed = false;
  bool* const failure = &failed;
  const auto kernel = [=] {
    for (std::size_t call = 0; call < count; ++call) {
      const std::uint64_t until = cycles() + think[call];
      while (cycles() < until) {
      }
      const std::uint64_t start = cycles();
      if (k2k::nop(k2k::work_item) != 0) *failure = true;
      latency[call] = static_cast<double>(cycles() - start) * scale;
    }
  };
  const double before = runtime.stats().thread_seconds;
  auto report = runtime.launch({.groups = 1, .group_items = 1}, kernel, "bench idle");
  if (!report) return report.error();
  if (failed) return Error{EIO, "a no-op was answered with an error"};
  IdleCost measured;
  measured.microseconds.add(latencies);
  measured.cpu_share = (runtime.stats().thread_seconds - before) * 1e9 /
                       static_cast<double>(report.value().elapsed.count());
  return measured;
}

void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) {
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation | FUTEX_PRIVATE_FLAG,
            value, nullptr, nullptr, 0);
}

// Another thread sleeps on a word; this thread writes the word, wakes the other, and spins for its
// answer.
Result<Samples> bare_futex(const std::vector<std::uint64_t>& thinks) {
  std::atomic<std::uint32_t> asked{0};
  std::atomic<std::uint32_t> answered{0};
  Samples microseconds;
  const auto count = static_cast<std::uint32_t>(thinks.size());
  try {
    std::thread answerer([&] {
      for (std::uint32_t call = 1; call <= count; ++call) {
        while (asked.load() != call) futex(asked, FUTEX_WAIT, call - 1);
        answered.store(call);
      }
    });
    for (std::uint32_t call = 1; call <= count; ++call) {
      const std::uint64_t until = cycles() + thinks[call - 1];
      while (cycles() < until) {
      }
      const std::uint64_t start = cycles();
      asked.store(call);
      futex(asked, FUTEX_WAKE, 1);
      while (answered.load() != call) {
      }
      microseconds.add(static_cast<double>(cycles() - start) * nanoseconds_per_cycle() / 1'000);
    }
    answerer.join();
  } catch (const std::system_error& failure) {
    return Error{EAGAIN, std::string("no second thread for the bare futex: ") + failure.what()};
  }
  return microseconds;
}

struct Quiet {
  Samples shares;
  Samples firsts;  // Microseconds.

  [[nodiscard]] nlohmann::ordered_json json() const {
    return {{"cpu_share", rounded(shares.median())},
            {"first_us", rounded(firsts.median())},
            {"first_max_us", rounded(firsts.quantile(1))}};
  }
};

Status without_kernel(Runtime& runtime, Quiet& quiet) {
  for (int round = 0; round < quiet_rounds; ++round) {
    const Instant begin = now();
    const double before = runtime.stats().thread_seconds;
    std::this_thread::sleep_for(1s);
    const double used = runtime.stats().thread_seconds - before;
    quiet.shares.add(used * 1e9 / static_cast<double>((now() - begin).count()));
    auto first = ask(runtime, {0});
    if (!first) return first.error();
    quiet.firsts.add(first->microseconds.median());
  }
  return {};
}

Status with_kernel(Runtime& runtime, Quiet& quiet) {
  for (int round = 0; round < quiet_rounds; ++round) {
    auto one = ask(runtime, {static_cast<std::uint64_t>(1e9 / nanoseconds_per_cycle())});
    if (!one) return one.error();
    quiet.shares.add(one->cpu_share);
    quiet.firsts.add(one->microseconds.median());
  }
  return {};
}

struct NapCost {
  double cpu_us = 0;  // Of one nap,
  double share = 0;   // and of a core that only naps.
};

NapCost nap_cost(std::chrono::microseconds length, int count) {
  prctl(PR_SET_TIMERSLACK, 1000ul, 0ul, 0ul, 0ul);  // As the service threads do.
  const Instant begin = now();
  const Nanoseconds before = thread_time();
  for (int nap = 0; nap < count; ++nap) std::this_thread::sleep_for(length);
  const double spent = static_cast<double>((thread_time() - before).count());
  const double elapsed = static_cast<double>((now() - begin).count());
  prctl(PR_SET_TIMERSLACK, 0ul, 0ul, 0ul, 0ul);  // The default again.
  return {spent / 1'000 / count, spent / elapsed};
}

}  // namespace

Result<nlohmann::ordered_json> idle(const RuntimeConfig& base) {
  RuntimeConfig config = base;
  config.device.compute_units = 1;
  config.device.spin_us = 1'000'000;  // So that the device itself does not sleep.
  config.server.notify = server::Notify::polling;
  auto polling = Runtime::create(config);
  if (!polling) return polling.error();
  auto asked = ask(polling.value(), think_times(random_calls, think_mean_us, 1));
  if (!asked) return asked.error();
  Quiet quiet;
  Quiet waiting;
  if (Status status = without_kernel(polling.value(), quiet); !status) return status.error();
  if (Status status = with_kernel(polling.value(), waiting); !status) return status.error();

  config.server.notify = server::Notify::interrupt;
  config.server.spin_us = 0;
  auto woken = Runtime::create(config);
  if (!woken) return woken.error();
  Samples futexes;
  Samples bare;
  std::vector<double> ratios;
  for (std::uint64_t round = 0; round < 3; ++round) {
    const auto thinks = think_times(futex_calls, think_mean_us / 4, round);
    auto theirs = bare_futex(thinks);
    if (!theirs) return theirs.error();
    bare.add(theirs->median());
    auto ours = ask(woken.value(), thinks);
    if (!ours) return ours.error();
    futexes.add(ours->microseconds.median());
    ratios.push_back(ours->microseconds.median() / theirs->median());
  }

  const Samples& latency = asked->microseconds;
  nlohmann::ordered_json result;
  result["polling"] = {{"p50_us", rounded(latency.median())},
                       {"p99_us", rounded(latency.quantile(0.99))},
                       {"cpu_share", rounded(asked->cpu_share)}};
  result["quiet"] = quiet.json();
  result["waiting"] = waiting.json();
  result["futex"] = {{"p50_us", rounded(futexes.median())},
                     {"bare_p50_us", rounded(bare.median())},
                     {"ratio", rounded(futexes.median() / bare.median())}};
  // Between two requests nothing wakes the core but the poller's own naps: `share_of_80` is the
  // least share of a core of any poller that answers within 80 us in the median.
  const NapCost short_nap = nap_cost(80us, 2'000);
  result["nap"] = {{"cpu_us_of_80", rounded(short_nap.cpu_us)},
                   {"share_of_80", rounded(short_nap.share)},
                   {"cpu_us_of_1300", rounded(nap_cost(1'300us, 300).cpu_us)}};
  result["on_this_machine"] = {
      unjudged_row(Goal("idle", "polling, p50 in us"), latency.median()),
      unjudged_row(Goal("idle", "polling, share of a core"), asked->cpu_share),
      unjudged_row(Goal("idle", "quiet, share of a core"), quiet.shares.median()),
      unjudged_row(Goal("idle", "quiet, first call in us"), quiet.firsts.median())};
  result["goals"] = {goal_row({"idle", "futex / bare"}, ratios)};
  return result;
}

}  // namespace k2k::bench
