#include "labs/translation/statements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

namespace k2k::labs::translation {

namespace {

constexpr double any = std::numeric_limits<double>::infinity();
constexpr const char* simulated_source = "simulated";
constexpr const char* measured_source = "measured";
constexpr const char* arithmetic = "arithmetic";

// A figure that has no noise.
bench::Interval exactly(double value) { return {value, value, value, 1}; }

using Value = double (*)(const Counts&);
double misses(const Counts& one) { return one.misses_a_thousand(); }
double time(const Counts& one) { return one.ns; }

// The ratio of two runs over the rounds, each with the same input in both.
bench::Interval quotient(const ProgramRun& above, const ProgramRun& below, Value value) {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < above.rounds.size(); ++round) {
    ratios.push_back(value(above.rounds[round]) / value(below.rounds[round]));
  }
  return bench::interval_of(ratios);
}

bench::Interval each(const ProgramRun& run, Value value) {
  std::vector<double> values;
  for (const Counts& round : run.rounds) values.push_back(value(round));
  return bench::interval_of(values);
}

class Chapter {
 public:
  Chapter(const SimulatedFigures& simulated, const MeasuredRatios& measured)
      : simulated_(simulated), measured_(measured) {}

  std::vector<Statement> all() {
    micro_benchmarks();
    page_sizes();
    locality();
    prefetching();
    faults();
    shootdowns();
    return std::move(statements_);
  }

 private:
  void add(Statement statement) { statements_.push_back(std::move(statement)); }
  // Of a figure that follows from a program's accesses.
  void add_of(const char* program, Statement statement) {
    statement.accesses = usual(program).recorded ? "recorded" : "modelled";
    add(std::move(statement));
  }
  [[nodiscard]] const ProgramRun& usual(const char* program, bool sorted = true) const {
    return simulated_.run_of(program, sorted, small_page, thesis::prefetch_pages);
  }
  [[nodiscard]] const ProgramRun& in_pages(const char* program, std::uint64_t bytes,
                                           bool sorted = true) const {
    return simulated_.run_of(program, sorted, bytes, 1);
  }

  void micro_benchmarks() {
    const auto of = [](std::uint64_t count) { return exactly(static_cast<double>(count)); };
    add({"stride-line", "4.4.1, table 4.3", "10,000 accesses 64 bytes apart miss the TLB 166 times",
         "166", simulated_source, 150, 182, of(simulated_.line.misses),
         "10,000 lines lie in 157 pages; the thesis' kernel has other pages, too"});
    add({"stride-page", "4.4.1, table 4.3", "10,000 accesses 4 KiB apart miss the TLB 10,010 times",
         "10,010", simulated_source, 9'900, 10'120, of(simulated_.page.misses),
         "without prefetch"});
    add({"stride-page-prefetched", "4.2.1, 4.4.1", "The same, with the default prefetch of 8 pages",
         "10,010", simulated_source, 9'900, 10'120, of(simulated_.page_prefetched.misses),
         "8 contiguous pages a response leave an eighth of these misses: the thesis' 10,010 are "
         "those without a prefetch, or its counter counts otherwise"});
    const double calculated = (simulated_.page.ns - simulated_.line.ns) /
                              static_cast<double>(simulated_.page.misses - simulated_.line.misses);
    add({"miss-latency", "4.4.1, table 4.3", "A TLB miss of the GPU costs 582 ns", "582 ns",
         simulated_source, 570, 594, exactly(calculated),
         "by the thesis' calculation from two strides; the constant is the thesis'"});
    add({"miss-25-times", "4.4.1", "A TLB miss of the GPU is 25 times as slow as the CPU's", "25 x",
         arithmetic, 24, 26,
         exactly((thesis::page_us - thesis::line_us) / (thesis::page_misses - thesis::line_misses) /
                 ((thesis::cpu_page_us - thesis::cpu_line_us) /
                  (thesis::cpu_page_misses - thesis::cpu_line_misses))),
         "from table 4.3; one sentence of section 4.4.1 prints 25 %"});
    add({"knee", "4.4.1, figure 4.2", "The latency of misses jumps beyond 16 work-items", "16",
         simulated_source, 16, 16, of(knee_of(simulated_.latency)), "by a change-point fit"});
  }

  void page_sizes() {
    add_of("bpt",
           {"bpt-rate", "4.4.2, figure 4.3", "BPT misses 0.5 to 4.4 times a thousand instructions",
            "0.5 to 4.4", simulated_source, 0.5, 4.4, each(usual("bpt"), misses),
            "rates depend on the estimated number of other instructions"});
    add_of("graph500", {"graph500-rate",
                        "4.4.2, figure 4.3",
                        "graph500 misses at most 2.5 times a thousand instructions",
                        "<= 2.5",
                        simulated_source,
                        0,
                        2.5,
                        each(usual("graph500"), misses),
                        {}});
    for (const char* const program : {"bpt", "graph500"}) {
      const bool bpt = std::string(program) == "bpt";
      add_of(program, {bpt ? "bpt-2m" : "graph500-2m", "4.4.2, figure 4.3",
                       bpt ? "Pages of 2 MB make BPT's misses negligible"
                           : "Pages of 2 MB eliminate almost all misses of graph500",
                       "about 0", simulated_source, 0, 0.05,
                       quotient(in_pages(program, large_page), usual(program), misses),
                       "misses with 2 MiB over misses with 4 KiB"});
    }
    constexpr struct {
      const char* id;
      const char* program;
      const char* says;
      const char* printed;
      double low;
      double high;
    } gains[] = {
        {"bpt-gain", "bpt", "BPT runs up to 11.9 % faster with 2 MB", "11.9 %", 1.02, 1.119},
        {"comd-gain", "comd", "CoMD runs up to 9.7 % faster with 2 MB", "9.7 %", 1.02, 1.097},
        {"miniamr-gain", "miniamr", "miniAMR runs up to 4.6 % faster with 2 MB", "4.6 %", 1.01,
         1.046},
        {"graph500-gain", "graph500", "graph500 is insensitive to translation", "0", 0.98, 1.01},
        {"minife-gain", "minife", "miniFE is insensitive to translation", "0", 0.98, 1.01},
        {"xsbench-gain", "xsbench", "XSBench (sorted) is insensitive to translation", "0", 0.98,
         1.01},
    };
    for (const auto& one : gains) {
      add_of(
          one.program,
          {one.id, "4.4.2, figure 4.3", one.says, one.printed, simulated_source, one.low, one.high,
           quotient(usual(one.program), in_pages(one.program, large_page), time),
           "time with 4 KiB over time with 2 MiB; the other wavefronts of a unit hide the walks"});
    }
    Statement gain{"larger-pages",
                   "4.4, observation 4",
                   "Larger pages reduce the cost of misses",
                   "-",
                   measured_source,
                   1.05,
                   any,
                   {},
                   measured_.no_page_gain};
    if (measured_.page_gain.size() >= 2) {
      gain.ours = bench::interval_of(measured_.page_gain);
      gain.note = "a random load in 4 KiB over the same load in 2 MiB, on this machine";
    }
    add(gain);
  }

  void locality() {
    for (const char* const program : {"bpt", "xsbench"}) {
      const bool bpt = std::string(program) == "bpt";
      add_of(
          program,
          {bpt ? "bpt-unsorted" : "xsbench-unsorted", "4.4.3, figure 4.4",
           bpt ? "BPT with unsorted keys takes 25 % longer"
               : "XSBench with unsorted keys takes 6 % longer",
           bpt ? "1.25" : "1.06", simulated_source, bpt ? 1.15 : 1.03, bpt ? 1.35 : 1.12,
           quotient(usual(program, false), usual(program), time),
           bpt ? "the simulated search reads whole nodes: memory's bandwidth limits unsorted keys"
               : "in the model 64 lanes need 64 pages at a time, and the walkers limit all"});
      add_of(program, {bpt ? "bpt-1g-misses" : "xsbench-1g-misses",
                       "4.4.3, figure 4.4",
                       bpt ? "Pages of 1 GB leave BPT-unsorted nearly no misses"
                           : "Pages of 1 GB leave XSBench-unsorted nearly no misses",
                       "about 0",
                       simulated_source,
                       0,
                       0.02,
                       quotient(in_pages(program, huge_page, false), usual(program, false), misses),
                       {}});
      const ProgramRun& base = usual(program);
      const ProgramRun& slow = usual(program, false);
      const ProgramRun& large = in_pages(program, huge_page, false);
      std::vector<double> parts;
      for (std::size_t round = 0; round < base.rounds.size(); ++round) {
        parts.push_back(std::max(1e-6, (slow.rounds[round].ns - large.rounds[round].ns) /
                                           (slow.rounds[round].ns - base.rounds[round].ns)));
      }
      add_of(program,
             {bpt ? "bpt-1g-time" : "xsbench-1g-time", "4.4.3, figure 4.4",
              "Poor locality affects translation more than the rest of the memory",
              bpt ? "(26 - 7) / 26" : "(6 - 1.5) / 6", simulated_source, 0.5, 1,
              bench::interval_of(parts), "the part of the slowdown that pages of 1 GiB remove"});
    }
  }

  void prefetching() {
    const auto effect = [&](const char* program, bool sorted) {
      return quotient(usual(program, sorted), in_pages(program, small_page, sorted), misses);
    };
    add_of("xsbench",
           {"prefetch-xsbench", "4.4.4, figure 4.5",
            "The prefetch raises XSBench-unsorted's misses by up to 24 %", "1.24", simulated_source,
            1.01, 1.24, effect("xsbench", false), "misses with the prefetch over misses without"});
    add_of(
        "xsbench",
        {"prefetch-xsbench-time", "4.4.4, figure 4.5",
         "The prefetch makes XSBench-unsorted nearly 3 % slower", "1.03", simulated_source, 1.005,
         1.035, quotient(usual("xsbench", false), in_pages("xsbench", small_page, false), time),
         "time with the prefetch over time without"});
    add_of("miniamr",
           {"prefetch-miniamr", "4.4.4, figure 4.5", "The prefetch halves miniAMR's misses", "0.5",
            simulated_source, 0.4, 0.6, effect("miniamr", true),
            "the simulated blocks have contiguous pages, and gain more"});
  }

  void faults() {
    const std::vector<FaultPoint>& points = simulated_.faults;
    const FaultPoint& one = points.front();
    const FaultPoint& most = points.back();
    const FaultPoint& half = points[points.size() - 2];
    const char* const section = "4.5.1, figure 4.6";
    add({"faults-one", section, "A page fault of one work-item takes 5 us", "5 us",
         simulated_source, thesis::one_fault_us * 0.95, thesis::one_fault_us * 1.05,
         exactly(one.driver_us), "as the driver sees it; the constant is the thesis'"});
    add({"faults-rate", section, "With 64 work-items 260 faults a ms are served", "260",
         simulated_source, thesis::faults_64_a_ms * 0.95, thesis::faults_64_a_ms * 1.05,
         exactly(most.a_ms), "the driver's time for a fault is derived from this number"});
    add({"faults-64", section, "With 64 work-items a fault takes around 100 us", "100 us",
         simulated_source, thesis::faults_64_us * 0.8, thesis::faults_64_us * 1.2,
         exactly(most.driver_us),
         "bursts: each of 64 faults waits for half of the others on average, at 260 a ms"});
    add({"faults-flat", section, "Throughput does not scale beyond 32 faults at a time", "1",
         simulated_source, 0.95, 1.05, exactly(most.a_ms / half.a_ms),
         "faults a ms with 64 work-items over those with 32"});
    add({"faults-wait", "4.5.1", "Only a small part of a fault's latency is its processing", "-",
         simulated_source, 0, 0.25, exactly(thesis::fault_ns / 1e3 / most.driver_us),
         "the driver's time for a fault over the latency, with 64 work-items"});
    add({"faults-80-times", "4.5.1", "A page fault is 3 to 80 times as slow as the CPU's", "80",
         arithmetic, 76, 84, exactly(thesis::most_fault_us / thesis::cpu_fault_us),
         "140 us over 1.7 us"});
    add({"faults-clock", "4.5.1, figure 4.7",
         "At 1.7 GHz instead of 3.7 GHz the latency nearly doubles", "2", arithmetic, 1.8, 2.2,
         exactly(thesis::fast_ghz / thesis::slow_ghz),
         "if all of it is the driver's instructions"});
    add({"faults-little", section,
         "64 outstanding faults take 100 us each, and 260 a ms are served", "100 us", arithmetic,
         90, 110, exactly(thesis::lanes / thesis::faults_64_a_ms * 1e3),
         "Little's law: 64 always outstanding at 260 a ms take 246 us each. In bursts half of them "
         "are outstanding on average"});
    add({"faults-scale",
         "4.5, figures 4.6 to 4.9",
         "Latency and throughput of the device's faults",
         "-",
         measured_source,
         0,
         any,
         {},
         "measured by k2k bench faults, not by this laboratory"});
  }

  void shootdowns() {
    const auto row = [&](const char* id, const char* says, const char* printed,
                         const thesis::Shootdown& one, const char* note) {
      add({id, "4.6, table 4.4", says, printed, arithmetic, one.printed * 0.999,
           one.printed * 1.001, exactly(one.sum()), note});
    };
    row("shootdown-one", "The parts of a shootdown of one entry sum to 4,234 ns", "4,234 ns",
        thesis::one_entry, "4,232: rounded parts");
    row("shootdown-all", "The parts of a shootdown of all entries sum to 4,409 ns", "4,409 ns",
        thesis::all_entries,
        "the printed parts sum to 4,508 ns: one number of the row is misprinted");
    add({"shootdown-same", "4.6", "One entry or all: no significant difference", "-", arithmetic,
         0.9, 1.1, exactly(thesis::all_entries.sum() / thesis::one_entry.sum()), "by the sums"});
    add({"shootdown-halves",
         "4.6",
         "The IOMMU and the GPU take nearly equal parts",
         "-",
         arithmetic,
         0.9,
         1.1,
         exactly(thesis::one_entry.iommu / thesis::one_entry.gpu),
         {}});
    in_the_queue();
    Statement cores{"shootdown-cores",
                    "4.6",
                    "A GPU's shootdown takes as long as one of 4 to 8 CPU cores",
                    "4,234 ns",
                    measured_source,
                    thesis::one_entry.printed / 2,
                    thesis::one_entry.printed * 2,
                    {},
                    measured_.no_shootdown};
    if (measured_.shootdown_ns.size() >= 2) {
      cores.ours = bench::interval_of(measured_.shootdown_ns);
      cores.note = "munmap of a page on this machine, within a factor of two";
    }
    add(cores);
  }

  void in_the_queue() {
    const auto alone = [&](const char* id, const char* says, const char* printed, bool all,
                           double ns, const char* note) {
      add({id, "4.6, table 4.4", says, printed, simulated_source, ns * 0.99, ns * 1.01,
           exactly(invalidations(1, all).ns), note});
    };
    alone("invalidate-one", "A shootdown of one entry takes 4,234 ns", "4,234 ns", false,
          thesis::one_entry.printed, "by a core alone, from the thesis' parts");
    alone("invalidate-all", "A shootdown of all entries takes 4,409 ns", "4,409 ns", true,
          thesis::all_entries.printed, "by a core alone; its parts sum to 4,508 ns");
    add({"invalidate-cores", "4.6", "Shootdowns may become a bottleneck of larger systems", "-",
         simulated_source, 2, any, exactly(invalidations(8, false).ns / invalidations(1, false).ns),
         "the latency with 8 cores over that with one: the queue's commands follow each other"});
  }
  [[nodiscard]] const InvalidationPoint& invalidations(std::uint32_t cores, bool all) const {
    return *std::find_if(
        simulated_.invalidations.begin(), simulated_.invalidations.end(),
        [&](const InvalidationPoint& one) { return one.cores == cores && one.all == all; });
  }

  const SimulatedFigures& simulated_;
  const MeasuredRatios& measured_;
  std::vector<Statement> statements_;
};

}  // namespace

const char* Statement::verdict() const {
  if (!ours) return "not measurable here";
  if (ours->low >= low && ours->high <= high) return "reproduced";
  if (ours->high < low || ours->low > high) return "not reproduced";
  return "cannot tell";
}

std::vector<Statement> statements_of(const SimulatedFigures& simulated,
                                     const MeasuredRatios& measured) {
  std::vector<Statement> all = Chapter(simulated, measured).all();
  std::vector<Statement> order = statements_of_order(simulated);
  std::move(order.begin(), order.end(), std::back_inserter(all));
  return all;
}

nlohmann::ordered_json json_of(const Statement& statement) {
  nlohmann::ordered_json json = {{"table", "statements"},
                                 {"id", statement.id},
                                 {"section", statement.section},
                                 {"says", statement.says},
                                 {"thesis", statement.thesis},
                                 {"source", statement.source},
                                 {"accesses", nullptr},
                                 {"permitted", {statement.low, nullptr}},
                                 {"ours", nullptr},
                                 {"verdict", statement.verdict()},
                                 {"note", statement.note}};
  if (statement.accesses != nullptr) json["accesses"] = statement.accesses;
  if (statement.high != any) json["permitted"][1] = statement.high;
  if (statement.ours) {
    json["ours"] = {{"low", statement.ours->low},
                    {"mean", statement.ours->mean},
                    {"high", statement.ours->high},
                    {"rounds", statement.ours->rounds}};
  }
  return json;
}

}  // namespace k2k::labs::translation
