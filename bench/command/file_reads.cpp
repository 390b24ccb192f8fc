// Does one request by the router take less time than the best single path?
//
// A file of 64 MiB, cached to a given share in extents, is read in blocks that do not overlap: by
// pread(2) through the page cache, by pread(2) with O_DIRECT, and by router::FileReader as the
// runtime configures it, into memory of Runtime::allocate_shared(). Before each of the three, the
// same pages are cached again; the three take turns within a round. A cell's ratio is the time of
// the faster single path (by its median) divided by ours, with the interval of the rounds' ratios.
//
// read_ahead_kib is the device's. Sequential reads under a bound of their cached pages are compared
// with Linux' read-ahead if the bound holds eight of its windows.
//
// The goals (goal_table.hpp) are those of SPIN, sections 6.1 to 6.3, and beyond.
//
// No mix is faster than the transfer of the uncached part at the bandwidth that O_DIRECT reaches in
// the same rounds. `possible` reports the gain that this limit permits: with a disk that is slow
// beside the copy, page cache and read-ahead keep the disk busy too, and no gain is possible.

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <regex>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "bench/command/bench.hpp"
#include "bench/command/cached_file.hpp"
#include "bench/command/goal_table.hpp"
#include "bench/command/measured_model.hpp"
#include "router/ahead/read_ahead_setting.hpp"
#include "router/read/file_reader.hpp"

namespace k2k::bench {

namespace {

constexpr std::size_t file_bytes = CachedFile::file_bytes;
constexpr std::size_t reads_max = 2000;  // Per round.
constexpr double cached_bytes_min =
    64.0 * mib;  // Read in a round, in several passes if all of it is cached.

constexpr Goal best_path = {"reads", "best single path / router"};
constexpr Goal best_path_of_small = {"reads", "best single path / router, below 4 KiB"};
constexpr Goal best_path_of_mixed = {"reads", "best single path / router, extents mixed"};
constexpr Goal page_cache = {"reads", "page cache / router, 8 MiB all cached, 4 threads"};
constexpr Goal direct_path = {"reads", "O_DIRECT / router, cold, random, 64 KiB and more"};

// A bound on the pages that sequential reads keep in the page cache.
struct Bound {
  const char* what;
  std::uint32_t pages;
  bool is_free;  // The device's own windows fit into it.
};

struct Cell {
  const char* what;
  std::size_t block;   // Per request.
  int residency;       // Cached percentage of the file's pages.
  std::size_t extent;  // Bytes that are cached together.
  std::uint32_t threads;
  bool sequential;
  std::optional<Goal> goal;  // Empty: no promise.
  std::uint32_t bound = 0;   // Pages; 0: Linux' own read-ahead.
};

// SPIN's bounds, and the bound that the device's windows need, if it is larger.
std::vector<Bound> bounds_of(std::uint64_t window_pages) {
  const auto needed = static_cast<std::uint32_t>(8 * window_pages);
  std::vector<Bound> bounds = {{"sequential, 512 pages ahead", 512, needed > 0 && needed <= 512}};
  const bool can_be = needed <= router::read_ahead_pages_max;
  if (needed > 512 && can_be) bounds.push_back({"sequential, 8 windows ahead", needed, true});
  return bounds;
}

// `window_pages`: the device's read_ahead_kb.
std::vector<Cell> all_cells(std::uint64_t window_pages) {
  std::vector<Cell> cells;
  for (const std::uint32_t threads : {1u, 4u}) {
    for (const std::size_t block : {2 * kib, 4 * kib, 16 * kib, 64 * kib, 512 * kib, 8 * mib}) {
      for (const int residency : {0, 50, 100}) {
        const bool cold_random = residency == 0 && block >= 64 * kib;
        const bool cached_large = residency == 100 && block == 8 * mib && threads == 4;
        const Goal other = block < page_bytes ? best_path_of_small : best_path;
        cells.push_back({"random", block, residency, 128 * kib, threads, false,
                         cold_random ? direct_path : (cached_large ? page_cache : other)});
      }
    }
  }
  for (const std::size_t extent : {32 * kib, 128 * kib, 512 * kib}) {
    for (const int residency : {25, 50, 75}) {
      cells.push_back({"mixed", 8 * mib, residency, extent, 1, false, best_path_of_mixed});
    }
  }
  for (const std::size_t block : {4 * kib, 64 * kib, 256 * kib}) {
    cells.push_back({"sequential", block, 0, 128 * kib, 1, true, best_path});
  }
  // If the bound does not hold the device's windows, or the request is larger than a window, the
  // only promise is the bound itself.
  for (const Bound& bound : bounds_of(window_pages)) {
    for (const std::size_t block : {4 * kib, 64 * kib, 256 * kib}) {
      const bool promised = bound.is_free && block <= window_pages * page_bytes;
      const std::optional<Goal> goal = promised ? std::optional(best_path) : std::nullopt;
      cells.push_back({bound.what, block, 0, 128 * kib, 1, true, goal, bound.pages});
    }
  }
  return cells;
}

std::string name_of(const Cell& cell) {
  return fmt::format("{} {} KiB, {} % in {} KiB, {} {}", cell.what, cell.block / kib,
                     cell.residency, cell.extent / kib, cell.threads,
                     cell.threads == 1 ? "thread" : "threads");
}

// The cells to measure.
Result<std::vector<Cell>> chosen_cells(std::vector<Cell> cells, Effort effort,
                                       const std::string& only) {
  if (only.empty()) {
    // In brief: one of each kind.
    std::erase_if(cells, [&](const Cell& cell) {
      const bool shown = cell.threads == 1 && (cell.block == 8 * mib || cell.sequential) &&
                         cell.extent == 128 * kib && cell.residency <= 50;
      return effort == Effort::brief && !shown;
    });
    return cells;
  }
  try {
    const std::regex pattern(only);
    std::erase_if(cells,
                  [&](const Cell& cell) { return !std::regex_search(name_of(cell), pattern); });
  } catch (const std::regex_error& error) {
    return Error{EINVAL, fmt::format("--only {}: no regular expression: {}", only, error.what())};
  }
  if (cells.empty()) {
    return Error{EINVAL, fmt::format("--only {}: no cell has such a name; one is '{}'", only,
                                     name_of(all_cells(0).front()))};
  }
  return cells;
}

// The blocks of one round, in the order in which they are read.
std::vector<std::uint64_t> offsets_of(const Cell& cell, std::uint64_t seed) {
  std::vector<std::uint64_t> offsets(file_bytes / cell.block);
  for (std::size_t at = 0; at < offsets.size(); ++at) offsets[at] = at * cell.block;
  if (!cell.sequential) {
    std::mt19937_64 random(seed);
    std::shuffle(offsets.begin(), offsets.end(), random);
  }
  if (offsets.size() > reads_max && !cell.sequential) offsets.resize(reads_max);
  return offsets;
}

// Memory as users get it.
class SharedMemory {
 public:
  static Result<SharedMemory> make(Runtime& runtime, std::size_t bytes) {
    const Result<void*> given = runtime.allocate_shared(bytes);
    if (!given) return given.error();
    std::memset(given.value(), 1, bytes);
    return SharedMemory(runtime, given.value());
  }
  [[nodiscard]] std::byte* get() const { return memory_.get(); }

 private:
  struct Give {
    Runtime* runtime;
    void operator()(std::byte* memory) const { runtime->free_shared(memory); }
  };
  SharedMemory(Runtime& runtime, void* memory)
      : memory_(static_cast<std::byte*>(memory), Give{&runtime}) {}

  std::unique_ptr<std::byte, Give> memory_;
};

// Seconds until `threads` have read all blocks together; negative if a read was short.
template <class Read>
double time_of(const Cell& cell, const std::vector<std::uint64_t>& offsets,
               const std::vector<SharedMemory>& memories, Read read) {
  const double bytes = static_cast<double>(offsets.size() * cell.block);
  const int passes =
      cell.residency < 100 ? 1 : static_cast<int>(std::ceil(cached_bytes_min / bytes));
  std::atomic<bool> ok{true};
  const auto work = [&](std::uint32_t thread) {
    for (int pass = 0; pass < passes; ++pass) {
      for (std::size_t at = thread; at < offsets.size(); at += cell.threads) {
        const ssize_t count = read(memories[thread].get(), cell.block, offsets[at]);
        if (count != static_cast<ssize_t>(cell.block)) ok = false;
      }
    }
  };
  const Instant begin = now();
  std::vector<std::thread> threads;
  for (std::uint32_t thread = 1; thread < cell.threads; ++thread)
    threads.emplace_back(work, thread);
  work(0);
  for (std::thread& thread : threads) thread.join();
  const double seconds = seconds_since(begin);
  return ok ? seconds / passes : -1;
}

struct ReadRates {
  Samples buffered, direct, ours;
  std::vector<double> buffered_ratios, direct_ratios;  // Their time / ours, one per round.
  std::uint64_t bytes_cache = 0, bytes_direct = 0;     // Ours, over all rounds.
};

Status measure(Runtime& runtime, const Cell& cell, const CachedFile& file,
               router::FileReader& reader, int rounds, ReadRates& measured) {
  std::vector<SharedMemory> memories;
  for (std::uint32_t thread = 0; thread < cell.threads; ++thread) {
    auto memory = SharedMemory::make(runtime, std::max(cell.block, page_bytes));
    if (!memory) return memory.error();
    memories.push_back(std::move(memory).value());
  }
  const router::ReaderStats before = reader.stats();
  const bool has_direct = cell.block % page_bytes == 0;
  for (int round = 0; round < rounds; ++round) {
    const std::vector<std::uint64_t> offsets =
        offsets_of(cell, static_cast<std::uint64_t>(round) + 10);
    double seconds[3] = {0, 0, 0};
    for (int turn = 0; turn < 3; ++turn) {
      const int path = (turn + round) % 3;
      if (path == 1 && !has_direct) continue;
      file.cache(cell.residency, cell.extent);
      const int descriptor = file.open(path == 1 ? O_DIRECT : 0);
      if (descriptor < 0) {
        return Error{errno, std::string("no O_DIRECT in the folder of temporary files: ") +
                                strerror(errno) + "; set TMPDIR to one on a disk"};
      }
      seconds[path] = time_of(
          cell, offsets, memories, [&](std::byte* memory, std::size_t bytes, std::uint64_t offset) {
            return path == 2
                       ? reader.pread(descriptor, memory, bytes, static_cast<std::int64_t>(offset))
                       : ::pread(descriptor, memory, bytes, static_cast<off_t>(offset));
          });
      if (path == 2) reader.closing(descriptor);
      ::close(descriptor);
      if (seconds[path] < 0) return Error{EIO, "a read of the benchmark's file came short"};
    }
    measured.buffered.add(seconds[0]);
    measured.buffered_ratios.push_back(seconds[0] / seconds[2]);
    if (has_direct) {
      measured.direct.add(seconds[1]);
      measured.direct_ratios.push_back(seconds[1] / seconds[2]);
    }
    measured.ours.add(seconds[2]);
  }
  const router::ReaderStats after = reader.stats();
  measured.bytes_cache = after.bytes_cache - before.bytes_cache;
  measured.bytes_direct = after.bytes_direct - before.bytes_direct;
  return {};
}

// The ratio to the best single path that a mix would reach if it took only as long as its uncached
// part.
Interval possible_of(const Cell& cell, const ReadRates& measured, bool direct_is_best) {
  const double uncached = 1 - cell.residency / 100.0;
  std::vector<double> ratios;
  for (std::size_t round = 0; round < measured.direct_ratios.size(); ++round) {
    const double best =
        direct_is_best ? 1 : measured.buffered_ratios[round] / measured.direct_ratios[round];
    ratios.push_back(best / uncached);
  }
  return interval_of(ratios);
}

nlohmann::ordered_json describe(const Cell& cell, const ReadRates& measured) {
  const std::size_t blocks = offsets_of(cell, 1).size();
  const auto gbs = [&](const Samples& samples) {
    return rounded(static_cast<double>(blocks * cell.block) / samples.median() / 1e9);
  };
  const bool direct_is_best =
      measured.direct.size() > 0 && measured.direct.median() < measured.buffered.median();
  // The two promises that name a peer are compared with that peer.
  const bool against_direct = cell.goal == direct_path;
  const bool against_buffered = cell.sequential || cell.goal == page_cache;
  const bool direct = against_direct || (direct_is_best && !against_buffered);
  const Interval ratio = interval_of(direct ? measured.direct_ratios : measured.buffered_ratios);
  nlohmann::ordered_json row = {
      {"what", cell.what},           {"block_kib", static_cast<double>(cell.block) / kib},
      {"residency", cell.residency}, {"extent_kib", cell.extent / kib},
      {"threads", cell.threads},     {"buffered_gbs", gbs(measured.buffered)}};
  if (measured.direct.size() > 0) row["direct_gbs"] = gbs(measured.direct);
  row["ours_gbs"] = gbs(measured.ours);
  row["cache_mib"] = rounded(static_cast<double>(measured.bytes_cache) / mib);
  row["direct_mib"] = rounded(static_cast<double>(measured.bytes_direct) / mib);
  row["against"] = direct ? "direct" : "buffered";
  row["ratio"] = rounded(ratio.mean);
  row["low"] = rounded(ratio.low);
  row["high"] = rounded(ratio.high);
  row["rounds"] = ratio.rounds;
  row["target"] = cell.goal ? (*cell.goal)->target : 0;
  row["verdict"] = nullptr;  // If there is no promise.
  row["more_rounds"] = nullptr;
  if (!cell.goal) return row;
  const GoalRow& goal = **cell.goal;
  const Judgement judgement = judge(ratio, goal.target, goal.better);
  row["verdict"] = name_of(judgement.verdict);
  if (judgement.more_rounds) row["more_rounds"] = *judgement.more_rounds;
  if (goal.target > 1) {
    const Interval possible = possible_of(cell, measured, direct_is_best);
    row["possible"] = rounded(possible.mean);
    row["out_of_reach"] = possible.high < goal.target;
  }
  return row;
}

}  // namespace

Result<nlohmann::ordered_json> file_reads(const RuntimeConfig& config, Effort effort,
                                          const std::string& only) {
  auto file = CachedFile::make();
  if (!file) return file.error();
  const int descriptor = file.value()->open(0);
  const std::uint64_t window_pages = router::read_ahead_pages(descriptor);
  ::close(descriptor);
  const auto cells = chosen_cells(all_cells(window_pages), effort, only);
  if (!cells) return cells.error();
  router::Model model = router::ReaderConfig().model;
  if (effort == Effort::full) {
    const auto fit = measured_fit(router::calibrate_time_default);
    if (!fit) return fit.error();
    model = fit.value().model;
  }
  auto runtime = Runtime::create(config);
  if (!runtime) return runtime.error();
  auto reader = router::FileReader::create({.model = model,
                                            .small_file_bytes = router::small_file_bytes_default,
                                            .trial_bytes = router::trial_bytes_default,
                                            .read_ahead_bytes = 8 * mib});
  if (!reader) return reader.error();
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  std::map<std::string, int> verdicts;
  for (const Cell& cell : cells.value()) {
    ReadRates measured;
    const int rounds = effort == Effort::brief ? 2 : 12;
    auto within = router::FileReader::create({.model = model,
                                              .small_file_bytes = router::small_file_bytes_default,
                                              .trial_bytes = router::trial_bytes_default,
                                              .read_ahead_bytes = 8 * mib,
                                              .partition_pages = cell.bound});
    if (!within) return within.error();
    router::FileReader& by = cell.bound > 0 ? *within.value() : *reader.value();
    if (Status status = measure(runtime.value(), cell, *file.value(), by, rounds, measured);
        !status) {
      return status.error();
    }
    rows.push_back(describe(cell, measured));
    if (cell.goal) ++verdicts[rows.back()["verdict"]];
  }
  const router::ReaderStats stats = reader.value()->stats();
  return nlohmann::ordered_json{{"model",
                                 {{"call_us", rounded(model.call_us)},
                                  {"cutoff_kib", model.cutoff_bytes / kib},
                                  {"direct_gbs", rounded(model.direct_gbs)},
                                  {"cache_gbs", rounded(model.cache_gbs)},
                                  {"next_us", rounded(model.next_us)}}},
                                {"read_ahead_kib", window_pages * page_bytes / kib},
                                {"rows", rows},
                                {"verdicts", verdicts},
                                {"reads", stats.reads},
                                {"probed", stats.probed},
                                {"fall_backs", stats.fall_backs}};
}

}  // namespace k2k::bench
