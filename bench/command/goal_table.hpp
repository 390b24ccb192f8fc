#pragma once
// The goals of `k2k bench`: one row each, and no other place states a goal. Benchmarks judge
// by these rows (goal.hpp), and `k2k bench`, its manual and the end of each run print them. Tests
// compare the rows with bench/budgets.toml and with the benchmarks' sources.
//
// Threading: constants and pure functions.

#include <cstddef>
#include <string>
#include <string_view>

#include "bench/verdict.hpp"

namespace k2k::bench {

struct GoalRow {
  std::string_view benchmark;  // `k2k bench NAME`.
  std::string_view title;      // The ratio; a figure that is no ratio, with its unit.
  Better better;
  double target;
  std::string_view budget = {};    // The row of bench/budgets.toml that measures the same ratio.
  std::string_view unjudged = {};  // The reason why the benchmark gives no verdict.
};

inline constexpr std::string_view differs_by_machine =
    "a time or a share of a core: it differs from machine to machine";
inline constexpr std::string_view is_zero = "a target of 0 has no ratio";

inline constexpr GoalRow goal_table[] = {
    {"roundtrip", "p50 with 64 waves / floor", Better::lower, 2, "round_trip"},
    {"roundtrip", "p50 with 8,448 waves / with 64", Better::lower, 1.3},
    {"roundtrip", "p50 with 16,384 waves / with 64", Better::lower, 1.3},
    {"onecore", "lone no-op / 1,000 multiplications", Better::lower, 0.15, "one_core"},
    {"onecore", "no-op of a wave / 1,000 multiplications", Better::lower, 0.07, "one_core_wave"},
    {"hostcall", "empty function in place / no-op", Better::lower, 1.2},
    {"hostcall", "getppid / getpid", Better::lower, 1.2},
    {"headofline", "p50 loaded / unloaded", Better::lower, 1.3, "head_of_line"},
    {"headofline", "p99 behind 64 cold reads of 1 MiB / unloaded, inline", Better::lower, 3},
    {"headofline", "p99 behind 64 cold reads of 1 MiB / unloaded, service threads", Better::lower,
     3, "", "unit, poller and reads need three cores"},
    {"pread", "device / direct", Better::higher, 0.87, "pread"},
    {"throughput", "whole waves / lines handed over", Better::higher, 0.6, "waves"},
    {"throughput", "executor / single", Better::higher, 0.7, "executor"},
    {"idle", "polling, p50 in us", Better::lower, 80, "", differs_by_machine},
    {"idle", "polling, share of a core", Better::lower, 0.05, "", differs_by_machine},
    {"idle", "quiet, share of a core", Better::lower, 0.005, "", differs_by_machine},
    {"idle", "quiet, first call in us", Better::lower, 1500, "", differs_by_machine},
    {"idle", "futex / bare", Better::lower, 2},
    {"control", "create and end with a socket, us more than without", Better::lower, 200, "",
     differs_by_machine},
    {"control", "its thread while idle, us of CPU time a second", Better::lower, 0, "", is_zero},
    {"small_files", "router off / on, with and without a profile", Better::higher, 0.97},
    {"reads", "best single path / router", Better::higher, 0.95},
    {"reads", "best single path / router, below 4 KiB", Better::higher, 0.9},
    {"reads", "best single path / router, extents mixed", Better::higher, 1.2, "mixed_reads"},
    {"reads", "page cache / router, 8 MiB all cached, 4 threads", Better::higher, 0.97},
    {"reads", "O_DIRECT / router, cold, random, 64 KiB and more", Better::higher, 0.98},
    {"writes", "default / exclusive, time of 64 MiB", Better::higher, 1, "",
     "the rows of its table have the intervals"},
    {"writes", "default / exclusive, CPU time of 64 MiB", Better::higher, 2, "",
     "the rows of its table have the intervals"},
    {"writes", "left in the page cache, MiB", Better::lower, 0, "", is_zero},
    {"wordcount", "relaunch / kernel, warm", Better::higher, 1},
    {"wordcount", "relaunch / kernel, cold", Better::higher, 1},
    {"wordcount", "kernel / direct calls on its threads, warm", Better::lower, 1.15},
    {"memcached", "kernel / relaunch, requests a second", Better::higher, 1.3},
    {"memcached", "threads / kernel, requests a second", Better::lower, 1.15},
    {"signal_search", "signals / direct signals on its threads", Better::lower, 1.15},
    {"graph500", "kernel / the same threads without a device, read before", Better::lower, 1.15},
    // Device / the same code with libc on the same threads.
    {"applications", "wordcount", Better::lower, 1.15},
    {"applications", "signal_search", Better::lower, 1.15},
    {"applications", "memcached", Better::lower, 1.15},
    {"applications", "miniamr", Better::lower, 1.15},
    {"applications", "display", Better::lower, 1.15},
    {"applications", "comd, pinned", Better::lower, 1.15},
    {"applications", "comd, demand", Better::lower, 1.15},
    {"applications", "minife, pinned", Better::lower, 1.15},
    {"applications", "minife, demand", Better::lower, 1.15},
    {"applications", "bpt, pinned", Better::lower, 1.15},
    {"applications", "bpt, demand", Better::lower, 1.15},
    {"applications", "xsbench, pinned", Better::lower, 1.15},
    {"applications", "xsbench, demand", Better::lower, 1.15},
    {"applications", "graph500, pinned", Better::lower, 1.15},
    {"applications", "graph500, demand", Better::lower, 1.15},
};

// A row of the table. A row that the table lacks does not compile.
class Goal {
 public:
  consteval Goal(std::string_view benchmark, std::string_view title)
      : row_(&row_of(benchmark, title)) {}

  constexpr const GoalRow& operator*() const { return *row_; }
  constexpr const GoalRow* operator->() const { return row_; }
  constexpr bool operator==(const Goal&) const = default;

 private:
  static consteval const GoalRow& row_of(std::string_view benchmark, std::string_view title) {
    for (const GoalRow& row : goal_table) {
      if (row.benchmark == benchmark && row.title == title) return row;
    }
    throw "bench/command/goal_table.hpp has no such row";
  }

  const GoalRow* row_;
};

// "device / direct >= 0.87".
std::string text_of(const GoalRow& row);
// The goals that the benchmark judges, as one line; empty if there are none.
std::string judged_goals(std::string_view benchmark);
// The goals that the benchmark does not judge, with the reasons, as one line; empty if none.
std::string unjudged_goals(std::string_view benchmark);

}  // namespace k2k::bench
