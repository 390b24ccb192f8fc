#include "labs/translation/measured/chase.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "base/clock.hpp"
#include "labs/translation/change_points.hpp"
#include "labs/translation/simulated/thesis.hpp"

namespace k2k::labs::translation {

namespace {

constexpr std::size_t line = 64;
constexpr std::uint64_t steps_least = 20'000;
constexpr std::uint64_t pages_least = 4;
constexpr std::uint64_t pages_most = 65'536;
constexpr std::uint32_t chains_most = 32;
constexpr std::uint64_t concurrency_pages = 16'384;
constexpr double never = std::numeric_limits<double>::infinity();

using Order = std::vector<std::uint32_t>;

Order shuffled(std::size_t count, std::uint64_t seed) {
  Order order(count);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  return order;
}

// The node in page `at`: its line within the page differs from the neighbours', so that the nodes
// spread over the sets of a cache.
char* node_in_page(char* memory, std::size_t page, std::size_t at) {
  return memory + at * page + at * 67 % (page / line) * line;
}
char* node_packed(char* memory, std::size_t /*page*/, std::size_t at) { return memory + at * line; }

using NodeOf = char* (*)(char* memory, std::size_t page, std::size_t at);

// Writes the address of the next node into each node of order[first], order[first + by], ….
char* link(char* memory, std::size_t page, NodeOf node, const Order& order, std::size_t first,
           std::size_t by) {
  char* const begin = node(memory, page, order[first]);
  char* at = begin;
  for (std::size_t next = first + by; next < order.size(); next += by) {
    char* const other = node(memory, page, order[next]);
    *reinterpret_cast<char**>(at) = other;
    at = other;
  }
  *reinterpret_cast<char**>(at) = begin;
  return begin;
}

// Follows `chains` chains side by side; returns the ns of a step.
template <std::uint32_t chains>
double follow(const std::vector<char*>& begins, std::uint64_t steps) {
  std::array<char*, chains> at{};
  std::copy_n(begins.begin(), chains, at.begin());
  const std::uint64_t before = cycles();
  for (std::uint64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 32
    for (std::uint32_t chain = 0; chain < chains; ++chain) {
      at[chain] = *reinterpret_cast<char* volatile*>(at[chain]);
    }
  }
  const std::uint64_t taken = cycles() - before;
  return static_cast<double>(taken) * nanoseconds_per_cycle() / static_cast<double>(steps);
}
using Follow = double (*)(const std::vector<char*>& begins, std::uint64_t steps);
template <std::uint32_t... counts>
constexpr std::array<Follow, sizeof...(counts)> table_of_follow(
    std::integer_sequence<std::uint32_t, counts...>) {
  return {follow<counts + 1>...};
}
constexpr auto follow_chains =
    table_of_follow(std::make_integer_sequence<std::uint32_t, chains_most>());

double fastest(const ChaseOptions& options, const std::vector<char*>& begins, std::uint64_t steps) {
  const Follow run = follow_chains[begins.size() - 1];
  run(begins, steps / 2 + 1);  // Fills caches and TLBs.
  double best = run(begins, steps);
  for (std::uint32_t repeat = 1; repeat < options.repeats; ++repeat) {
    best = std::min(best, run(begins, steps));
  }
  return best;
}

// Memory for the twins: few pages where Linux gives large ones.
Result<PageMemory> packed_memory(std::uint64_t nodes) {
  const std::size_t large = bytes_of(PageSize::large);
  const std::size_t bytes = (nodes * line + large - 1) / large * large;
  Result<PageMemory> memory = PageMemory::create(PageSize::large, bytes);
  return memory ? std::move(memory) : PageMemory::create(PageSize::small, bytes);
}

std::vector<std::uint64_t> footprints(std::uint64_t most) {
  std::vector<std::uint64_t> list;
  for (int quarter = 0;; ++quarter) {
    const auto pages = static_cast<std::uint64_t>(
        std::llround(static_cast<double>(pages_least) * std::exp2(quarter / 4.0)));
    if (pages > most) return list;
    if (list.empty() || pages != list.back()) list.push_back(pages);
  }
}

}  // namespace

Result<Chase> chase(PageSize size, const ChaseOptions& options) {
  const std::size_t page = bytes_of(size);
  const std::uint64_t most = std::min<std::uint64_t>(options.bytes_most / page, pages_most);
  if (most < pages_least) {
    return Error{ENOMEM, fmt::format("too little memory for four pages of {}; give more with "
                                     "--memory",
                                     name_of(size))};
  }
  const Result<PageMemory> memory = PageMemory::create(size, most * page);
  if (!memory) return memory.error();
  const Result<PageMemory> twin = packed_memory(most);
  if (!twin) return twin.error();
  Chase result{.size = size, .points = {}, .levels = {}};
  for (const std::uint64_t pages : footprints(most)) {
    result.points.push_back({pages, never, never});
  }
  for (std::uint32_t sweep = 0; sweep < options.sweeps; ++sweep) {
    for (ChasePoint& point : result.points) {
      const Order order = shuffled(point.pages, options.seed + point.pages);
      const std::uint64_t steps = std::max(steps_least, point.pages);
      const auto time = [&](const PageMemory& of, NodeOf node) {
        return fastest(options, {link(of.data(), page, node, order, 0, 1)}, steps);
      };
      point.twin_ns = std::min(point.twin_ns, time(twin.value(), node_packed));
      point.ns = std::min(point.ns, time(memory.value(), node_in_page));
    }
  }
  result.levels = levels_of(result.points);
  return result;
}

std::vector<Level> levels_of(const std::vector<ChasePoint>& points) {
  // From 1 ns on, so that a level without any cost has a logarithm.
  std::vector<double> values;
  for (const ChasePoint& one : points) values.push_back(one.translation_ns() + 1);
  std::vector<Level> levels;
  for (const Segment& one : segments_of(values, {.noise = 0.06, .step = 1.3, .least = 3})) {
    levels.push_back({points[one.last].pages, one.value - 1, one.last + 1 == points.size()});
  }
  return levels;
}

Result<Concurrency> concurrency(const ChaseOptions& options) {
  const std::size_t page = bytes_of(PageSize::small);
  const Result<PageMemory> memory = PageMemory::create(PageSize::small, concurrency_pages * page);
  if (!memory) return memory.error();
  const Result<PageMemory> twin = packed_memory(concurrency_pages);
  if (!twin) return twin.error();
  const Order order = shuffled(concurrency_pages, options.seed);
  std::vector<ConcurrencyPoint> points;
  for (const std::uint32_t chains :
       {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20, 24, 28, 32}) {
    points.push_back({chains, never, never});
  }
  for (std::uint32_t sweep = 0; sweep < options.sweeps; ++sweep) {
    for (ConcurrencyPoint& point : points) {
      const std::uint32_t chains = point.chains;
      const std::uint64_t steps = 2 * concurrency_pages / chains;
      const auto time = [&](const PageMemory& of, NodeOf node) {
        std::vector<char*> begins;
        for (std::uint32_t chain = 0; chain < chains; ++chain) {
          begins.push_back(link(of.data(), page, node, order, chain, chains));
        }
        return fastest(options, begins, steps);
      };
      point.ns = std::min(point.ns, time(memory.value(), node_in_page));
      point.twin_ns = std::min(point.twin_ns, time(twin.value(), node_packed));
    }
  }
  return concurrency_of(concurrency_pages, std::move(points));
}

Concurrency concurrency_of(std::uint64_t pages, std::vector<ConcurrencyPoint> points) {
  K2K_EXPECT(!points.empty());
  double best = points.front().ns;
  double twin_best = points.front().twin_ns;
  for (const ConcurrencyPoint& one : points) {
    best = std::min(best, one.ns / one.chains);
    twin_best = std::min(twin_best, one.twin_ns / one.chains);
  }
  Concurrency result{.pages = pages,
                     .points = std::move(points),
                     .loads_at_once = 0,
                     .twin_loads_at_once = 0,
                     .knee = 0};
  const ConcurrencyPoint& alone = result.points.front();
  result.loads_at_once = alone.ns / alone.chains / best;
  result.twin_loads_at_once = alone.twin_ns / alone.chains / twin_best;
  const auto knee =
      std::find_if(result.points.begin(), result.points.end(),
                   [&](const ConcurrencyPoint& one) { return one.ns / one.chains <= best * 1.1; });
  result.knee = knee->chains;
  return result;
}

Result<PageGain> page_gain(const ChaseOptions& options) {
  const std::size_t page = bytes_of(PageSize::small);
  const std::size_t large = bytes_of(PageSize::large);
  const std::size_t bytes = std::max(large, options.bytes_most / large * large);
  const Result<PageMemory> small = PageMemory::create(PageSize::small, bytes);
  if (!small) return small.error();
  const Result<PageMemory> wide = PageMemory::create(PageSize::large, bytes);
  if (!wide) return wide.error();
  const Order order = shuffled(bytes / page, options.seed);
  const std::uint64_t steps = std::max<std::uint64_t>(steps_least, order.size());
  return PageGain{fastest(options, {link(small->data(), page, node_in_page, order, 0, 1)}, steps),
                  fastest(options, {link(wide->data(), page, node_in_page, order, 0, 1)}, steps)};
}

Result<Strides> strides(const ChaseOptions& options) {
  const std::size_t page = bytes_of(PageSize::small);
  const std::uint64_t accesses = thesis::stride_accesses;
  const Result<PageMemory> memory = PageMemory::create(PageSize::small, accesses * page);
  if (!memory) return memory.error();
  const Result<PageMemory> other = PageMemory::create(PageSize::small, std::size_t{64} << 20);
  if (!other) return other.error();
  std::uint64_t sum = 0;
  const auto read = [&](const PageMemory& of, std::size_t stride, std::size_t count) {
    const std::uint64_t before = cycles();
    for (std::size_t at = 0; at < count; ++at) {
      sum ^= *reinterpret_cast<const volatile std::uint64_t*>(of.data() + at * stride);
    }
    return static_cast<double>(cycles() - before) * nanoseconds_per_cycle() / 1e3;
  };
  const auto measured = [&](std::size_t stride) {
    std::vector<double> times;
    for (std::uint32_t repeat = 0; repeat < options.sweeps * options.repeats; ++repeat) {
      read(other.value(), line, other->bytes() / line);
      times.push_back(read(memory.value(), stride, accesses));
    }
    return Stride{(accesses - 1) * stride / page + 1,
                  *std::min_element(times.begin(), times.end())};
  };
  return Strides{.line = measured(line), .page = measured(page)};
}

}  // namespace k2k::labs::translation
