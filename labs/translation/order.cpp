// Which program comes first: the orders that section 4.4 states, round by round.

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <string_view>

#include "labs/translation/statements.hpp"

namespace k2k::labs::translation {

namespace {

// A program has fewer misses by the prefetch: by more than a thousandth.
constexpr double order_least = 1.001;
constexpr double unbounded = std::numeric_limits<double>::infinity();
constexpr std::array<const char*, 6> all_programs = {"bpt",    "comd",     "miniamr",
                                                     "minife", "graph500", "xsbench"};

class OrderOfPrograms {
 public:
  explicit OrderOfPrograms(const SimulatedFigures& figures) : figures_(figures) {}

  OurFigures all() {
    by_large_pages();
    by_misses();
    by_keys();
    by_prefetch();
    return std::move(order_);
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

  // The figure of `value` over the rounds that all of the programs have.
  template <class Programs, class Value>
  void add(const Programs& programs, const char* id, const Value& value) {
    std::size_t rounds = std::numeric_limits<std::size_t>::max();
    std::size_t recorded = 0;
    for (const char* const program : programs) {
      rounds = std::min(rounds, usual(program).rounds.size());
      recorded += usual(program).recorded ? 1 : 0;
    }
    std::vector<double> values;
    for (std::size_t round = 0; round < rounds; ++round) values.push_back(value(round));
    order_[id] = {.ours = bench::interval_of(values),
                  .accesses = recorded == 0                 ? "modelled"
                              : recorded == programs.size() ? "recorded"
                                                            : "recorded and modelled"};
  }
  using Names = std::initializer_list<const char*>;

  void by_large_pages() {
    const auto over = [&](const char* one, const char* other) {
      return
          [this, one, other](std::size_t round) { return gain(one, round) / gain(other, round); };
    };
    add(Names{"bpt", "comd"}, "order-gain-bpt", over("bpt", "comd"));
    add(Names{"comd", "miniamr"}, "order-gain-comd", over("comd", "miniamr"));
    add(Names{"miniamr", "graph500", "minife", "xsbench"}, "order-gain-miniamr",
        [&](std::size_t round) {
          return gain("miniamr", round) /
                 std::max({gain("graph500", round), gain("minife", round), gain("xsbench", round)});
        });
    add(all_programs, "order-gain-half", [&](std::size_t round) {
      const auto slowed =
          std::count_if(all_programs.begin(), all_programs.end(),
                        [&](const char* program) { return gain(program, round) > 1.02; });
      return std::max(1e-6, static_cast<double>(slowed));  // An interval needs more than 0.
    });
  }

  void by_misses() {
    add(Names{"bpt", "graph500"}, "order-rate-bpt",
        [&](std::size_t round) { return rate("bpt", round) / rate("graph500", round); });
    add(all_programs, "order-rate-least", [&](std::size_t round) {
      double least = unbounded;
      for (const char* const program : all_programs) {
        if (std::string_view(program) != "graph500") least = std::min(least, rate(program, round));
      }
      return least / rate("graph500", round);
    });
  }

  void by_keys() {
    for (const char* const program : {"bpt", "xsbench"}) {
      const bool bpt = std::string_view(program) == "bpt";
      add(Names{program}, bpt ? "order-keys-bpt" : "order-keys-xsbench",
          [&](std::size_t round) { return rate(program, round, false) / rate(program, round); });
    }
    for (const bool huge : {false, true}) {
      add(Names{"bpt", "xsbench"}, huge ? "order-slowdown-1g" : "order-slowdown",
          [&](std::size_t round) {
            return slowdown("bpt", round, huge) / slowdown("xsbench", round, huge);
          });
    }
  }

  void by_prefetch() {
    add(Names{"xsbench", "miniamr"}, "order-prefetch", [&](std::size_t round) {
      return prefetched("xsbench", round, false) / prefetched("miniamr", round);
    });
    add(all_programs, "order-prefetch-most", [&](std::size_t round) {
      const auto fewer = std::count_if(
          all_programs.begin(), all_programs.end(),
          [&](const char* program) { return prefetched(program, round) * order_least < 1; });
      return std::max(1e-6, static_cast<double>(fewer));
    });
  }

  const SimulatedFigures& figures_;
  OurFigures order_;
};

}  // namespace

OurFigures figures_of_order(const SimulatedFigures& simulated) {
  return OrderOfPrograms(simulated).all();
}

}  // namespace k2k::labs::translation
