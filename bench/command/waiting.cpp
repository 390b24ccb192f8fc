// How much do work-items that wait by polling slow down the CPU? (thesis, section 3.7, figure 3.9)
//
// Each of 64 to 16,384 work-items waits for a read from an empty pipe: its slot is one cache line.
//
//   cpu_access   meanwhile a thread reads at random from 64 MiB: the cost for memory
//   neighbour    one more work-item makes no-ops: the cost for the device and the server
//
// Polling as a GPU does it: the device never sleeps. Halting: it sleeps once all work-items are
// halted. `none` is the same thread without waiting work-items. The thesis shows only the first,
// and only polling.
// Budget: none; the thesis' shape: the accesses fall with the number of lines, most beyond the
// capacity of the GPU's cache (4,096 there).

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>

#include "base/clock.hpp"
#include "bench/command/figure.hpp"
#include "device/k2k.hpp"

namespace k2k::bench {

namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t lanes = 64;
constexpr std::size_t array_words = (std::size_t{64} << 20) / sizeof(std::uint64_t);
constexpr auto access_time = 30ms;
constexpr int accesses_a_look = 4096;  // Between two readings of the clock.
constexpr std::size_t neighbour_calls = 2'000;
constexpr auto gather_limit = 5s;

struct Wait {
  const std::uint32_t* go;  // Written by the host: the neighbour begins.
  std::uint32_t* done;      // Written by the neighbour.
  int pipe;
  double* latencies_us;
  std::size_t calls;  // Of the neighbour; 0: no neighbour.
  std::uint64_t* failures;
  double scale_us;
};

// Group 0 is the neighbour, alone; the other groups wait.
template <class Options>
K2K_DEVICE void wait_or_call(const Wait& wait, Options options) {
  if (k2k::group_rank() != 0) {
    char byte = 0;
    if (k2k::read(k2k::work_item, options, wait.pipe, &byte, 1) != 0) {
      __atomic_fetch_add(wait.failures, std::uint64_t{1}, __ATOMIC_RELAXED);
    }
    return;
  }
  if (k2k::item_rank() != 0 || wait.calls == 0) return;
  while (__atomic_load_n(wait.go, __ATOMIC_ACQUIRE) == 0) k2k::nop(k2k::work_item);
  for (std::size_t call = 0; call < wait.calls; ++call) {
    const std::uint64_t start = cycles();
    if (k2k::nop(k2k::work_item) != 0) {
      __atomic_fetch_add(wait.failures, std::uint64_t{1}, __ATOMIC_RELAXED);
    }
    wait.latencies_us[call] = static_cast<double>(cycles() - start) * wait.scale_us;
  }
  __atomic_store_n(wait.done, 1u, __ATOMIC_RELEASE);
}

// Millions of reads a second at random places, measured briefly.
double random_reads(const std::vector<std::uint64_t>& array) {
  std::uint64_t place = 88172645463325252u;
  std::uint64_t sum = 0;
  std::uint64_t count = 0;
  const Instant begin = now();
  Nanoseconds elapsed{};
  do {
    for (int access = 0; access < accesses_a_look; ++access) {
      place ^= place << 13;  // Marsaglia's xorshift.
      place ^= place >> 7;
      place ^= place << 17;
      sum += array[place % array_words];
    }
    count += accesses_a_look;
    elapsed = now() - begin;
  } while (elapsed < access_time);
  // The array holds zeros; the compiler cannot know that, so it keeps the reads.
  return sum == 1 ? 0 : static_cast<double>(count) * 1'000 / static_cast<double>(elapsed.count());
}

class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_, O_CLOEXEC) != 0) ends_[0] = ends_[1] = -1;
  }
  ~Pipe() {
    end();
    if (ends_[0] >= 0) ::close(ends_[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  [[nodiscard]] int reader() const { return ends_[0]; }
  // Lets all reads return 0 from now on.
  void end() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  int ends_[2];
};

struct WaitManner {
  const char* name;
  bool halting;
};
constexpr WaitManner wait_manners[] = {{"polling", false}, {"halting", true}};

struct WaitCost {
  double accesses = 0;      // Millions a second; without a neighbour.
  double neighbour_us = 0;  // p50; with one.
};

Result<WaitCost> measure(Runtime& runtime, bool halting, std::uint32_t waiters, bool neighbour,
                         const std::vector<std::uint64_t>& array) {
  Pipe pipe;
  if (pipe.reader() < 0) return Error{EMFILE, "no pipe: the process has too many descriptors"};
  std::uint32_t go = 0;
  std::uint32_t done = 0;
  std::uint64_t failures = 0;
  std::vector<double> latencies(neighbour ? neighbour_calls : 0);
  const Wait wait{&go,
                  &done,
                  pipe.reader(),
                  latencies.data(),
                  latencies.size(),
                  &failures,
                  nanoseconds_per_cycle() / 1'000};
  const LaunchShape shape{.groups = 1 + waiters / lanes, .group_items = lanes};
  Result<LaunchReport> report = Error{EAGAIN, "not launched"};
  std::atomic<bool> ended{false};
  WaitCost measured;
  bool gathered = false;
  try {
    std::thread launcher([&] {
      report = halting
                   ? runtime.launch(
                         shape, [=] { wait_or_call(wait, k2k::halting); }, "bench wait")
                   : runtime.launch(shape, [=] { wait_or_call(wait, k2k::strong); }, "bench wait");
      ended = true;
    });
    const Instant limit = now() + gather_limit;
    while (!gathered && !ended && now() < limit) {
      std::this_thread::sleep_for(1ms);
      // The neighbour's own no-ops vary the number.
      gathered = runtime.stats().in_flight >= waiters;
    }
    if (gathered && neighbour) {
      __atomic_store_n(&go, 1u, __ATOMIC_RELEASE);
      while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) == 0 && !ended) {
        std::this_thread::sleep_for(1ms);
      }
    } else if (gathered) {
      measured.accesses = random_reads(array);
    }
    __atomic_store_n(&go, 1u, __ATOMIC_RELEASE);
    pipe.end();
    launcher.join();
  } catch (const std::system_error& failure) {
    return Error{EAGAIN, std::string("no second thread: ") + failure.what()};
  }
  if (!report) return report.error();
  if (!gathered) return Error{ETIMEDOUT, "the work-items did not all come to wait within 5 s"};
  if (failures != 0) return Error{EIO, "a read of a work-item was answered with an error"};
  if (neighbour) {
    Samples samples;
    samples.add(latencies);
    measured.neighbour_us = samples.median();
  }
  return measured;
}

Result<Runtime> runtime_for(const RuntimeConfig& base, std::uint32_t waiters, bool halting) {
  RuntimeConfig config = base;
  config.device.compute_units = 1;
  config.device.wave_lanes = lanes;
  config.device.resident_waves = 1 + waiters / lanes;
  config.device.resident_groups = 1 + waiters / lanes;
  if (!halting) config.device.spin_us = 1'000'000;
  return Runtime::create(config);
}

}  // namespace

Result<nlohmann::ordered_json> waiting(const RuntimeConfig& base, Effort effort) {
  std::vector<double> places = {64, 256, 1024, 4096, 8192, 16384};
  if (effort == Effort::brief) places.resize(2);
  const std::vector<std::uint64_t> array(array_words);
  Figure accesses({"waiting work-items", "cache lines"}, {"random reads of a CPU", "M/s"}, places,
                  {"none", wait_manners[0].name, wait_manners[1].name});
  Figure neighbour({"waiting work-items", "cache lines"}, {"no-op of a neighbour, p50", "us"},
                   places, {wait_manners[0].name, wait_manners[1].name});
  for (Rounds rounds = effort == Effort::brief ? Rounds("waiting", 1, 1, 0)
                                               : Rounds("waiting", 3, 10, 40);
       rounds.next();) {
    for (std::size_t place = 0; place < places.size(); ++place) {
      const auto waiters = static_cast<std::uint32_t>(places[place]);
      accesses.at(0, place).add(random_reads(array));
      for (std::size_t index = 0; index < std::size(wait_manners); ++index) {
        const bool halting = wait_manners[index].halting;
        auto runtime = runtime_for(base, waiters, halting);
        if (!runtime) return runtime.error();
        auto alone = measure(runtime.value(), halting, waiters, false, array);
        if (!alone) return alone.error();
        accesses.at(index + 1, place).add(alone->accesses);
        auto beside = measure(runtime.value(), halting, waiters, true, array);
        if (!beside) return beside.error();
        neighbour.at(index, place).add(beside->neighbour_us);
      }
    }
  }
  const std::size_t last = places.size() - 1;
  nlohmann::ordered_json result;
  result["cpu_access"] = accesses.json();
  result["neighbour"] = neighbour.json();
  result["polling_to_none"] = rounded(accesses.median(1, last) / accesses.median(0, last));
  result["halting_to_none"] = rounded(accesses.median(2, last) / accesses.median(0, last));
  result["neighbour_polling_to_halting"] =
      rounded(neighbour.median(0, last) / neighbour.median(1, last));
  return result;
}

}  // namespace k2k::bench
