// Goal: the probes of this machine measure what they say: memory in the pages asked for, chains
// that touch each page, faults that Linux counts, changes of mappings that other cores hear of.
// Figures are not judged here; pure functions are.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <string>
#include <vector>

#include "base/cores.hpp"
#include "labs/translation/measured/chase.hpp"
#include "labs/translation/measured/faults.hpp"
#include "labs/translation/measured/shootdown.hpp"

namespace k2k::labs::translation {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

TEST(PageMemory, is_aligned_and_populated_in_the_pages_asked_for) {
  for (const PageSize size : {PageSize::small, PageSize::large, PageSize::huge}) {
    const Result<PageMemory> memory = PageMemory::create(size, 4 * bytes_of(size));
    if (!memory) {
      EXPECT_NE(size, PageSize::small);
      EXPECT_EQ(memory.error().code, ENOMEM);
      EXPECT_NE(memory.error().message.find("as root: echo"), std::string::npos)
          << memory.error().message;
      continue;
    }
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->data()) % bytes_of(size), 0u);
    rusage before{};
    rusage after{};
    ::getrusage(RUSAGE_THREAD, &before);
    for (std::size_t at = 0; at < memory->bytes(); at += 4'096) memory->data()[at] = 2;
    ::getrusage(RUSAGE_THREAD, &after);
    EXPECT_LE(after.ru_minflt - before.ru_minflt, 2) << name_of(size);
  }
}

TEST(PageMemory, says_how_to_reserve_pages_that_linux_has_not) {
  // More than any machine reserves.
  const Result<PageMemory> memory = PageMemory::create(PageSize::huge, std::size_t{1} << 46);
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().message,
            "no 70368744177664 bytes in pages of 1 GiB: none are reserved; as root: echo 65536 "
            "> /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages");
}

TEST(PageMemory, reads_the_huge_pages_of_one_mapping) {
  const char* const smaps =
      "7f0000000000-7f0000400000 rw-p 00000000 00:00 0\nSize: 4096 kB\nAnonHugePages:      2048 "
      "kB\n"
      "7f0000400000-7f0000800000 rw-p 00000000 00:00 0\nSize: 4096 kB\nAnonHugePages:      4096 "
      "kB\n";
  EXPECT_EQ(huge_bytes_in(smaps, 0x7f0000000000), 2 * mib);
  EXPECT_EQ(huge_bytes_in(smaps, 0x7f0000400000), 4 * mib);
  EXPECT_EQ(huge_bytes_in(smaps, 0x7f00007fffff), 4 * mib);
  EXPECT_EQ(huge_bytes_in(smaps, 0x7f0000800000), 0u);
  EXPECT_EQ(huge_bytes_in("", 0x7f0000400000), 0u);
}

std::vector<ChasePoint> points_of(const std::vector<std::pair<std::uint64_t, double>>& steps) {
  std::vector<ChasePoint> points;
  for (int quarter = 0; quarter < 52; ++quarter) {
    const auto pages = static_cast<std::uint64_t>(4 * std::exp2(quarter / 4.0));
    double ns = steps.back().second;
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      if (pages <= step->first) ns = step->second;
    }
    const double twin = pages < 700 ? 1.2 : 4;  // Its own step must not show.
    points.push_back({pages, twin + ns, twin});
  }
  return points;
}

TEST(Levels, are_the_steps_of_what_translation_adds) {
  const std::vector<Level> levels = levels_of(points_of({{96, 0}, {2'048, 2.5}, {1u << 30, 24}}));
  ASSERT_EQ(levels.size(), 3u);
  EXPECT_EQ(levels[0].reach_pages, 90u) << "the last footprint up to 96 pages";
  EXPECT_NEAR(levels[0].ns, 0, 0.01);
  EXPECT_EQ(levels[1].reach_pages, 2'048u);
  EXPECT_NEAR(levels[1].ns, 2.5, 0.01);
  EXPECT_FALSE(levels[1].last);
  EXPECT_TRUE(levels[2].last);
  EXPECT_NEAR(levels[2].ns, 24, 0.1);
}

TEST(Levels, a_machine_without_a_step_has_one) {
  const std::vector<Level> levels = levels_of(points_of({{1u << 30, 0}}));
  ASSERT_EQ(levels.size(), 1u);
  EXPECT_TRUE(levels[0].last);
  EXPECT_TRUE(levels_of({}).empty());
}

TEST(Chase, measures_each_footprint_and_finds_levels) {
  const Result<Chase> seen =
      chase(PageSize::small, {.sweeps = 1, .repeats = 2, .bytes_most = 16 * mib});
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(seen->points.front().pages, 4u);
  EXPECT_EQ(seen->points.back().pages, 4'096u);
  for (const ChasePoint& one : seen->points) {
    EXPECT_GT(one.ns, 0.1) << one.pages;
    EXPECT_LT(one.ns, 1e5) << one.pages;
    EXPECT_GT(one.twin_ns, 0.1) << one.pages;
  }
  ASSERT_FALSE(seen->levels.empty());
  EXPECT_TRUE(seen->levels.back().last);
}

TEST(Chase, refuses_less_than_four_pages) {
  const Result<Chase> seen = chase(PageSize::large, {.bytes_most = 4 * mib});
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().message,
            "too little memory for four pages of 2 MiB; give more with --memory");
}

TEST(Concurrency, is_the_latency_over_the_best_time_a_load) {
  // A machine with six walks at a time of 30 ns each, and a cache that takes 5 ns and twenty loads.
  std::vector<ConcurrencyPoint> points;
  for (const std::uint32_t chains : {1u, 2u, 4u, 6u, 8u, 12u, 16u}) {
    points.push_back({chains, std::max(30.0, 5.0 * chains), std::max(5.0, 0.25 * chains)});
  }
  const Concurrency seen = concurrency_of(1'000, points);
  EXPECT_NEAR(seen.loads_at_once, 6, 0.01);
  EXPECT_EQ(seen.knee, 6u);
  EXPECT_NEAR(seen.twin_loads_at_once, 16, 0.01);
}

TEST(Concurrency, measures_more_chains_in_less_time_a_load) {
  const Result<Concurrency> seen = concurrency({.sweeps = 1, .repeats = 2});
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(seen->points.front().chains, 1u);
  EXPECT_EQ(seen->points.back().chains, 32u);
  EXPECT_GE(seen->loads_at_once, 1.0);
  EXPECT_GE(seen->knee, 1u);
}

TEST(PageGain, measures_the_same_loads_in_both_sizes) {
  const Result<PageGain> seen = page_gain({.sweeps = 1, .repeats = 2, .bytes_most = 32 * mib});
  if (!seen) GTEST_SKIP() << seen.error().message;
  EXPECT_GT(seen->small_ns, 0.1);
  EXPECT_GT(seen->large_ns, 0.1);
}

TEST(Strides, touch_the_pages_that_they_say) {
  const Result<Strides> seen = strides({.sweeps = 1, .repeats = 2});
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(seen->line.pages, 157u);
  EXPECT_EQ(seen->page.pages, 10'000u);
  EXPECT_GT(seen->line.us, 0);
  EXPECT_GT(seen->page.us, 0);
}

TEST(Faults, are_counted_by_linux_one_a_page) {
  const Result<std::vector<FaultCost>> costs = fault_costs(512, 2);
  ASSERT_TRUE(costs) << costs.error().message;
  ASSERT_EQ(costs->size(), 6u);
#if defined(K2K_TSAN)
  constexpr bool shadowed = true;  // Its shadow has page faults, too.
#else
  constexpr bool shadowed = false;
#endif
  for (const FaultCost& one : costs.value()) {
    if (!one.absent.empty()) {
      EXPECT_STREQ(one.kind, "zeros, 2 MiB") << one.absent;
      continue;
    }
    EXPECT_GT(one.ns, 50) << one.kind;
    EXPECT_LT(one.ns, 1e8) << one.kind;
    if (std::string(one.kind) == "zeros, 2 MiB") {
      EXPECT_GE(one.faults, 4u);
    } else if (std::string(one.kind) != "file, cached" && !shadowed) {
      EXPECT_NEAR(static_cast<double>(one.faults), 512, 20) << one.kind;
    }
  }
}

TEST(Faults, a_limit_of_memory_is_an_error_with_a_remedy) {
#if defined(K2K_TSAN)
  GTEST_SKIP() << "ThreadSanitizer needs more address space than the limit leaves";
#endif
  // In a child: the limit cannot be raised again.
  const auto told = [] {
    rlimit limit{};
    limit.rlim_cur = limit.rlim_max = 64 * mib;
    ::setrlimit(RLIMIT_AS, &limit);
    const Result<std::vector<FaultCost>> costs = fault_costs(1u << 18, 1);
    return !costs && costs.error().code == ENOMEM &&
           costs.error().message.find("free memory") != std::string::npos;
  };
  EXPECT_EXIT(::_exit(told() ? 0 : 1), testing::ExitedWithCode(0), "");
}

TEST(Shootdowns, are_measured_for_one_core_and_for_all) {
  const Result<std::vector<ShootdownCost>> costs = shootdown_costs(20);
  ASSERT_TRUE(costs) << costs.error().message;
  EXPECT_EQ(costs->front().cores, 1u);
  EXPECT_EQ(costs->back().cores, usable_cores());
  EXPECT_EQ(costs->size() % 4, 0u) << "two calls, two numbers of pages";
  for (const ShootdownCost& one : costs.value()) {
    EXPECT_GT(one.ns, 10);
    EXPECT_LT(one.ns, 1e8);
  }
}

TEST(Shootdowns, leave_the_caller_on_the_cores_that_it_had) {
  const std::uint32_t before = usable_cores();
  ASSERT_TRUE(shootdown_costs(2));
  EXPECT_EQ(usable_cores(), before);
}

TEST(Shootdowns, are_read_from_the_line_of_linux) {
  EXPECT_EQ(shootdowns_in("CAL: 1 2 Function call\nTLB:   10   20   TLB shootdowns\nMCE: 9\n"), 30);
  EXPECT_EQ(shootdowns_in("CAL: 1 2\n"), -1);
  EXPECT_EQ(shootdowns_in(""), -1);
}

}  // namespace
}  // namespace k2k::labs::translation
