// Goal: page faults and invalidations of the simulated machine keep their laws for any accesses:
// each page that is touched faults once, each invalidation retires once and in turn, no translation
// outlives the invalidation of its page, deeper queues and larger batches are never slower, and the
// times are those of the thesis where nothing waits.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "labs/translation/simulated/fault_desk.hpp"
#include "labs/translation/simulated/machine.hpp"
#include "labs/translation/simulated/programs.hpp"

namespace k2k::labs::translation {
namespace {

constexpr double forever = 1e15;

// Waves of any shape over 4,096 pages.
WaveTrace any_trace(std::uint32_t seed) {
  std::mt19937_64 random(seed);
  WaveTrace trace;
  for (std::uint32_t wave = 0; wave < 40; ++wave) {
    trace.begin_wave();
    const std::uint64_t count = random() % 30;
    for (std::uint64_t at = 0; at < count; ++at) {
      const std::uint64_t base = random() % 4'096 * small_page;
      const std::uint64_t stride = std::uint64_t{1} << (random() % 14);
      trace.access(static_cast<std::uint32_t>(1 + random() % 64), 8, 2, random() % 2 == 0,
                   [&](std::uint32_t lane) { return base + lane * stride; });
    }
  }
  return trace;
}

std::size_t pages_of(const WaveTrace& trace, std::uint64_t page_bytes) {
  std::set<std::uint64_t> pages;
  for (const std::uint64_t line : trace.lines) pages.insert(line * line_bytes / page_bytes);
  return pages.size();
}

std::vector<Invalidation> any_invalidations(std::uint32_t seed, std::uint32_t cores) {
  std::mt19937_64 random(seed);
  std::vector<Invalidation> all;
  for (std::uint32_t at = 0; at < 200; ++at) {
    Invalidation one;
    one.core = static_cast<std::uint32_t>(random() % cores);
    one.at_ns = static_cast<double>(random() % 400'000);
    one.page = random() % 4'096;
    one.pages = random() % 4 == 0 ? 0 : 1 + random() % 64;
    one.unmaps = random() % 2 == 0;
    all.push_back(one);
  }
  return all;
}

TEST(Faults, map_each_page_once_and_lose_no_access) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    const WaveTrace trace = any_trace(seed);
    for (const std::uint64_t page_bytes : {small_page, large_page}) {
      Machine machine;
      machine.page_bytes = page_bytes;
      machine.prefetch = 1 + seed % 8;
      machine.gpu_tlb = {32, 4};
      machine.iommu_tlb = {16, 4};
      const Counts without = simulate(machine, trace);
      EXPECT_EQ(without.faults, 0u);
      machine.demand = true;
      machine.fault_batch = 1 + seed % 7;
      const Counts seen = simulate(machine, trace);
      EXPECT_EQ(seen.faults, pages_of(trace, page_bytes));
      EXPECT_EQ(seen.accesses, without.accesses);
      EXPECT_EQ(seen.lines, trace.lines.size());
      EXPECT_EQ(seen.translations, seen.unit_hits + seen.gpu_hits + seen.misses);
      EXPECT_EQ(seen.misses, seen.iommu_hits + seen.walks);
      EXPECT_GE(seen.walks, seen.faults);
      EXPECT_GE(seen.fault_batches * machine.fault_batch, seen.faults);
      EXPECT_LE(seen.fault_batches, seen.faults);
      EXPECT_GE(seen.driver_ns, static_cast<double>(seen.faults) * thesis::fault_ns);
      EXPECT_GE(seen.fault_wait_ns, seen.driver_ns);
    }
  }
}

TEST(Faults, bring_no_neighbours_that_are_not_mapped) {
  Machine machine;
  machine.demand = true;
  EXPECT_EQ(simulate(machine, strided(1, small_page, 80)).faults, 80u);
  EXPECT_EQ(simulate(machine, strided(1, small_page, 80)).misses, 80u);
  machine.demand = false;
  EXPECT_EQ(simulate(machine, strided(1, small_page, 80)).misses, 10u);
}

TEST(FaultDesk, serves_requests_in_turn_one_batch_after_another) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    FaultDesk desk(1 + seed % 9);
    double arrives = 0;
    double before = 0;
    for (std::uint32_t at = 0; at < 500; ++at) {
      arrives += static_cast<double>(random() % 8'000);
      const double done = desk.serve(arrives);
      ASSERT_GE(done, before + thesis::fault_ns);
      ASSERT_GE(done, arrives + thesis::fault_ns);
      before = done;
    }
    EXPECT_LE(desk.batches(), 500u);
  }
}

TEST(FaultDesk, is_never_slower_with_larger_batches_of_a_burst) {
  constexpr std::uint32_t burst = 100;
  std::vector<double> before(burst, forever);
  for (const std::uint32_t batch : {1u, 2u, 3u, 10u, 32u, 99u, 100u, 512u}) {
    FaultDesk desk(batch);
    for (std::uint32_t at = 0; at < burst; ++at) {
      const double done = desk.serve(1'000);
      EXPECT_LE(done, before[at]);
      before[at] = done;
      const std::uint32_t batches = at / batch + 1;
      EXPECT_NEAR(done, 1'000 + batches * thesis::fault_batch_ns + (at + 1) * thesis::fault_ns, 1);
    }
    EXPECT_EQ(desk.batches(), (burst + batch - 1) / batch);
  }
}

TEST(Faults, take_what_the_thesis_states_where_nothing_else_waits) {
  Machine machine;
  machine.demand = true;
  const Counts one = simulate(machine, strided(1, small_page, 1'000));
  EXPECT_NEAR(one.driver_ns / 1e3 / static_cast<double>(one.faults), thesis::one_fault_us, 1e-6);
  EXPECT_EQ(one.fault_batches, one.faults);
  const Counts many = simulate(machine, strided(64, small_page, 1'000));
  EXPECT_NEAR(static_cast<double>(many.faults) / many.ns * 1e6, thesis::faults_64_a_ms,
              0.03 * thesis::faults_64_a_ms);
  EXPECT_LT(many.fault_batches, many.faults / 10);
}

TEST(Invalidations, retire_once_each_in_turn_and_leave_no_part_out) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    const auto all = any_invalidations(seed, 1 + seed % 6);
    const auto times = times_of(all, 1 + seed % 4);
    ASSERT_EQ(times.size(), all.size());
    std::map<std::uint32_t, double> core_free;
    std::vector<std::pair<double, double>> iommu;
    for (std::size_t at = 0; at < all.size(); ++at) {
      const auto& parts = all[at].pages == 0 ? thesis::all_entries : thesis::one_entry;
      ASSERT_GE(times[at].asked_ns, all[at].at_ns);
      ASSERT_GE(times[at].asked_ns, core_free[all[at].core]) << "a core waits for its own";
      ASSERT_GE(times[at].iommu_ns, times[at].asked_ns + parts.initialise + parts.iommu - 1e-6);
      ASSERT_GE(times[at].gpu_ns, times[at].iommu_ns + parts.gpu - 1e-6);
      ASSERT_NEAR(times[at].retired_ns, times[at].gpu_ns + parts.finalise, 1e-6);
      core_free[all[at].core] = times[at].retired_ns;
      iommu.emplace_back(times[at].iommu_ns, times[at].gpu_ns);
    }
    std::sort(iommu.begin(), iommu.end());
    for (std::size_t at = 1; at < iommu.size(); ++at) {
      ASSERT_GE(iommu[at].first, iommu[at - 1].first + thesis::one_entry.iommu - 1e-6);
      ASSERT_GE(iommu[at].second, iommu[at - 1].second + thesis::one_entry.gpu - 1e-6);
    }
    EXPECT_EQ(simulate({}, any_trace(seed), all).invalidations, all.size());
    EXPECT_EQ(simulate({}, WaveTrace{}, all).invalidations, all.size());
  }
}

TEST(Invalidations, take_the_times_of_table_4_4_one_at_a_time) {
  const std::vector<Invalidation> all = {{.pages = 1}, {}, {.pages = 3}};
  const auto times = times_of(all, 1);
  for (std::size_t at = 0; at < all.size(); ++at) {
    const auto& parts = all[at].pages == 0 ? thesis::all_entries : thesis::one_entry;
    EXPECT_NEAR(times[at].retired_ns - times[at].asked_ns, parts.sum(), 1e-6);
  }
  EXPECT_NEAR(times[2].retired_ns, 2 * thesis::one_entry.sum() + thesis::all_entries.sum(), 1e-6);
}

TEST(Invalidations, never_retire_later_with_a_deeper_queue) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    auto all = any_invalidations(seed, 1);
    // A core for each: the order is that of the requests, whatever the queue.
    for (std::uint32_t at = 0; at < all.size(); ++at) all[at].core = at;
    std::vector<double> before(all.size(), forever);
    for (const std::uint32_t depth : {1u, 2u, 3u, 8u, 512u}) {
      const auto times = times_of(all, depth);
      for (std::size_t at = 0; at < all.size(); ++at) {
        ASSERT_LE(times[at].retired_ns, before[at]) << depth;
        before[at] = times[at].retired_ns;
      }
    }
    const auto serial = times_of(all, 1);
    const auto deep = times_of(all, 2);
    EXPECT_LT(deep.back().retired_ns, serial.back().retired_ns) << "the two parts overlap";
  }
}

TEST(Invalidations, leave_no_translation_behind) {
  // One wavefront touches one page for a long time: each invalidation costs one walk, no more.
  WaveTrace trace;
  trace.begin_wave();
  for (std::uint32_t at = 0; at < 2'000; ++at) {
    trace.access(1, 8, 0, true, [](std::uint32_t) { return 7 * small_page; });
  }
  for (const bool demand : {false, true}) {
    Machine machine;
    machine.demand = demand;
    machine.prefetch = 1;
    const double end = simulate(machine, trace).ns;
    for (const std::uint64_t pages : {0u, 1u}) {
      std::vector<Invalidation> all;
      for (std::uint32_t at = 1; at <= 10; ++at) {
        all.push_back({.at_ns = end * at / 12, .page = 7, .pages = pages, .unmaps = at % 2 == 0});
      }
      const Counts seen = simulate(machine, trace, all);
      EXPECT_EQ(seen.walks, 11u);
      EXPECT_EQ(seen.faults, demand ? 6u : 0u) << "five of them unmap the page";
      EXPECT_EQ(seen.invalidated, 30u) << "of three TLBs";
      EXPECT_GT(seen.ns, end);
      if (pages == 0) continue;
      for (Invalidation& one : all) one.page = 8;
      EXPECT_EQ(simulate(machine, trace, all).walks, 1u) << "another page";
    }
  }
}

TEST(Invalidations, with_faults_lose_no_access) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    const WaveTrace trace = any_trace(seed);
    const auto all = any_invalidations(seed, 3);
    Machine machine;
    machine.demand = true;
    const Counts seen = simulate(machine, trace, all);
    EXPECT_EQ(seen.invalidations, all.size());
    EXPECT_EQ(seen.lines, trace.lines.size());
    EXPECT_EQ(seen.translations, seen.unit_hits + seen.gpu_hits + seen.misses);
    EXPECT_EQ(seen.misses, seen.iommu_hits + seen.walks);
    EXPECT_GE(seen.faults, pages_of(trace, small_page));
    EXPECT_LE(seen.faults, seen.walks);
    EXPECT_EQ(seen.ns, simulate(machine, trace, all).ns);
  }
}

TEST(LruTable, holds_all_of_a_smaller_one_whatever_is_invalidated) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<LruTable> tables;
    for (const std::uint32_t entries : {2u, 5u, 16u, 64u})
      tables.push_back(LruTable({entries, entries}));
    for (std::uint32_t step = 0; step < 2'000; ++step) {
      const std::uint64_t key = random() % 120;
      const bool erases = random() % 10 == 0;
      const std::uint64_t count = 1 + random() % 9;
      for (LruTable& table : tables) {
        const std::size_t size = table.size();
        if (erases) {
          const std::size_t erased = table.erase_range(key, count);
          ASSERT_EQ(erased, size - table.size());
          for (std::uint64_t at = 0; at < count; ++at) ASSERT_FALSE(table.contains(key + at));
        } else if (table.find(key) == nullptr) {
          table.insert(key, 0);
        }
      }
      for (std::uint64_t any = 0; any < 130; ++any) {
        for (std::size_t at = 1; at < tables.size(); ++at) {
          ASSERT_TRUE(tables[at].contains(any) || !tables[at - 1].contains(any));
        }
      }
    }
  }
}

}  // namespace
}  // namespace k2k::labs::translation
