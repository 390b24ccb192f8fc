// How much does a system call cost a kernel on this device, and how much does waiting for requests
// cost the host?
//
// One source for every device: compiled by nvcc into device_bench_cuda, by the host's compiler into
// device_bench (which measures the cpu backend, beside `k2k bench`). One JSON object per line:
//
//   capabilities  the properties that the device reports
//   roundtrip     one work-item, one no-op after the other; the syscall area has all waves' slots
//   throughput    no-ops of single lanes and of whole waves, and 4 KiB preads into shared memory
//   idle          polling server, random arrivals: latency and share of a core; also after a quiet
//                 second
//
// usage: device_bench [capabilities|roundtrip|throughput|idle]...   Exit 77: no such device here.

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

// --- Measurements.

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

Runtime start(std::uint32_t server_spin_us) {
  RuntimeConfig config;
  config.operator_settings = false;
  config.backend = backend_name;
  config.server.spin_us = server_spin_us;
  config.server.notify = server::Notify::polling;
  return expect(Runtime::create(config));
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

void throughput() {
  constexpr std::uint32_t calls = 2'000;
  Runtime runtime = start(1'000'000);
  const std::uint32_t units = runtime.device().compute_units;
  const bool gpu = runtime.device().platform != "cpu";
  const LaunchShape few{1, 16};
  const LaunchShape wave{1, 32};
  const LaunchShape many{units, gpu ? 128u : 32u};
  const Shared<std::uint64_t> errors(runtime, std::size_t{units} * 128);
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
  std::printf("{\"bench\":\"throughput\",\"single_16_mcalls\":%.3f,\"single_many_mcalls\":%.3f",
              single(few, calls * 10), single(many, calls / 4));
  std::printf(",\"wave_1_mcalls\":%.3f,\"wave_many_mcalls\":%.3f", waves(wave, calls * 10),
              waves(many, calls));

  char path[] = "/tmp/k2k-device-bench-XXXXXX";
  const int fd = ::mkstemp(path);
  const std::vector<char> content(64 * 4096, 'd');
  if (fd < 0 || ::write(fd, content.data(), content.size()) != 64 * 4096) {
    expect(Status(Error{errno, "no temporary file in /tmp"}));
  }
  const std::uint32_t items = many.groups * many.group_items;
  const Shared<char> buffers(runtime, std::size_t{items} * 4096);
  const double preads = calls_a_second(
      runtime, many, calls / 4, Preads{fd, buffers.get(), errors.get(), calls / 4}, errors.get());
  ::close(fd);
  ::unlink(path);
  std::printf(",\"pread_4k_mcalls\":%.3f,\"pread_4k_gbytes\":%.3f}\n", preads / 1e6,
              preads * 4096 / 1e9);
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
    {"roundtrip", round_trip},
    {"throughput", throughput},
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
