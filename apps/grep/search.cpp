#include "apps/grep/search.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "apps/grep/watch.hpp"
#include "runtime/report/stats_text.hpp"

namespace k2k::grep {

namespace {

// Enough files in flight to keep a disk busy. Each more spreads the texts over more memory: with 32
// work-items a unit, a warm search takes 6 % longer than with 16, and a cold one 2 % less.
constexpr std::uint32_t items_default = 16;
// With work-groups.
constexpr std::uint32_t groups_per_unit = 16;
constexpr std::uint32_t group_items_default = 4;
// On a GPU, lanes of one warp that search different files wait for each other, and a lane alone
// loads a chunk slowly. So a warp takes a file.
constexpr std::uint32_t items_default_gpu = 32;  // A warp, at both granularities.
constexpr std::uint32_t groups_per_unit_gpu = 4;

KernelShape shape_of(const SearchOptions& options, const DeviceInfo& device) {
  const bool on_gpu = device.platform != "cpu";
  KernelShape shape;
  shape.granularity =
      options.granularity.value_or(on_gpu ? Granularity::work_group : Granularity::work_item);
  shape.halting = options.halting;
  shape.detached = options.detached;
  const bool by_group = shape.granularity == Granularity::work_group;
  const std::uint32_t per_unit = !by_group ? 1 : on_gpu ? groups_per_unit_gpu : groups_per_unit;
  shape.launch.groups = per_unit * device.compute_units;
  shape.launch.group_items = on_gpu     ? items_default_gpu
                             : by_group ? group_items_default
                                        : items_default;
  if (options.groups != 0) shape.launch.groups = options.groups;
  if (options.items != 0) shape.launch.group_items = options.items;
  return shape;
}

// The server's times are measured only on request (--stats): to measure the cost of a wake-up takes
// 10 ms.
void report_stats(const SearchOptions& options, const Counters& counters, double seconds,
                  const Runtime& runtime) {
  if (options.json) {
    nlohmann::ordered_json object;
    object["files"] = counters.files;
    object["directories"] = counters.directories;
    object["bytes"] = counters.bytes;
    object["matches"] = counters.matches;
    object["errors"] = counters.errors;
    object["seconds"] = seconds;
    object["server"] = to_json(runtime.stats());
    fmt::print(stderr, "{}\n", object.dump());
  } else if (options.stats) {
    fmt::print(stderr, "{}, {} directories, {:.3f} s\n{}", progress_text(counters, seconds),
               counters.directories, seconds, to_table(runtime.stats()));
  }
}

// The errno that ended or damaged the output; 0: none. A closed pipe is not reported.
int output_error(const Counters& counters, const std::vector<server::DetachedError>& detached) {
  if (counters.write_error != 0) return static_cast<int>(counters.write_error);
  for (const server::DetachedError& each : detached) {
    if (each.name == "write") return each.error;
  }
  return 0;
}

}  // namespace

int complain(const std::string& message) {
  fmt::print(stderr, "k2k grep: {}\n", message);
  return exit_trouble;
}

int search(const SearchOptions& options, RuntimeConfig config) {
  if (options.words.empty()) return exit_not_found;  // As grep: without a word, no file is opened.
  auto words = WordSet::build(options.words);
  if (!words) return complain(words.error().message);
  auto created = Runtime::create(config);
  if (!created) return complain(created.error().message);
  Runtime& runtime = created.value();
  const KernelShape shape = shape_of(options, runtime.device());
  auto made = WorkerBuffers::create(runtime, words.value(), shape.workers(), options.job);
  if (!made) return complain(made.error().message);
  WorkerBuffers& buffers = *made.value();

  // If names go to the same terminal, a progress bar would mix with them.
  const bool draws = options.progress == Progress::always ||
                     (options.progress == Progress::automatic && ::isatty(STDERR_FILENO) == 1 &&
                      ::isatty(STDOUT_FILENO) == 0);
  const auto begin = std::chrono::steady_clock::now();
  Status failure;
  {
    const Watch watch(runtime, buffers, draws, options.detached && !options.job.quiet);
    auto report = launch_search(runtime, shape, buffers.job());
    if (!report) failure = report.error();
  }
  auto drained = runtime.drain();
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  if (!failure) return complain(failure.error().message);
  if (!drained) return complain(drained.error().message);

  const Counters counters = buffers.sum();
  report_stats(options, counters, spent.count(), runtime);
  const int error = output_error(counters, drained.value());
  if (error != 0 && error != EPIPE) complain(fmt::format("write error: {}", std::strerror(error)));
  if (options.job.quiet && counters.matches != 0) return exit_found;
  if (counters.errors != 0 || error != 0) return exit_trouble;
  return counters.matches != 0 ? exit_found : exit_not_found;
}

}  // namespace k2k::grep
