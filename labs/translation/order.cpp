// Which program comes first: the orders that section 4.4 states, round by round.

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <string_view>

#include "labs/translation/statements.hpp"

namespace k2k::labs::translation {

namespace {

// A ratio above 1: by more than a thousandth, so that equal programs have no order.
constexpr double order_least = 1.001;
constexpr double unbounded = std::numeric_limits<double>::infinity();
constexpr std::array<const char*, 6> all_programs = {"bpt",    "comd",     "miniamr",
                                                     "minife", "graph500", "xsbench"};

class OrderOfPrograms {
 public:
  explicit OrderOfPrograms(const SimulatedFigures& figures) : figures_(figures) {}

  std::vector<Statement> all() {
    by_large_pages();
    by_misses();
    by_keys();
    by_prefetch();
    return std::move(statements_);
  }

 private:
  [[nodiscard]] const ProgramRun& run(const char* program, bool sorted, std::uint64_t page_bytes,
                                      std::uint32_t prefetch) const {
    return figures_.run_of(program, sorted, page_bytes, prefetch);
  }
  [[nodiscard]] const ProgramRun& usual(const char* program, bool sorted = true) const {
    return run(program, sorted, small_page, thesis::prefetch_pages);
  }
  // Time with small pages over time with large ones.
  [[nodiscard]] double gain(const char* program, std::size_t round) const {
    return usual(program).rounds[round].ns / run(program, true, large_page, 1).rounds[round].ns;
  }
  [[nodiscard]] double rate(const char* program, std::size_t round, bool sorted = true) const {
    return usual(program, sorted).rounds[round].misses_a_thousand();
  }
  // Time of unsorted keys over time of sorted ones in small pages.
  [[nodiscard]] double slowdown(const char* program, std::size_t round, bool huge) const {
    const ProgramRun& unsorted = huge ? run(program, false, huge_page, 1) : usual(program, false);
    return unsorted.rounds[round].ns / usual(program).rounds[round].ns;
  }
  // Misses with the prefetch over misses without.
  [[nodiscard]] double prefetched(const char* program, std::size_t round,
                                  bool sorted = true) const {
    return rate(program, round, sorted) /
           run(program, sorted, small_page, 1).rounds[round].misses_a_thousand();
  }

  // Judges `value` of each round that all of the programs have.
  template <class Programs, class Value>
  void add(const Programs& programs, Statement statement, const Value& value) {
    std::size_t rounds = std::numeric_limits<std::size_t>::max();
    std::size_t recorded = 0;
    for (const char* const program : programs) {
      rounds = std::min(rounds, usual(program).rounds.size());
      recorded += usual(program).recorded ? 1 : 0;
    }
    std::vector<double> values;
    for (std::size_t round = 0; round < rounds; ++round) values.push_back(value(round));
    statement.ours = bench::interval_of(values);
    statement.source = "simulated";
    statement.accesses = recorded == 0                 ? "modelled"
                         : recorded == programs.size() ? "recorded"
                                                       : "recorded and modelled";
    statements_.push_back(std::move(statement));
  }
  using Names = std::initializer_list<const char*>;
  [[nodiscard]] static Statement first(const char* id, const char* section, const char* says,
                                       const char* printed, const char* note) {
    return {id, section, says, printed, "", order_least, unbounded, {}, note};
  }

  void by_large_pages() {
    const char* const section = "4.4.2, figure 4.3";
    const char* const note = "gain of the first over that of the second, of 2 MiB";
    const auto over = [&](const char* one, const char* other) {
      return
          [this, one, other](std::size_t round) { return gain(one, round) / gain(other, round); };
    };
    add(Names{"bpt", "comd"},
        first("order-gain-bpt", section, "Pages of 2 MB help BPT more than CoMD", "11.9 > 9.7 %",
              note),
        over("bpt", "comd"));
    add(Names{"comd", "miniamr"},
        first("order-gain-comd", section, "Pages of 2 MB help CoMD more than miniAMR",
              "9.7 > 4.6 %", note),
        over("comd", "miniamr"));
    add(Names{"miniamr", "graph500", "minife", "xsbench"},
        first("order-gain-miniamr", section,
              "Pages of 2 MB help miniAMR more than graph500, miniFE and XSBench", "4.6 % > 0",
              "gain of miniAMR over the largest of the three"),
        [&](std::size_t round) {
          return gain("miniamr", round) /
                 std::max({gain("graph500", round), gain("minife", round), gain("xsbench", round)});
        });
    Statement half{"order-gain-half",
                   "4.4, observation 3",
                   "Half of the programs are slowed by translation",
                   "3 of 6",
                   "",
                   2.5,
                   3.5,
                   {},
                   "programs that gain more than 2 % by 2 MiB"};
    add(all_programs, std::move(half), [&](std::size_t round) {
      const auto slowed =
          std::count_if(all_programs.begin(), all_programs.end(),
                        [&](const char* program) { return gain(program, round) > 1.02; });
      return std::max(1e-6, static_cast<double>(slowed));  // An interval needs more than 0.
    });
  }

  void by_misses() {
    const char* const section = "4.4.2, figure 4.3";
    add(Names{"bpt", "graph500"},
        first("order-rate-bpt", section, "BPT misses more often than graph500", "4.4 > 2.5",
              "misses a thousand instructions, BPT's over graph500's"),
        [&](std::size_t round) { return rate("bpt", round) / rate("graph500", round); });
    add(all_programs,
        first("order-rate-least", section,
              "graph500 is at the end of the spectrum: each other program misses more often",
              "<= 2.5", "the smallest rate of the others over graph500's"),
        [&](std::size_t round) {
          double least = unbounded;
          for (const char* const program : all_programs) {
            if (std::string_view(program) != "graph500")
              least = std::min(least, rate(program, round));
          }
          return least / rate("graph500", round);
        });
  }

  void by_keys() {
    const char* const section = "4.4.3, figure 4.4";
    for (const char* const program : {"bpt", "xsbench"}) {
      const bool bpt = std::string_view(program) == "bpt";
      add(Names{program},
          first(bpt ? "order-keys-bpt" : "order-keys-xsbench", section,
                bpt ? "BPT misses more often with unsorted keys"
                    : "XSBench misses more often with unsorted keys",
                "> 1", "misses of unsorted keys over misses of sorted ones"),
          [&](std::size_t round) { return rate(program, round, false) / rate(program, round); });
    }
    for (const bool huge : {false, true}) {
      add(Names{"bpt", "xsbench"},
          first(huge ? "order-slowdown-1g" : "order-slowdown", section,
                huge ? "In pages of 1 GB, too, unsorted keys slow BPT more than XSBench"
                     : "Unsorted keys slow BPT more than XSBench",
                huge ? "7 > 1.5 %" : "25 > 6 %", "BPT's slowdown over XSBench's"),
          [&](std::size_t round) {
            return slowdown("bpt", round, huge) / slowdown("xsbench", round, huge);
          });
    }
  }

  void by_prefetch() {
    add(Names{"xsbench", "miniamr"},
        first("order-prefetch", "4.4.4, figure 4.5",
              "The prefetch helps miniAMR and harms XSBench-unsorted", "1.24 > 0.5",
              "what it makes of XSBench-unsorted's misses over what it makes of miniAMR's"),
        [&](std::size_t round) {
          return prefetched("xsbench", round, false) / prefetched("miniamr", round);
        });
    Statement most{"order-prefetch-most",
                   "4.4.4",
                   "The prefetch reduces the misses of most programs",
                   "> 3 of 6",
                   "",
                   3.5,
                   6.5,
                   {},
                   "sorted programs with fewer misses by the prefetch"};
    add(all_programs, std::move(most), [&](std::size_t round) {
      const auto fewer = std::count_if(
          all_programs.begin(), all_programs.end(),
          [&](const char* program) { return prefetched(program, round) * order_least < 1; });
      return std::max(1e-6, static_cast<double>(fewer));
    });
  }

  const SimulatedFigures& figures_;
  std::vector<Statement> statements_;
};

}  // namespace

std::vector<Statement> statements_of_order(const SimulatedFigures& simulated) {
  return OrderOfPrograms(simulated).all();
}

}  // namespace k2k::labs::translation
