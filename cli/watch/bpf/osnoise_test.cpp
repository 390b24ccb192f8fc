// Goal: the watcher finds as much time of interrupts, softirqs and other threads on a core as
// Linux' own tracer of noise does (osnoise). Skipped, with the reason, where the kernel has no such
// tracer: of Debian's kernels only those of the flavour rt do. `./dev check --only kernel-6.1` runs
// it there.

#include <gtest/gtest.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>

#include "cli/watch/bpf/readiness.hpp"
#include "cli/watch/bpf/tracer.hpp"
#include "cli/watch/steer/scheduling.hpp"

namespace k2k::watch {
namespace {

using namespace std::chrono_literals;

double monotonic_s() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

struct Noise {
  double interrupts_s = 0;
  double softirqs_s = 0;
  double threads_s = 0;
};

// "osnoise/1-961 [001] d.h. 5789.857532: irq_noise: local_timer:236 start 5789.8575 duration 1845
// ns", of one core, between two moments.
Noise noise_of(const std::string& trace, int core, double begin_s, double end_s) {
  Noise noise;
  std::istringstream lines(trace);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find("_noise: ");
    const std::size_t open = line.find('[');
    const std::size_t duration = line.rfind("duration ");
    if (at == std::string::npos || open == std::string::npos || duration == std::string::npos) {
      continue;
    }
    if (std::atoi(line.c_str() + open + 1) != core) continue;
    const std::size_t name = line.rfind(' ', at) + 1;
    const std::string kind = line.substr(name, at - name);
    const std::size_t moment = line.rfind(' ', name - 2) + 1;  // "5789.857532: " is before.
    const double when = std::atof(line.c_str() + moment);
    if (when < begin_s || when > end_s) continue;
    const double seconds = std::atof(line.c_str() + duration + 9) / 1e9;
    if (kind == "irq") noise.interrupts_s += seconds;
    if (kind == "softirq") noise.softirqs_s += seconds;
    if (kind == "thread") noise.threads_s += seconds;
  }
  return noise;
}

TEST(OsnoiseText, is_read_as_linux_writes_it) {
  const std::string text =
      "# tracer: osnoise\n"
      "       osnoise/1-961     [001] d.h.. 10.500000: irq_noise: local_timer:236 start 10.499 "
      "duration 2000000 ns\n"
      "     ksoftirqd/1-22      [001] ..... 10.600000: softirq_noise: RCU:9 start 10.599 duration "
      "1000000 ns\n"
      "     migration/1-54      [001] d.... 10.700000: thread_noise: migration/1:54 start 10.69 "
      "duration 4000000 ns\n"
      "     migration/0-53      [000] d.... 10.700000: thread_noise: migration/0:53 start 10.69 "
      "duration 5000000 ns\n"
      "     migration/1-54      [001] d.... 11.700000: thread_noise: migration/1:54 start 11.69 "
      "duration 8000000 ns\n";
  const Noise noise = noise_of(text, 1, 10, 11);
  EXPECT_DOUBLE_EQ(noise.interrupts_s, 0.002);
  EXPECT_DOUBLE_EQ(noise.softirqs_s, 0.001);
  EXPECT_DOUBLE_EQ(noise.threads_s, 0.004);
}

class Osnoise : public testing::Test {
 protected:
  void SetUp() override {
    if (content("available_tracers").find("osnoise") == std::string::npos) {
      GTEST_SKIP()
          << "this kernel has no tracer osnoise (CONFIG_OSNOISE_TRACER), or its tracefs is "
             "not at "
          << folder;
    }
    if (const std::optional<Error> missing = no_bpf()) GTEST_SKIP() << missing->message;
    const Result<std::vector<int>> cores = cores_of_thread(0);
    ASSERT_TRUE(cores.ok());
    core_ = cores.value().back();
    write("current_tracer", "nop");
    write("trace_clock", "mono");
    write("buffer_size_kb", "16384");
    write("osnoise/cpus", std::to_string(core_));
    write("osnoise/period_us", "1000000");
    write("osnoise/runtime_us", "1000000");  // Without a break.
    for (const char* const event : {"irq_noise", "softirq_noise", "thread_noise"}) {
      write(std::string("events/osnoise/") + event + "/enable", "1");
    }
    write("current_tracer", "osnoise");
  }
  ~Osnoise() override { write("current_tracer", "nop"); }

  static std::string content(const std::string& name) {
    std::ifstream file(folder + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void write(const std::string& name, const std::string& value) {
    std::ofstream(folder + name) << value << std::flush;
  }
  static inline const std::string folder = "/sys/kernel/tracing/";
  int core_ = 0;
};

// Of one core, without the thread of the tracer, which is always there.
Noise watched(const Traced& before, const Traced& after, int core) {
  Noise noise;
  for (const auto& [taker, cores] : after.spent) {
    const auto now = cores.find(core);
    if (now == cores.end()) continue;
    double seconds = now->second.cpu_s;
    if (const auto known = before.spent.find(taker); known != before.spent.end()) {
      if (const auto then = known->second.find(core); then != known->second.end()) {
        seconds -= then->second.cpu_s;
      }
    }
    const auto name = after.threads.find(taker.second);
    const bool tracer = taker.first == Taker::thread && name != after.threads.end() &&
                        name->second.starts_with("osnoise/");
    if (tracer) continue;
    if (taker.first == Taker::interrupt || taker.first == Taker::vector) {
      noise.interrupts_s += seconds;
    }
    if (taker.first == Taker::softirq) noise.softirqs_s += seconds;
    if (taker.first == Taker::thread || taker.first == Taker::program) noise.threads_s += seconds;
  }
  return noise;
}

TEST_F(Osnoise, finds_the_noise_of_a_core_that_the_watcher_finds) {
  const Result<std::unique_ptr<Tracer>> tracer = Tracer::start();
  ASSERT_TRUE(tracer.ok()) << tracer.error().message;
  // A program that wakes by a timer and computes for a fifth of the core.
  std::atomic<bool> over{false};
  std::thread load([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(core_), &one);
    ::sched_setaffinity(0, sizeof one, &one);
    while (!over) {
      const double until = monotonic_s() + 0.004;
      while (monotonic_s() < until) {
      }
      std::this_thread::sleep_for(16ms);
    }
  });
  std::this_thread::sleep_for(500ms);
  write("trace", "");
  const Result<Traced> before = tracer.value()->read();
  const double begin = monotonic_s();
  std::this_thread::sleep_for(3s);
  const Result<Traced> after = tracer.value()->read();
  const double end = monotonic_s();
  const std::string trace = content("trace");
  over = true;
  load.join();
  ASSERT_TRUE(before.ok() && after.ok());
  const Noise ours = watched(before.value(), after.value(), core_);
  const Noise theirs = noise_of(trace, core_, begin, end);
  std::printf(
      "seconds of core %d in %.3f s, here and by osnoise: interrupts %.4f %.4f, softirqs "
      "%.4f %.4f, threads %.4f %.4f\n",
      core_, end - begin, ours.interrupts_s, theirs.interrupts_s, ours.softirqs_s,
      theirs.softirqs_s, ours.threads_s, theirs.threads_s);
  ASSERT_GT(theirs.threads_s, 0.05 * (end - begin)) << trace.substr(0, 2'000);
  const double sum = ours.interrupts_s + ours.softirqs_s + ours.threads_s;
  const double their_sum = theirs.interrupts_s + theirs.softirqs_s + theirs.threads_s;
  EXPECT_NEAR(sum, their_sum, 0.1 * their_sum);
}

}  // namespace
}  // namespace k2k::watch
