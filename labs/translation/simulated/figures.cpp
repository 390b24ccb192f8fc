#include "labs/translation/simulated/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <iterator>
#include <thread>

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

struct SubjectRuns {
  std::vector<ProgramRun> runs;
  std::vector<ProgramRun> flushed;
};

SubjectRuns runs_of(const Subject& subject) {
  SubjectRuns all;
  const auto run_with = [&](std::uint64_t page_bytes, std::uint32_t prefetch) {
    return ProgramRun{subject.program->name, subject.sorted,       page_bytes, prefetch,
                      subject.recorded,      subject.footprint_gb, {}};
  };
  all.runs = {run_with(small_page, thesis::prefetch_pages), run_with(small_page, 1),
              run_with(large_page, 1), run_with(huge_page, 1)};
  if (subject.sorted) all.flushed = {run_with(small_page, thesis::prefetch_pages)};
  for (std::uint32_t round = 0; round < subject.rounds; ++round) {
    const WaveTrace trace = subject.trace_of(round);
    for (ProgramRun& run : all.runs) {
      run.rounds.push_back(simulate(machine_with(run.page_bytes, run.prefetch), trace));
    }
    for (ProgramRun& run : all.flushed) {
      run.rounds.push_back(simulate_flushed(machine_with(run.page_bytes, run.prefetch), trace,
                                            all.runs.front().rounds.back().ns));
    }
  }
  return all;
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
  std::vector<SubjectRuns> all(subjects.size());
  side_by_side(subjects.size(), [&](std::size_t at) { all[at] = runs_of(subjects[at]); });
  for (SubjectRuns& one : all) {
    std::move(one.runs.begin(), one.runs.end(), std::back_inserter(figures.runs));
    std::move(one.flushed.begin(), one.flushed.end(), std::back_inserter(figures.flushed));
  }
  return figures;
}

}  // namespace k2k::labs::translation
