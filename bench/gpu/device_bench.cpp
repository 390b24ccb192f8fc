// How much does a system call cost a kernel on this device, and how much does waiting for requests
// cost the host?
//
// One source for every device: compiled by nvcc into device_bench_cuda, by the host's compiler into
// device_bench (which measures the cpu backend, beside `k2k bench`). One JSON object per line:
//
//   capabilities  the properties that the device reports
//   bus           loads, stores and fences of a kernel in memory that the host shares: the floor of
//                 every call on a GPU
//   roundtrip     one work-item, one no-op after the other; the syscall area has all waves' slots
//   throughput    no-ops of single lanes and of whole waves, and 4 KiB preads into shared memory
//   turns         no-ops of many lanes, single and in whole waves, in turns, with the server's
//                 work in each: why rates differ from run to run
//   together      cached reads of 16 MiB by work-groups into the device's own memory: one request,
//                 or pread_together()
//   idle          polling server, random arrivals: latency and share of a core; also after a quiet
//                 second
//
// usage: device_bench [capabilities|bus|roundtrip|throughput|turns|together|idle]...   Exit 77:
// no such device here.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "device/k2k.hpp"
#include "k2k/runtime.hpp"
#include "protocol/words.hpp"

namespace k2k::bench {
namespace {

#if defined(__CUDACC__)
constexpr const char* backend_name = "cuda";
#else
constexpr const char* backend_name = "cpu";
#endif
constexpr int exit_skipped = 77;

K2K_DEVICE std::uint64_t ticks() {
#if defined(__CUDACC__)
  return device::platform::vendor::clock();
#else
  return cycles();
#endif
}

// Ends the program on an error: without this step, the benchmark cannot continue.
void expect(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "device_bench: %s\n", status.error().message.c_str());
  std::exit(1);
}
template <class Value>
Value expect(Result<Value> result) {
  if (!result) expect(Status(result.error()));
  return std::move(result).value();
}
void expect_none(std::uint64_t errors) {
  if (errors != 0) expect(Status(Error{EIO, "a call was answered with an error"}));
}

template <class Value>
class Shared {
 public:
  Shared(Runtime& runtime, std::size_t count)
      : runtime_(runtime),
        values_(static_cast<Value*>(expect(runtime.allocate_shared(count * sizeof(Value))))) {}
  ~Shared() { runtime_.free_shared(values_); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  [[nodiscard]] Value* get() const { return values_; }
  Value& operator[](std::size_t index) const { return values_[index]; }

 private:
  Runtime& runtime_;
  Value* values_;
};

double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

// --- Kernels.

struct TimedCalls {
  const std::uint64_t* think;  // Ticks before each call; nullptr: none.
  std::uint64_t* taken;        // Ticks of each call.
  std::uint64_t* total;        // [0] ticks of all calls, [1] errors.
  std::uint32_t count;
  K2K_DEVICE void operator()() const {
    const std::uint64_t begin = ticks();
    std::uint64_t errors = 0;
    for (std::uint32_t call = 0; call < count; ++call) {
      const std::uint64_t until = ticks() + (think == nullptr ? 0 : think[call]);
      while (ticks() < until) {
      }
      const std::uint64_t start = ticks();
      errors += k2k::nop(k2k::work_item) != 0;
      taken[call] = ticks() - start;
    }
    total[0] = ticks() - begin;
    total[1] = errors;
  }
};

template <bool whole_waves>
struct ManyCalls {
  std::uint64_t* errors;  // One per work-item.
  std::uint32_t count;
  K2K_DEVICE void operator()() const {
    std::uint64_t wrong = 0;
    for (std::uint32_t call = 0; call < count; ++call) {
      if constexpr (whole_waves) {
        wrong += k2k::nop(k2k::work_item, k2k::wave_wide) != 0;
      } else {
        wrong += k2k::nop(k2k::work_item) != 0;
      }
    }
    errors[k2k::global_rank()] = wrong;
  }
};

// What a work-item repeats in shared memory, over lines of its own.
enum class Access { load, load_same, store_fence, store_release };

template <Access access>
struct BusAccesses {
  std::uint64_t* lines;  // 64 bytes each.
  std::uint64_t line_count;
  std::uint64_t* total;  // [0] ticks of work-item 0, [1] a sum, so that no load is left out.
  std::uint32_t count;
  K2K_DEVICE void operator()() const {
    const std::uint64_t me = k2k::global_rank();
    const std::uint64_t all = std::uint64_t{k2k::group_count()} * k2k::group_size();
    std::uint64_t sum = 0;
    const std::uint64_t begin = ticks();
    for (std::uint32_t turn = 0; turn < count; ++turn) {
      const std::uint64_t line = access == Access::load_same ? 0 : (me + all * turn) % line_count;
      // The address depends on the last load: one after the other.
      std::uint64_t* const word = lines + (line + (sum & 1)) % line_count * 8;
      if constexpr (access == Access::load || access == Access::load_same) {
        sum += protocol::load_hint(word) & 2;
      } else if constexpr (access == Access::store_fence) {
        protocol::store_hint(word, std::uint64_t{turn} * 4);
        protocol::fence_system();
      } else {
        protocol::store_release(word, std::uint64_t{turn} * 4);
      }
    }
    if (me != 0) return;
    total[0] = ticks() - begin;
    total[1] = sum;
  }
};

struct Preads {
  int fd;
  char* buffers;          // 4 KiB per work-item, shared.
  std::uint64_t* errors;  // One per work-item.
  std::uint32_t count;
  K2K_DEVICE void operator()() const {
    const std::uint64_t me = k2k::global_rank();
    std::uint64_t wrong = 0;
    for (std::uint32_t call = 0; call < count; ++call) {
      wrong +=
          k2k::pread(k2k::work_item, fd, buffers + me * 4096, 4096, (call % 64) * 4096) != 4096;
    }
    errors[me] = wrong;
  }
};

// Each group reads a range of its own of the file.
template <bool together>
struct LongReads {
  int fd;
  char* memory;
  std::uint64_t bytes;    // A group.
  std::uint64_t* errors;  // One per work-item.
  K2K_DEVICE void operator()() const {
    const std::uint64_t at = k2k::group_rank() * bytes;
    long count = 0;
    if constexpr (together) {
      count = k2k::pread_together(fd, memory + at, bytes, static_cast<std::int64_t>(at));
    } else {
      count = k2k::pread(k2k::work_group, fd, memory + at, bytes, static_cast<std::int64_t>(at));
    }
    errors[k2k::global_rank()] = count != static_cast<long>(bytes);
  }
};

// --- Measurements.

Runtime start(std::uint32_t server_spin_us) {
  RuntimeConfig config;
  config.operator_settings = false;
  config.backend = backend_name;
  config.server.spin_us = server_spin_us;
  config.server.notify = server::Notify::polling;
  return expect(Runtime::create(config));
}

template <Access access>
void bus_of(Runtime& runtime, const char* name, std::uint32_t groups, std::uint32_t items) {
  constexpr std::uint64_t line_count = 1u << 18;  // 16 MiB, as the syscall area.
  constexpr std::uint32_t turns = 1'000;
  const Shared<std::uint64_t> lines(runtime, line_count * 8);
  const Shared<std::uint64_t> total(runtime, 2);
  const LaunchReport report = expect(runtime.launch(
      {groups, items}, BusAccesses<access>{lines.get(), line_count, total.get(), turns}, "bus"));
  const double all = static_cast<double>(turns) * groups * items;
  const double ns = static_cast<double>(report.elapsed.count());
  std::printf("{\"bench\":\"bus\",\"access\":\"%s\",\"lanes\":%u,\"us\":%.3f,\"m_per_s\":%.3f}\n",
              name, groups * items, ns / turns / 1000, all / ns * 1000);
  std::fflush(stdout);
}

void bus() {
  Runtime runtime = start(50);
  const std::uint32_t units = runtime.device().compute_units;
  bus_of<Access::load>(runtime, "load", 1, 1);
  bus_of<Access::load>(runtime, "load", 1, 32);
  bus_of<Access::load>(runtime, "load", units, 1);
  bus_of<Access::load>(runtime, "load", units, 32);
  bus_of<Access::load>(runtime, "load", units, 128);
  bus_of<Access::load_same>(runtime, "load of one word", 1, 32);
  bus_of<Access::load_same>(runtime, "load of one word", units, 32);
  bus_of<Access::store_fence>(runtime, "store, fence", 1, 1);
  bus_of<Access::store_fence>(runtime, "store, fence", units, 32);
  bus_of<Access::store_release>(runtime, "release store", 1, 1);
}

// Microseconds of each call.
std::vector<double> timed(Runtime& runtime, const std::uint64_t* think, std::uint32_t count,
                          double ns_per_tick_known = 0) {
  const Shared<std::uint64_t> taken(runtime, count);
  const Shared<std::uint64_t> total(runtime, 2);
  const LaunchReport report = expect(
      runtime.launch({1, 1}, TimedCalls{think, taken.get(), total.get(), count}, "timed calls"));
  expect_none(total[1]);
  // The kernel lasts so long that the launch itself does not matter.
  const double ns_per_tick = ns_per_tick_known != 0 ? ns_per_tick_known
                                                    : static_cast<double>(report.elapsed.count()) /
                                                          static_cast<double>(total[0]);
  std::vector<double> microseconds;
  for (std::uint32_t call = 0; call < count; ++call) {
    microseconds.push_back(static_cast<double>(taken[call]) * ns_per_tick / 1000);
  }
  return microseconds;
}

// The device's clock in relation to the host's, over a kernel of at least about 50 ms.
double ns_per_tick(Runtime& runtime) {
  constexpr std::uint32_t calls = 20'000;
  const Shared<std::uint64_t> taken(runtime, calls);
  const Shared<std::uint64_t> total(runtime, 2);
  const LaunchReport report =
      expect(runtime.launch({1, 1}, TimedCalls{nullptr, taken.get(), total.get(), calls}, "clock"));
  return static_cast<double>(report.elapsed.count()) / static_cast<double>(total[0]);
}

void capabilities() {
  const Runtime runtime = start(50);
  const DeviceInfo& device = runtime.device();
  std::printf("{\"bench\":\"capabilities\",\"device\":\"%s\",\"platform\":\"%s\"",
              device.name.c_str(), device.platform.c_str());
  std::printf(",\"compute_units\":%u,\"resident_waves\":%u,\"wave_lanes\":%u", device.compute_units,
              device.resident_waves, device.wave_lanes);
  std::printf(",\"local_bytes_max\":%zu,\"area_bytes\":%zu,\"halts\":%s,\"interrupts\":%s",
              device.local_bytes_max, device.area_bytes, device.halts ? "true" : "false",
              device.interrupts ? "true" : "false");
  std::printf(",\"reaches_host_pages\":%s", device.reaches_host_pages ? "true" : "false");
  for (const backend::Capability& each : device.capabilities) {
    std::printf(",\"%s\":\"%s\"", each.name.c_str(), each.value.c_str());
  }
  std::printf("}\n");
}

void round_trip() {
  constexpr std::uint32_t calls = 20'000;
  Runtime runtime = start(1'000'000);
  timed(runtime, nullptr, 1'000);
  const std::vector<double> us = timed(runtime, nullptr, calls);
  std::printf("{\"bench\":\"roundtrip\",\"waves\":%u,\"p50_us\":%.3f,\"p99_us\":%.3f}\n",
              runtime.device().resident_waves, quantile(us, 0.5), quantile(us, 0.99));
}

template <class Kernel>
double calls_a_second(Runtime& runtime, const LaunchShape& shape, std::uint32_t count,
                      const Kernel& kernel, const std::uint64_t* errors) {
  const LaunchReport report = expect(runtime.launch(shape, kernel, "throughput"));
  const std::uint64_t items = std::uint64_t{shape.groups} * shape.group_items;
  for (std::uint64_t item = 0; item < items; ++item) expect_none(errors[item]);
  return static_cast<double>(items * count) * 1e9 / static_cast<double>(report.elapsed.count());
}

// A short run tells how many calls take about half a second.
template <class Rate>
double rate_of(const char* name, const LaunchShape& shape, const Rate& rate) {
  constexpr std::uint32_t tried = 20;
  constexpr double wanted_s = 0.5;
  constexpr double calls_max = 20'000;
  const double items = static_cast<double>(shape.groups) * shape.group_items;
  const double first = rate(shape, tried);
  const double count = std::clamp(first * 1e6 * wanted_s / items, double{tried}, calls_max);
  const double mcalls = rate(shape, static_cast<std::uint32_t>(count));
  std::printf(",\"%s\":%.4f", name, mcalls);
  std::fflush(stdout);
  return mcalls;
}

// A group on each compute unit.
LaunchShape many_items(const Runtime& runtime) {
  return {runtime.device().compute_units, runtime.device().platform == "cpu" ? 32u : 128u};
}

// A file without a name.
int file_of(std::size_t bytes) {
  char path[] = "/tmp/k2k-device-bench-XXXXXX";  // The pattern of mkstemp().
  const int fd = ::mkstemp(path);
  const std::vector<char> content(bytes, 'd');
  if (fd < 0 || ::write(fd, content.data(), bytes) != static_cast<ssize_t>(bytes)) {
    expect(Status(Error{errno, "no temporary file in /tmp"}));
  }
  ::unlink(path);
  return fd;
}

void throughput() {
  Runtime runtime = start(1'000'000);
  const LaunchShape few{1, 16};
  const LaunchShape wave{1, 32};
  const LaunchShape many = many_items(runtime);
  const Shared<std::uint64_t> errors(runtime, std::size_t{many.groups} * 128);
  const auto single = [&](const LaunchShape& shape, std::uint32_t count) {
    return calls_a_second(runtime, shape, count, ManyCalls<false>{errors.get(), count},
                          errors.get()) /
           1e6;
  };
  const auto waves = [&](const LaunchShape& shape, std::uint32_t count) {
    return calls_a_second(runtime, shape, count, ManyCalls<true>{errors.get(), count},
                          errors.get()) /
           1e6;
  };
  std::printf("{\"bench\":\"throughput\"");
  rate_of("single_16_mcalls", few, single);
  rate_of("single_many_mcalls", many, single);
  rate_of("wave_1_mcalls", wave, waves);
  rate_of("wave_many_mcalls", many, waves);

  const int fd = file_of(64 * 4096);
  const std::uint32_t items = many.groups * many.group_items;
  const Shared<char> buffers(runtime, std::size_t{items} * 4096);
  const double preads =
      rate_of("pread_4k_mcalls", many, [&](const LaunchShape& shape, std::uint32_t count) {
        return calls_a_second(runtime, shape, count, Preads{fd, buffers.get(), errors.get(), count},
                              errors.get()) /
               1e6;
      });
  ::close(fd);
  std::printf(",\"pread_4k_gbytes\":%.3f}\n", preads * 4096 / 1e3);
}

template <bool whole_waves>
void turn(Runtime& runtime, int number, const LaunchShape& shape, std::uint32_t count,
          std::uint64_t* errors) {
  const server::Stats before = runtime.stats();
  const double rate =
      calls_a_second(runtime, shape, count, ManyCalls<whole_waves>{errors, count}, errors);
  const server::Stats after = runtime.stats();
  const double requests = static_cast<double>(after.requests - before.requests);
  const double elapsed_s =
      static_cast<double>(shape.groups) * shape.group_items * count / std::max(rate, 1.0);
  std::printf("{\"bench\":\"turns\",\"turn\":%d,\"by\":\"%s\",\"mcalls\":%.4f", number,
              whole_waves ? "wave" : "single", rate / 1e6);
  std::printf(
      ",\"cores\":%.2f,\"bundle\":%.1f,\"rescued\":%.4f",
      (after.thread_seconds - before.thread_seconds) / elapsed_s,
      requests / static_cast<double>(std::max<std::uint64_t>(after.bundles - before.bundles, 1)),
      static_cast<double>(after.rescued - before.rescued) / std::max(requests, 1.0));
  std::printf(",\"hand_offs\":%llu,\"takeovers\":%llu,\"parks\":%llu}\n",
              static_cast<unsigned long long>(after.hand_offs - before.hand_offs),
              static_cast<unsigned long long>(after.takeovers - before.takeovers),
              static_cast<unsigned long long>(after.parks - before.parks));
  std::fflush(stdout);
}

void turns() {
  constexpr int count_of_turns = 6;
  constexpr std::uint32_t calls = 500;
  Runtime runtime = start(1'000'000);
  const LaunchShape many = many_items(runtime);
  const Shared<std::uint64_t> errors(runtime, std::size_t{many.groups} * many.group_items);
  for (int number = 0; number < count_of_turns; ++number) {
    turn<false>(runtime, number, many, calls, errors.get());
    turn<true>(runtime, number, many, calls, errors.get());
  }
}

// GB/s of the median of some launches.
template <bool by_parts>
double long_reads(Runtime& runtime, std::uint32_t groups, const LongReads<by_parts>& kernel) {
  constexpr int launches = 9;
  constexpr std::uint32_t items = 32;
  std::vector<double> rates;
  for (int launch = 0; launch < launches; ++launch) {
    const LaunchReport report = expect(runtime.launch({groups, items}, kernel, "long reads"));
    for (std::uint32_t item = 0; item < groups * items; ++item) expect_none(kernel.errors[item]);
    rates.push_back(static_cast<double>(kernel.bytes * groups) /
                    static_cast<double>(report.elapsed.count()));
  }
  return quantile(rates, 0.5);
}

void together() {
  constexpr std::uint64_t bytes = 16u << 20;
  constexpr std::uint32_t groups_max = 4;
  Runtime runtime = start(50);
  const int fd = file_of(bytes * groups_max);
  char* const memory = static_cast<char*>(expect(runtime.allocate(bytes * groups_max)));
  const Shared<std::uint64_t> errors(runtime, groups_max * 32);
  for (const std::uint32_t groups : {1u, groups_max}) {
    const double one =
        long_reads(runtime, groups, LongReads<false>{fd, memory, bytes, errors.get()});
    const double parts =
        long_reads(runtime, groups, LongReads<true>{fd, memory, bytes, errors.get()});
    std::printf("{\"bench\":\"together\",\"groups\":%u,\"mib\":%u,\"one_gbs\":%.3f", groups,
                static_cast<unsigned>(bytes >> 20), one);
    std::printf(",\"together_gbs\":%.3f}\n", parts);
    std::fflush(stdout);
  }
  runtime.free(memory);
  ::close(fd);
}

void idle() {
  using namespace std::chrono_literals;
  constexpr std::uint32_t calls = 4'000;
  constexpr double think_mean_ns = 1e6;
  constexpr int quiet_rounds = 5;
  Runtime runtime = start(50);
  const double scale = ns_per_tick(runtime);
  std::mt19937_64 random(1);
  std::exponential_distribution<double> next(1 / think_mean_ns);
  const Shared<std::uint64_t> think(runtime, calls);
  for (std::uint32_t call = 0; call < calls; ++call) {
    think[call] = static_cast<std::uint64_t>(next(random) / scale);
  }
  const double used_before = runtime.stats().thread_seconds;
  const Instant begin = now();
  const std::vector<double> us = timed(runtime, think.get(), calls, scale);
  const double share = (runtime.stats().thread_seconds - used_before) * 1e9 /
                       static_cast<double>((now() - begin).count());
  std::vector<double> quiet_shares;
  std::vector<double> firsts;
  for (int round = 0; round < quiet_rounds; ++round) {
    const double before = runtime.stats().thread_seconds;
    std::this_thread::sleep_for(1s);
    quiet_shares.push_back(runtime.stats().thread_seconds - before);
    firsts.push_back(timed(runtime, nullptr, 1, scale)[0]);
  }
  std::printf("{\"bench\":\"idle\",\"p50_us\":%.1f,\"p99_us\":%.1f,\"cpu_share\":%.4f",
              quantile(us, 0.5), quantile(us, 0.99), share);
  std::printf(",\"quiet_cpu_share\":%.5f,\"first_us\":%.1f,\"first_max_us\":%.1f}\n",
              quantile(quiet_shares, 0.5), quantile(firsts, 0.5), quantile(firsts, 1));
}

struct Benchmark {
  const char* name;
  void (*run)();
};
constexpr Benchmark benchmarks[] = {
    {"capabilities", capabilities},
    {"bus", bus},
    {"roundtrip", round_trip},
    {"throughput", throughput},
    {"turns", turns},
    {"together", together},
    {"idle", idle},
};

}  // namespace
}  // namespace k2k::bench

int main(int argc, char** argv) {
  using namespace k2k;
  {
    RuntimeConfig config;
    config.operator_settings = false;
    config.backend = bench::backend_name;
    const Result<Runtime> probe = Runtime::create(config);
    if (!probe) {
      std::fprintf(stderr, "device_bench: %s\n", probe.error().message.c_str());
      return probe.error().code == ENODEV ? bench::exit_skipped : 1;
    }
  }
  for (const bench::Benchmark& each : bench::benchmarks) {
    const bool wanted = argc == 1 || std::any_of(argv + 1, argv + argc, [&](const char* name) {
                          return std::strcmp(name, each.name) == 0;
                        });
    if (!wanted) continue;
    each.run();
    std::fflush(stdout);
  }
}
