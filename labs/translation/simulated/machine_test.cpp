// Goal: the simulated machine keeps the laws of such machines for any accesses: tables replace the
// least recently used entry and a larger one holds all of a smaller one, no access is lost, a
// larger TLB never misses more, and time agrees with the constants.

#include "labs/translation/simulated/machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "labs/translation/simulated/programs.hpp"

namespace k2k::labs::translation {
namespace {

// Keys with some locality: half of them were used not long ago.
std::vector<std::uint64_t> keys_of(std::uint32_t seed, std::size_t count, std::uint64_t range) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> keys;
  for (std::size_t at = 0; at < count; ++at) {
    const bool old = at > 20 && random() % 2 == 0;
    keys.push_back(old ? keys[at - 1 - random() % 20] : random() % range);
  }
  return keys;
}

// Waves of any shape, for laws that hold whatever the order.
WaveTrace random_trace(std::uint32_t seed) {
  std::mt19937_64 random(seed);
  WaveTrace trace;
  for (std::uint32_t wave = 0; wave < 60; ++wave) {
    trace.begin_wave();
    const std::uint64_t count = random() % 40;
    for (std::uint64_t at = 0; at < count; ++at) {
      const auto lanes = static_cast<std::uint32_t>(1 + random() % 64);
      const std::uint64_t base = random() % 4'096 * small_page;
      const std::uint64_t stride = std::uint64_t{1} << (random() % 16);
      trace.access(lanes, 8, static_cast<std::uint32_t>(random() % 9), random() % 2 == 0,
                   [&](std::uint32_t lane) { return base + lane * stride; });
    }
  }
  return trace;
}

// One wavefront that waits for each access: its order does not depend on time.
WaveTrace ordered_trace(const std::vector<std::uint64_t>& pages) {
  WaveTrace trace;
  trace.begin_wave();
  for (const std::uint64_t page : pages) {
    trace.access(1, 8, 0, true, [&](std::uint32_t) { return page * small_page; });
  }
  return trace;
}

TEST(LruTable, keeps_the_most_recent_keys) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    LruTable table({8, 8});
    std::vector<std::uint64_t> recent;  // The last one is the most recent.
    for (const std::uint64_t key : keys_of(seed, 2'000, 24)) {
      const auto found = std::find(recent.begin(), recent.end(), key);
      ASSERT_EQ(table.find(key) != nullptr, found != recent.end());
      if (found == recent.end()) {
        table.insert(key, 0);
      } else {
        recent.erase(found);
      }
      recent.push_back(key);
      if (recent.size() > 8) recent.erase(recent.begin());
      ASSERT_EQ(table.size(), recent.size());
      for (const std::uint64_t one : recent) ASSERT_TRUE(table.contains(one));
    }
  }
}

TEST(LruTable, a_larger_table_holds_all_that_a_smaller_one_holds) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    std::vector<LruTable> tables;
    for (const std::uint32_t entries : {2u, 5u, 16u, 64u})
      tables.push_back(LruTable({entries, entries}));
    for (const std::uint64_t key : keys_of(seed, 3'000, 200)) {
      for (LruTable& table : tables) {
        if (table.find(key) == nullptr) table.insert(key, 0);
      }
      for (std::uint64_t any = 0; any < 200; ++any) {
        for (std::size_t at = 1; at < tables.size(); ++at) {
          ASSERT_TRUE(tables[at].contains(any) || !tables[at - 1].contains(any));
        }
      }
    }
  }
}

TEST(LruTable, a_set_replaces_its_own_entries_only) {
  LruTable table({4, 2});  // Two sets: even and odd keys.
  for (const std::uint64_t key : {0u, 1u, 2u, 4u}) table.insert(key, 0);
  EXPECT_FALSE(table.contains(0));
  EXPECT_TRUE(table.contains(1));
  EXPECT_TRUE(table.contains(2));
  EXPECT_TRUE(table.contains(4));
  table.erase(2);
  EXPECT_FALSE(table.contains(2));
  EXPECT_EQ(table.size(), 2u);
  table.clear();
  EXPECT_EQ(table.size(), 0u);
}

TEST(Machine, loses_no_access) {
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    const WaveTrace trace = random_trace(seed);
    for (const std::uint64_t page : {small_page, large_page, huge_page}) {
      for (const std::uint32_t prefetch : {1u, 8u}) {
        Machine machine;
        machine.page_bytes = page;
        machine.prefetch = prefetch;
        machine.walkers = 1 + seed % 20;
        machine.gpu_tlb = {32, 4};
        const Counts seen = simulate(machine, trace);
        EXPECT_EQ(seen.lines, trace.lines.size());
        std::uint64_t accesses = 0;
        std::uint64_t instructions = 0;
        for (const auto& one : trace.instructions) {
          accesses += one.lanes;
          instructions += one.compute + 1;
        }
        EXPECT_EQ(seen.accesses, accesses);
        EXPECT_EQ(seen.instructions, instructions);
        EXPECT_EQ(seen.translations, seen.unit_hits + seen.gpu_hits + seen.misses);
        EXPECT_EQ(seen.misses, seen.iommu_hits + seen.walks);
        EXPECT_LE(seen.line_hits, seen.lines);
        EXPECT_LE(seen.translations, seen.lines);
      }
    }
  }
}

TEST(Machine, walks_each_page_at_least_once_and_without_eviction_once) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    const WaveTrace trace = random_trace(seed);
    std::set<std::uint64_t> pages;
    for (const std::uint64_t line : trace.lines) pages.insert(line * line_bytes / small_page);
    Machine machine;
    machine.prefetch = 1;
    machine.iommu_tlb = {16, 4};
    machine.gpu_tlb = {16, 4};
    EXPECT_GE(simulate(machine, trace).walks, pages.size());
    machine.gpu_tlb = {1u << 16, 1u << 4};
    EXPECT_EQ(simulate(machine, trace).misses, pages.size());
  }
}

TEST(Machine, never_misses_more_with_a_larger_tlb) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    const WaveTrace trace = ordered_trace(keys_of(seed, 4'000, 600));
    std::uint64_t fewer = ~std::uint64_t{0};
    std::uint64_t walked = ~std::uint64_t{0};
    for (const std::uint32_t entries : {1u, 4u, 16u, 64u, 256u, 1'024u}) {
      Machine machine;
      machine.prefetch = 1;
      machine.unit_tlb = {4, 4};
      machine.gpu_tlb = {entries, entries};
      const Counts seen = simulate(machine, trace);
      EXPECT_LE(seen.misses, fewer) << entries;
      fewer = seen.misses;
      machine.gpu_tlb = {4, 4};
      machine.iommu_tlb = {entries, entries};
      const std::uint64_t walks = simulate(machine, trace).walks;
      EXPECT_LE(walks, walked) << entries;
      walked = walks;
    }
  }
}

TEST(Machine, more_walkers_never_take_longer_for_one_wavefront) {
  double longer = 1e30;
  for (const std::uint32_t walkers : {1u, 2u, 4u, 8u, 16u, 32u, 64u}) {
    Machine machine;
    machine.prefetch = 1;
    machine.walkers = walkers;
    const Counts seen = simulate(machine, strided(thesis::lanes, small_page, 50));
    EXPECT_LE(seen.ns, longer);
    longer = seen.ns;
  }
}

TEST(Machine, one_miss_costs_what_the_thesis_measured) {
  Machine machine;
  machine.prefetch = 1;
  const Counts lines = simulate(machine, strided(1, line_bytes, thesis::stride_accesses));
  const Counts pages = simulate(machine, strided(1, small_page, thesis::stride_accesses));
  EXPECT_EQ(lines.misses, thesis::stride_accesses * line_bytes / small_page + 1);
  EXPECT_EQ(pages.misses, thesis::stride_accesses);
  const double calculated =
      (pages.ns - lines.ns) / static_cast<double>(pages.misses - lines.misses);
  EXPECT_NEAR(calculated, thesis::gpu_miss_ns, 0.01 * thesis::gpu_miss_ns);
  EXPECT_NEAR(lines.ns / 1e3, thesis::line_us, 0.01 * thesis::line_us);
  EXPECT_NEAR(pages.ns / 1e3, thesis::page_us, 0.01 * thesis::page_us);
}

TEST(Machine, a_larger_page_and_a_prefetch_divide_the_misses_of_a_stride) {
  Machine machine;
  machine.prefetch = 8;
  EXPECT_EQ(simulate(machine, strided(1, small_page, 8'000)).misses, 1'000u);
  machine.prefetch = 1;
  machine.page_bytes = large_page;
  EXPECT_EQ(simulate(machine, strided(1, small_page, 512 * 20)).misses, 20u);
}

TEST(Machine, equal_arguments_give_equal_results) {
  const WaveTrace trace = random_trace(7);
  const Counts one = simulate({}, trace);
  const Counts two = simulate({}, trace);
  EXPECT_EQ(one.ns, two.ns);
  EXPECT_EQ(one.misses, two.misses);
  EXPECT_EQ(simulate({}, WaveTrace{}).instructions, 0u);
}

TEST(Programs, follow_from_their_seed_and_have_whole_waves) {
  for (const Program& program : programs()) {
    for (const bool sorted : {true, false}) {
      const WaveTrace trace = program.trace({.sorted = sorted, .seed = 3});
      const WaveTrace again = program.trace({.sorted = sorted, .seed = 3});
      EXPECT_EQ(trace.lines, again.lines) << program.name;
      ASSERT_FALSE(trace.waves.empty()) << program.name;
      EXPECT_EQ(trace.waves.back().first + trace.waves.back().count, trace.instructions.size());
      for (const auto& one : trace.instructions) {
        ASSERT_GE(one.lines, 1u) << program.name;
        ASSERT_LE(one.lines, 2 * one.lanes) << program.name;
        ASSERT_LE(one.lanes, thesis::lanes) << program.name;
      }
    }
  }
}

TEST(Programs, sorted_keys_touch_fewer_pages) {
  for (const char* name : {"bpt", "xsbench"}) {
    const auto pages = [&](bool sorted) {
      std::set<std::uint64_t> all;
      for (const std::uint64_t line : program_of(name).trace({.sorted = sorted}).lines) {
        all.insert(line * line_bytes / small_page);
      }
      return all.size();
    };
    EXPECT_LT(pages(true) * 2, pages(false)) << name;
  }
}

TEST(WaveTrace, coalesces_lanes_and_takes_both_lines_of_a_value_across_them) {
  WaveTrace trace;
  trace.begin_wave();
  trace.access(64, 8, 0, true, [](std::uint32_t lane) { return lane * 8; });
  trace.access(64, 8, 0, true, [](std::uint32_t) { return 4'096; });
  trace.access(1, 8, 0, true, [](std::uint32_t) { return 60; });
  EXPECT_EQ(trace.instructions[0].lines, 8u);
  EXPECT_EQ(trace.instructions[1].lines, 1u);
  EXPECT_EQ(trace.instructions[2].lines, 2u);
  EXPECT_EQ(trace.waves[0].count, 3u);
}

}  // namespace
}  // namespace k2k::labs::translation
