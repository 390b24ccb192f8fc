// How much does a page fault of device code cost, and how does it scale? (thesis, section 4.5.1,
// figure 4.6)
//
//   zeros, copy    a request to the server: the work-item halts, its unit goes on
//   in place       a synchronous handler, as the thesis recommends: the unit resolves the fault
//   reader thread  a synchronous handler as userfaultfd(2) offers it: one thread reads the faults
//                  and resolves them, the thread that faulted sleeps
//   native         Linux' own fault on anonymous memory: the floor
//
// The latency with a reader thread has two modes: Linux wakes the reader on the core that faulted,
// which is then free, or on another core, which it first interrupts. reader_modes_us has both, each
// with the threads on chosen cores.
//
// `discards` is the way back: pages of a region that are given back (discards.hpp).
//
// N work-items on one unit touch the pages of a region in turn, each touch a fault, as in the
// thesis' micro-benchmark with n work-items; reader thread: N threads, because each fault holds
// one. The parts are those of figure 4.6, by the clock of the handler: the rest of a touch is the
// signal and the return from it.
// Budget: none; the thesis' shapes: latency grows with concurrency, throughput is flat beyond 32,
// scheduling is the largest part, and a synchronous handler avoids it.

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>

#include "base/clock.hpp"
#include "bench/command/discards.hpp"
#include "bench/command/figure.hpp"
#include "bench/thread_cores.hpp"
#include "device/k2k.hpp"
#include "k2k/demand_region.hpp"

namespace k2k::bench {

namespace {

constexpr std::size_t pages_full = 4096;
constexpr std::size_t pages_brief = 256;
constexpr std::uint32_t items_max = 64;

struct FaultTimes {
  std::vector<double> latencies_us;
  double elapsed_s = 0;
  std::array<double, telemetry::request_parts> parts_us{};  // Means.
  double pages_a_range = 0;
};

// Passed to the kernel by value. Work-item i touches pages i, i + n, i + 2n, …
struct Touch {
  std::byte* memory;
  double* latencies_us;
  std::size_t pages;
  double scale_us;

  K2K_DEVICE void operator()(std::size_t first, std::size_t step) const {
    for (std::size_t page = first; page < pages; page += step) {
      const std::uint64_t begin = cycles();
      *static_cast<volatile std::byte*>(memory + page * page_bytes) = std::byte{1};
      latencies_us[page] = static_cast<double>(cycles() - begin) * scale_us;
    }
  }
};

Result<FaultTimes> touch_by_kernel(Runtime& runtime, std::byte* memory, std::size_t pages,
                                   std::uint32_t items) {
  FaultTimes measured;
  measured.latencies_us.resize(pages);
  const Touch touch{memory, measured.latencies_us.data(), pages, nanoseconds_per_cycle() / 1'000};
  const server::Stats stats = runtime.stats();
  const telemetry::RequestReport& before = stats.faults;
  const auto report = runtime.launch(
      {.groups = 1, .group_items = items}, [=] { touch(k2k::item_rank(), k2k::group_size()); },
      "bench faults");
  if (!report) return report.error();
  measured.elapsed_s = static_cast<double>(report.value().elapsed.count()) / 1e9;
  const server::Stats then = runtime.stats();
  const telemetry::RequestReport& after = then.faults;
  const std::uint64_t ranges = then.fault_ranges - stats.fault_ranges;
  if (ranges != 0)
    measured.pages_a_range = static_cast<double>(pages) / static_cast<double>(ranges);
  const auto count = static_cast<double>(after.count() - before.count());
  for (std::size_t part = 0; count > 0 && part < telemetry::request_parts; ++part) {
    measured.parts_us[part] =
        static_cast<double>(after.sum_cycles[part] - before.sum_cycles[part]) / count *
        nanoseconds_per_cycle() / 1'000;
  }
  return measured;
}

class Mapping {
 public:
  explicit Mapping(std::size_t bytes)
      : bytes_(bytes),
        address_(
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (ok()) ::madvise(address_, bytes, MADV_NOHUGEPAGE);
  }
  ~Mapping() {
    if (ok()) ::munmap(address_, bytes_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  [[nodiscard]] bool ok() const { return address_ != MAP_FAILED; }
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(address_); }

 private:
  std::size_t bytes_;
  void* address_;
};

// Cores of a reader thread and of the threads that fault. Empty: any core.
struct Placement {
  std::optional<int> reader = {};
  std::optional<int> faulting = {};
};

// The other synchronous handler: a thread that reads faults from Linux, one at a time.
class Reader {
 public:
  Reader(std::byte* memory, std::size_t bytes, std::optional<int> core)
      : faults_(static_cast<int>(
            ::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY))),
        end_(::eventfd(0, EFD_CLOEXEC)) {
    uffdio_api api{};
    api.api = UFFD_API;
    uffdio_register wish{};
    wish.range = {reinterpret_cast<std::uint64_t>(memory), bytes};
    wish.mode = UFFDIO_REGISTER_MODE_MISSING;
    ok_ = faults_ >= 0 && end_ >= 0 && ::ioctl(faults_, UFFDIO_API, &api) == 0 &&
          ::ioctl(faults_, UFFDIO_REGISTER, &wish) == 0;
    if (!ok_) return;
    thread_ = std::thread([this, core] {
      if (core) stay_on(*core);
      serve();
    });
  }
  ~Reader() {
    const std::uint64_t one = 1;
    if (thread_.joinable() && ::write(end_, &one, sizeof(one)) == sizeof(one)) thread_.join();
    if (faults_ >= 0) ::close(faults_);
    if (end_ >= 0) ::close(end_);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  [[nodiscard]] bool ok() const { return ok_; }

 private:
  void serve() const {
    while (true) {
      pollfd watched[2] = {{faults_, POLLIN, 0}, {end_, POLLIN, 0}};
      if (::poll(watched, 2, -1) < 0 && errno != EINTR) return;
      if (watched[1].revents != 0) return;
      uffd_msg message{};
      while (::read(faults_, &message, sizeof(message)) == sizeof(message)) {
        uffdio_copy copy{};
        copy.dst = message.arg.pagefault.address / page_bytes * page_bytes;
        copy.src = reinterpret_cast<std::uint64_t>(zeros_);
        copy.len = page_bytes;
        ::ioctl(faults_, UFFDIO_COPY, &copy);
      }
    }
  }

  alignas(page_bytes) std::byte zeros_[page_bytes] = {};
  int faults_;
  int end_;
  bool ok_ = false;
  std::thread thread_;
};

Result<FaultTimes> touch_by_threads(std::size_t pages, std::uint32_t count,
                                    const Placement& placement) {
  const Mapping memory(pages * page_bytes);
  if (!memory.ok()) return Error{ENOMEM, "no memory to touch"};
  FaultTimes measured;
  measured.latencies_us.resize(pages);
  const Touch touch{memory.data(), measured.latencies_us.data(), pages,
                    nanoseconds_per_cycle() / 1'000};
  try {
    const Reader reader(memory.data(), pages * page_bytes, placement.reader);
    if (!reader.ok())
      return Error{errno, "userfaultfd is refused; see vm.unprivileged_userfaultfd"};
    const Instant begin = now();
    std::vector<std::thread> threads;
    for (std::uint32_t thread = 0; thread < count; ++thread) {
      threads.emplace_back([&, thread] {
        if (placement.faulting) stay_on(*placement.faulting);
        touch(thread, count);
      });
    }
    for (std::thread& thread : threads) thread.join();
    measured.elapsed_s = static_cast<double>((now() - begin).count()) / 1e9;
  } catch (const std::system_error& failure) {
    return Error{EAGAIN, std::string("no thread to touch pages with: ") + failure.what()};
  }
  return measured;
}

enum class FaultManner : std::uint8_t { zeros, copy, in_place, reader, native };
const std::vector<std::string> manner_names = {"zeros", "copy", "in place", "reader thread",
                                               "native"};

Result<FaultTimes> measure(Runtime& runtime, FaultManner manner, std::size_t pages,
                           std::uint32_t items, const std::vector<std::byte>& source) {
  const std::size_t bytes = pages * page_bytes;
  if (manner == FaultManner::reader) return touch_by_threads(pages, items, {});
  if (manner == FaultManner::native) {
    const Mapping memory(bytes);
    if (!memory.ok()) return Error{ENOMEM, "no memory to touch"};
    return touch_by_kernel(runtime, memory.data(), pages, items);
  }
  DemandRegionOptions options{.name = "bench"};
  if (manner == FaultManner::in_place) options.handling = FaultHandling::in_place;
  const auto region = manner == FaultManner::copy
                          ? DemandRegion::copy_of(runtime, source.data(), bytes, options)
                          : DemandRegion::zero(runtime, bytes, options);
  if (!region) return region.error();
  return touch_by_kernel(runtime, region.value().data(), pages, items);
}

// The median latency of one thread's faults, with the reader on the same core and on another one;
// null where the process may use one core only.
Result<nlohmann::ordered_json> reader_modes(std::size_t pages, std::size_t runs) {
  const std::vector<int> cores = cores_of_thread();
  nlohmann::ordered_json modes = {{"same core", nullptr}, {"another core", nullptr}};
  for (const char* const mode : {"same core", "another core"}) {
    const bool same = std::string_view(mode) == "same core";
    if (cores.empty() || (!same && cores.size() < 2)) continue;
    Samples medians;
    for (std::size_t run = 0; run < runs; ++run) {
      const auto measured = touch_by_threads(pages, 1, {same ? cores[0] : cores[1], cores[0]});
      if (!measured) return measured.error();
      medians.add(Samples(measured->latencies_us).median());
    }
    modes[mode] = rounded(medians.median());
  }
  return modes;
}

// Parts of the mean latency. The signal is a part that only the faulting thread can measure.
const std::vector<std::string> part_names = {"initialisation", "scheduling", "processing",
                                             "completion", "signal"};

void add_split(Figure& split, std::size_t place, const FaultTimes& measured) {
  Samples all;
  all.add(measured.latencies_us);
  const std::size_t total = telemetry::request_parts - 1;
  for (std::size_t part = 0; part < total; ++part) {
    split.at(part, place).add(measured.parts_us[part]);
  }
  split.at(total, place).add(all.mean() - measured.parts_us[total]);
}

}  // namespace

Result<nlohmann::ordered_json> faults(const RuntimeConfig& base, Effort effort) {
  std::vector<double> places;
  for (std::uint32_t items = 1; items <= items_max; items *= 2) places.push_back(items);
  if (effort == Effort::brief) places = {1, 8};
  const std::size_t pages = effort == Effort::brief ? pages_brief : pages_full;
  const std::vector<std::byte> source(pages * page_bytes, std::byte{7});

  RuntimeConfig config = base;
  config.device.compute_units = 1;
  config.device.wave_lanes = items_max;
  auto runtime = Runtime::create(config);
  if (!runtime) return runtime.error();

  const Axis concurrency{"concurrent faults", "work-items"};
  Figure median(concurrency, {"latency p50", "us"}, places, manner_names);
  Figure tail(concurrency, {"latency p99", "us"}, places, manner_names);
  Figure throughput(concurrency, {"throughput", "faults/ms"}, places, manner_names);
  Figure split_zeros(concurrency, {"part of the mean latency, zeros", "us"}, places, part_names);
  Figure split_copy(concurrency, {"part of the mean latency, copy", "us"}, places, part_names);
  Samples pages_a_range;
  for (Rounds rounds = effort == Effort::brief ? Rounds("faults", 1, 1, 0)
                                               : Rounds("faults", 3, 10, 35);
       rounds.next();) {
    for (std::size_t place = 0; place < places.size(); ++place) {
      for (std::size_t index = 0; index < manner_names.size(); ++index) {
        const auto manner = static_cast<FaultManner>(index);
        const auto items = static_cast<std::uint32_t>(places[place]);
        auto measured = measure(runtime.value(), manner, pages, items, source);
        if (!measured) return measured.error();
        Samples latencies;
        latencies.add(measured->latencies_us);
        median.at(index, place).add(latencies.median());
        tail.at(index, place).add(latencies.quantile(0.99));
        throughput.at(index, place).add(static_cast<double>(pages) / measured->elapsed_s / 1'000);
        if (manner == FaultManner::zeros) add_split(split_zeros, place, measured.value());
        if (manner == FaultManner::zeros && place + 1 == places.size()) {
          pages_a_range.add(measured->pages_a_range);
        }
        if (manner == FaultManner::copy) add_split(split_copy, place, measured.value());
      }
    }
  }
  const Result<nlohmann::ordered_json> modes =
      reader_modes(pages, effort == Effort::brief ? 1 : 10);
  if (!modes) return modes.error();
  const Result<nlohmann::ordered_json> discards = discard_costs(runtime.value(), effort);
  if (!discards) return discards.error();
  const std::size_t last = places.size() - 1;
  const auto at = [](FaultManner manner) { return static_cast<std::size_t>(manner); };
  nlohmann::ordered_json result;
  result["latency_p50"] = median.json();
  result["latency_p99"] = tail.json();
  result["throughput"] = throughput.json();
  result["split_zeros"] = split_zeros.json();
  result["split_copy"] = split_copy.json();
  result["faults"] = pages;
  result["pages_a_range"] = rounded(pages_a_range.median());
  result["reader_modes_us"] = modes.value();
  result["discards"] = discards.value();
  result["request_to_native"] =
      rounded(median.median(at(FaultManner::zeros), 0) / median.median(at(FaultManner::native), 0));
  result["in_place_to_request"] = rounded(median.median(at(FaultManner::in_place), 0) /
                                          median.median(at(FaultManner::zeros), 0));
  result["throughput_to_reader"] = rounded(throughput.median(at(FaultManner::zeros), last) /
                                           throughput.median(at(FaultManner::reader), last));
  return result;
}

}  // namespace k2k::bench
