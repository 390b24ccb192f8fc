#include "apps/wordcount/count.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "apps/common/device_blocks.hpp"
#include "base/clock.hpp"
#include "base/cores.hpp"

namespace k2k::wordcount {

namespace {

// Enough files in flight to keep a disk busy, as k2k grep by work-group.
constexpr std::uint32_t groups_per_unit = 16;
constexpr std::uint32_t items_default = 4;
constexpr std::uint32_t items_default_gpu = 64;
constexpr std::uint32_t groups_per_unit_gpu = 4;
// Below part_bytes_min, it costs more to distribute the parts than to search them; the lanes of a
// warp search at the same time.
constexpr std::uint32_t part_bytes_min_cpu = 1024;
constexpr std::uint32_t part_bytes_min_gpu = 128;
// A launch costs every piece as much, so many groups share it.
constexpr std::uint32_t split_groups_per_unit = 128;

LaunchShape shape_of(const Settings& settings, const DeviceInfo& device) {
  const bool split = settings.by == By::relaunch;
  const bool on_gpu = device.platform != "cpu";
  LaunchShape shape;
  shape.groups = device.compute_units * (split    ? split_groups_per_unit
                                         : on_gpu ? groups_per_unit_gpu
                                                  : groups_per_unit);
  shape.group_items = on_gpu ? items_default_gpu : items_default;
  if (settings.groups != 0) shape.groups = settings.groups;
  if (settings.items != 0) shape.group_items = settings.items;
  return shape;
}

// The job's memory, and the counts that the kernel left in it.
class JobMemory {
 public:
  explicit JobMemory(Runtime& runtime)
      : runtime_(runtime), blocks_(runtime), on_gpu_(runtime.device().platform != "cpu") {}

  Status fill(const Strings& strings, const std::vector<std::string>& files, std::uint32_t groups,
              const Settings& settings) {
    groups_ = groups;
    job_.strings = strings.counters();
    job_.files = static_cast<std::uint32_t>(files.size());
    job_.chunk_bytes = settings.chunk_bytes;
    if (Status status = place_tables(strings); !status) return status;
    if (Status status = place_paths(files, settings.by == By::relaunch); !status) return status;
    job_.longest_kept = job_.words.longest - 1;
    job_.part_bytes_min = on_gpu_ ? part_bytes_min_gpu : part_bytes_min_cpu;
    return place_groups();
  }

  [[nodiscard]] const Job& job() const { return job_; }

  Status collect(Counts& counts) const {
    std::vector<std::uint64_t> rows(std::size_t{job_.strings} * groups_);
    std::vector<std::uint64_t> bytes(groups_);
    Status copied = runtime_.copy(rows.data(), job_.counts, rows.size() * sizeof(rows[0]));
    if (copied.ok()) {
      copied = runtime_.copy(bytes.data(), job_.bytes, bytes.size() * sizeof(bytes[0]));
    }
    if (!copied) return copied;
    counts.of_strings.assign(job_.strings, 0);
    for (std::size_t at = 0; at < rows.size(); ++at)
      counts.of_strings[at % job_.strings] += rows[at];
    for (const std::uint64_t each : bytes) counts.bytes += each;
    counts.errors.assign(job_.errors, job_.errors + job_.files);
    return {};
  }

 private:
  Status place_tables(const Strings& strings) {
    const auto tables = blocks_.on_device(strings.tables().bytes());
    const auto slots = blocks_.on_device(strings.slots().size() * sizeof(std::uint32_t));
    if (!tables) return tables.error();
    if (!slots) return slots.error();
    Status copied = runtime_.copy(*tables, strings.tables().image(), strings.tables().bytes());
    if (copied.ok()) {
      copied = runtime_.copy(*slots, strings.slots().data(),
                             strings.slots().size() * sizeof(std::uint32_t));
    }
    if (!copied) return copied;
    job_.words = strings.tables().at(*tables);
    job_.slots = static_cast<const std::uint32_t*>(*slots);
    return {};
  }

  // The pointers and their texts in one block of memory. On a GPU a kernel's call copies its path
  // from there; the host's calls of the relaunch baseline need shared memory.
  Status place_paths(const std::vector<std::string>& files, bool host_opens) {
    auto placed = apps::place_texts(runtime_, blocks_, files, on_gpu_ && !host_opens);
    const auto errors = blocks_.shared(files.size() * sizeof(std::int32_t));
    if (!placed) return placed.error();
    if (!errors) return errors.error();
    job_.paths = *placed;
    job_.errors = static_cast<std::int32_t*>(*errors);
    return {};
  }

  Status place_groups() {
    const std::size_t kept_bytes = apps::whole_pages(job_.longest_kept);
    const std::size_t chunk_bytes = apps::whole_pages(job_.chunk_bytes);
    job_.text_bytes = kept_bytes + chunk_bytes;
    const std::size_t bytes_of_all = job_.text_bytes * groups_;
    const auto texts = on_gpu_ ? blocks_.on_device(bytes_of_all) : blocks_.shared(bytes_of_all);
    const auto incoming = blocks_.shared(on_gpu_ ? chunk_bytes * groups_ : 0);
    if (!texts || !incoming) {
      return Error{ENOMEM, fmt::format("no memory for {} texts of {} KiB; lower --groups or "
                                       "--chunk-bytes",
                                       groups_, job_.text_bytes / 1024)};
    }
    // A small file touches few pages of its text, and Linux would clear each huge page as a whole.
    if (!on_gpu_) ::madvise(*texts, bytes_of_all, MADV_NOHUGEPAGE);
    const auto calls = blocks_.shared(sizeof(apps::SplitCall) * groups_);
    const auto counts =
        blocks_.on_device(sizeof(std::uint64_t) * std::size_t{job_.strings} * groups_);
    const auto bytes = blocks_.on_device(sizeof(std::uint64_t) * groups_);
    const auto states = blocks_.on_device(sizeof(State) * groups_);
    const auto next = blocks_.on_device(sizeof(std::uint32_t));
    for (const auto* const each : {&calls, &counts, &bytes, &states, &next}) {
      if (!*each) return each->error();
    }
    job_.texts = static_cast<unsigned char*>(*texts) + kept_bytes;
    job_.incoming = on_gpu_ ? static_cast<unsigned char*>(*incoming) : job_.texts;
    job_.incoming_bytes = on_gpu_ ? chunk_bytes : job_.text_bytes;
    job_.calls = static_cast<apps::SplitCall*>(*calls);
    std::fill_n(job_.calls, groups_, apps::SplitCall());
    job_.counts = static_cast<std::uint64_t*>(*counts);
    job_.bytes = static_cast<std::uint64_t*>(*bytes);
    job_.states = static_cast<State*>(*states);  // Zeroed: Step::take.
    job_.next = static_cast<std::uint32_t*>(*next);
    return {};
  }

  Runtime& runtime_;
  apps::DeviceBlocks blocks_;
  const bool on_gpu_;
  Job job_;
  std::uint32_t groups_ = 0;
};

Status launch_all(Runtime& runtime, const LaunchShape& shape, const Settings& settings,
                  const Job& job, Counts& counts) {
  const Calls calls = settings.by == By::kernel     ? Calls::wrapped
                      : settings.by == By::relaunch ? Calls::split
                                                    : Calls::direct;
  const auto launch = [&]() -> Status {
    ++counts.launches;
    auto report = launch_count(runtime, shape, calls, job);
    return report ? Status{} : report.error();
  };
  if (settings.by != By::relaunch) return launch();
  auto report = apps::split_launches(job.calls, shape.groups, settings.threads, launch);
  if (!report) return report.error();
  counts.host_calls = report->calls;
  return {};
}

}  // namespace

Result<Counts> count(const Strings& strings, const std::vector<std::string>& files,
                     const Settings& given, const RuntimeConfig& config) {
  Settings settings = given;
  if (settings.threads == 0) settings.threads = usable_cores();
  if (settings.by == By::openmp) {
    apps::Rates rates(settings.rates);
    const Instant begin = now();
    Counts counts = count_by_openmp(strings, files, settings.threads, settings.chunk_bytes);
    counts.seconds = seconds_since(begin);
    counts.rates = rates.end();
    return counts;
  }
  auto runtime = Runtime::create(config);
  if (!runtime) return runtime.error();
  const LaunchShape shape = shape_of(settings, runtime->device());
  JobMemory memory(*runtime);
  if (Status status = memory.fill(strings, files, shape.groups, settings); !status) {
    return status.error();
  }
  Counts counts;
  apps::Rates rates(settings.rates);
  const Instant begin = now();
  Status launched = launch_all(*runtime, shape, settings, memory.job(), counts);
  counts.seconds = seconds_since(begin);
  counts.rates = rates.end();
  if (!launched) return launched.error();
  if (Status collected = memory.collect(counts); !collected) return collected.error();
  return counts;
}

}  // namespace k2k::wordcount
