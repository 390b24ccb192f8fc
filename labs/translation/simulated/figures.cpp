#include "labs/translation/simulated/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <iterator>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/contract.hpp"

namespace k2k::labs::translation {

namespace {

// The thesis: contiguous pages of 4 KiB are fetched ahead (section 4.2.1), larger ones are not.
Machine machine_with(std::uint64_t page_bytes, std::uint32_t prefetch) {
  Machine machine;
  machine.page_bytes = page_bytes;
  machine.prefetch = page_bytes == small_page ? prefetch : 1;
  return machine;
}

bool has_keys(const Program& program) {
  return std::strcmp(program.name, "bpt") == 0 || std::strcmp(program.name, "xsbench") == 0;
}

// A program with its input in one order: where its accesses come from, round by round.
struct Subject {
  const Program* program;
  bool sorted;
  bool recorded;
  double footprint_gb;
  std::uint32_t rounds;
  std::function<WaveTrace(std::uint32_t)> trace_of;
};

std::vector<const RecordedTrace*> rounds_of(const std::vector<RecordedTrace>& recorded,
                                            const char* program, bool sorted) {
  std::vector<const RecordedTrace*> rounds;
  for (const RecordedTrace& one : recorded) {
    if (one.program == program && one.sorted == sorted) rounds.push_back(&one);
  }
  return rounds;
}

std::vector<Subject> subjects_of(const SimulatedOptions& options) {
  std::vector<Subject> subjects;
  for (const Program& program : programs()) {
    const bool recorded = !rounds_of(options.recorded, program.name, true).empty();
    for (const bool sorted : {true, false}) {
      if (recorded) {
        const auto rounds = rounds_of(options.recorded, program.name, sorted);
        if (rounds.empty()) continue;
        subjects.push_back({&program, sorted, true, static_cast<double>(rounds[0]->bytes) / 1e9,
                            static_cast<std::uint32_t>(rounds.size()),
                            [rounds](std::uint32_t round) { return rounds[round]->accesses; }});
      } else if (sorted || has_keys(program)) {
        const auto trace_of = [&program, &options, sorted](std::uint32_t round) {
          return program.trace(
              {.sorted = sorted, .part = options.part, .seed = options.seed * 1'000 + round});
        };
        subjects.push_back(
            {&program, sorted, false, program.footprint_gb, options.rounds, trace_of});
      }
    }
  }
  return subjects;
}

// Of each subject, in this order.
constexpr std::pair<std::uint64_t, std::uint32_t> settings[] = {
    {small_page, thesis::prefetch_pages}, {small_page, 1}, {large_page, 1}, {huge_page, 1}};

struct RoundCounts {
  std::vector<Counts> usual;  // A value a setting.
  std::optional<Counts> flushed;
};

RoundCounts counts_of(const Subject& subject, std::uint32_t round) {
  const WaveTrace trace = subject.trace_of(round);
  RoundCounts counts;
  for (const auto& [page_bytes, prefetch] : settings) {
    counts.usual.push_back(simulate(machine_with(page_bytes, prefetch), trace));
  }
  if (subject.sorted) {
    counts.flushed = simulate_flushed(machine_with(settings[0].first, settings[0].second), trace,
                                      counts.usual.front().ns);
  }
  return counts;
}

void add_runs(const Subject& subject, const std::vector<RoundCounts>& rounds,
              SimulatedFigures& figures) {
  const auto run_with = [&](std::size_t setting) {
    const auto& [page_bytes, prefetch] = settings[setting];
    return ProgramRun{subject.program->name, subject.sorted,       page_bytes, prefetch,
                      subject.recorded,      subject.footprint_gb, {}};
  };
  for (std::size_t setting = 0; setting < std::size(settings); ++setting) {
    ProgramRun& run = figures.runs.emplace_back(run_with(setting));
    for (const RoundCounts& round : rounds) run.rounds.push_back(round.usual[setting]);
  }
  if (!subject.sorted) return;
  ProgramRun& run = figures.flushed.emplace_back(run_with(0));
  for (const RoundCounts& round : rounds) run.rounds.push_back(*round.flushed);
}

// Calls work(0) to work(count - 1), on as many threads as there are cores.
void side_by_side(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  const auto take = [&] {
    for (std::size_t at = next++; at < count; at = next++) work(at);
  };
  std::vector<std::jthread> others;
  const std::size_t threads = std::min<std::size_t>(std::thread::hardware_concurrency(), count);
  for (std::size_t thread = 1; thread < threads; ++thread) others.emplace_back(take);
  take();
}

}  // namespace

Status judge_recorded(const std::vector<RecordedTrace>& recorded) {
  for (const RecordedTrace& one : recorded) {
    const bool known = std::any_of(programs().begin(), programs().end(),
                                   [&](const Program& each) { return one.program == each.name; });
    const char* const name = one.program.c_str();
    const std::size_t sorted = rounds_of(recorded, name, true).size();
    const std::size_t unsorted = rounds_of(recorded, name, false).size();
    if (!known) {
      return Error{EINVAL, fmt::format("'{}' is no program of the thesis' table 4.2", name)};
    }
    if (sorted < 2 || (unsorted != 0 && unsorted != sorted)) {
      return Error{EINVAL, fmt::format("{} has {} rounds sorted and {} unsorted; an interval needs "
                                       "two at least, as many in both orders: record them anew "
                                       "with k2k-accesses",
                                       name, sorted, unsorted)};
    }
  }
  return {};
}

std::vector<LatencyPoint> latency_by_items(std::uint32_t walkers) {
  std::vector<LatencyPoint> points;
  Machine machine = machine_with(small_page, 1);
  machine.walkers = walkers;
  constexpr std::uint32_t accesses = 200;
  for (std::uint32_t items = 1; items <= thesis::lanes; ++items) {
    points.push_back({items, simulate(machine, strided(items, small_page, accesses)).miss_ns()});
  }
  return points;
}

std::uint32_t knee_of(const std::vector<LatencyPoint>& points) {
  std::vector<double> values;
  for (const LatencyPoint& one : points) values.push_back(one.ns);
  const std::vector<Segment> segments = segments_of(values, {});
  return segments.empty() ? 0 : points[segments.front().last].items;
}

const ProgramRun& SimulatedFigures::run_of(const std::string& program, bool sorted,
                                           std::uint64_t page_bytes, std::uint32_t prefetch) const {
  const auto found = std::find_if(runs.begin(), runs.end(), [&](const ProgramRun& one) {
    return one.program == program && one.sorted == sorted && one.page_bytes == page_bytes &&
           one.prefetch == prefetch;
  });
  K2K_EXPECT(found != runs.end());
  return *found;
}

SimulatedFigures simulated_figures(const SimulatedOptions& options) {
  K2K_EXPECT(options.rounds >= 2 && options.part >= 1);
  K2K_EXPECT(judge_recorded(options.recorded));
  SimulatedFigures figures;
  figures.latency = latency_by_items(thesis::walkers);
  const WaveTrace lines = strided(1, line_bytes, thesis::stride_accesses);
  const WaveTrace pages = strided(1, small_page, thesis::stride_accesses);
  figures.line = simulate(machine_with(small_page, 1), lines);
  figures.page = simulate(machine_with(small_page, 1), pages);
  figures.page_prefetched = simulate(machine_with(small_page, thesis::prefetch_pages), pages);
  figures.page_large = simulate(machine_with(large_page, 1), pages);
  figures.faults = faults_by_items(machine_with(small_page, 1));
  figures.invalidations = invalidations_by_cores(thesis::command_queue);
  const std::vector<Subject> subjects = subjects_of(options);
  // Each round is a job of its own: programs take very different times.
  std::vector<std::vector<RoundCounts>> all(subjects.size());
  std::vector<std::pair<std::size_t, std::uint32_t>> jobs;
  for (std::size_t at = 0; at < subjects.size(); ++at) {
    all[at].resize(subjects[at].rounds);
    for (std::uint32_t round = 0; round < subjects[at].rounds; ++round)
      jobs.emplace_back(at, round);
  }
  std::mutex one_tells;
  std::size_t done = 0;
  side_by_side(jobs.size(), [&](std::size_t job) {
    const auto& [at, round] = jobs[job];
    all[at][round] = counts_of(subjects[at], round);
    const std::lock_guard lock(one_tells);
    if (options.told) options.told(++done, jobs.size());
  });
  for (std::size_t at = 0; at < subjects.size(); ++at) add_runs(subjects[at], all[at], figures);
  return figures;
}

}  // namespace k2k::labs::translation
