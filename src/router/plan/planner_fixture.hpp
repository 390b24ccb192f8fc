#pragma once
// Models and residencies for tests, and the best plan by exhaustive search.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "router/plan/planner.hpp"

namespace k2k::router {

using Bytes = std::vector<std::uint8_t>;

// In units of a page (S in pages, times in microseconds): short requests meet every case of these
// models.
inline Model small_model(double call_us, double cutoff_pages, double direct_us_a_page,
                         double cache_us_a_page) {
  return {.call_us = call_us,
          .cutoff_bytes = cutoff_pages * page_bytes,
          .direct_gbs = page_bytes / (direct_us_a_page * 1000),
          .cache_gbs = page_bytes / (cache_us_a_page * 1000)};
}

inline std::vector<Model> models() {
  return {
      {},                    // SPIN
      {.cache_gbs = 1.746},  // 249 pages in C
      {.call_us = 80, .cutoff_bytes = 65536, .direct_gbs = 7, .cache_gbs = 12},
      {.call_us = 80, .cutoff_bytes = 0, .direct_gbs = 7, .cache_gbs = 20},
      {.call_us = 10, .cutoff_bytes = 1 << 20, .direct_gbs = 3, .cache_gbs = 10},  // C < S / BW
      {.call_us = 10, .cutoff_bytes = 1 << 20, .direct_gbs = 10, .cache_gbs = 3},
      {.call_us = 100, .cutoff_bytes = 65536, .direct_gbs = 12, .cache_gbs = 5},  // Slow cache.
      small_model(4, 2, 2, 1),
      small_model(4, 4.5, 1, 0.25),
      small_model(6, 4, 1.5, 0.25),
      small_model(0.5, 3, 1, 0.75),
  };
}

inline Bytes bytes_of(const char* text) {
  Bytes bytes;
  for (; *text != '\0'; ++text) bytes.push_back(*text == '1' ? 1 : 0);
  return bytes;
}

// Runs of random lengths, similar within a request: from 1 page to 1,000.
inline Bytes random_residency(std::mt19937_64& random, std::uint32_t pages) {
  const std::uint64_t longest = std::uint64_t{2} << random() % 10;
  std::uint8_t cached = random() % 2;
  Bytes bytes;
  while (bytes.size() < pages) {
    bytes.insert(bytes.end(), 1 + random() % longest, cached);
    cached ^= 1;
  }
  bytes.resize(pages);
  return bytes;
}

// By definition, page by page.
inline std::vector<Range> runs_by_page(Residency residency) {
  std::vector<Range> runs;
  for (std::uint32_t page = 0; page < residency.size(); ++page) {
    if ((residency[page] & 1) == 0) continue;
    if (runs.empty() || runs.back().last != page) runs.push_back({page, page});
    runs.back().last = page + 1;
  }
  return runs;
}

// Expects runs that are sorted, separate, inside the request, and only of cached pages.
inline void expect_possible(const Plan& plan, Residency residency) {
  ASSERT_EQ(plan.pages, residency.size());
  std::uint32_t least = 0;
  for (const Range& range : plan.cached) {
    ASSERT_GE(range.first, least);
    ASSERT_LT(range.first, range.last);
    ASSERT_LE(range.last, plan.pages);
    for (std::uint32_t page = range.first; page < range.last; ++page) {
      ASSERT_EQ(residency[page] & 1, 1) << "page " << page;
    }
    least = range.last + 1;
  }
}

// Expects a possible plan in which each run is a whole run of the residency.
inline void expect_whole(const Plan& plan, Residency residency) {
  expect_possible(plan, residency);
  const std::vector<Range> runs = runs_by_page(residency);
  for (const Range& range : plan.cached) {
    ASSERT_NE(std::find(runs.begin(), runs.end(), range), runs.end());
  }
}

// Visits every plan of the request: with whole runs, or with any set of cached pages.
template <class Visit>
void every_plan(Residency residency, bool whole, Visit visit) {
  std::vector<Range> parts = runs_by_page(residency);
  const auto pages = static_cast<std::uint32_t>(residency.size());
  if (!whole) {
    parts.clear();
    for (std::uint32_t page = 0; page < pages; ++page) {
      if ((residency[page] & 1) != 0) parts.push_back({page, page + 1});
    }
  }
  for (std::uint32_t set = 0; set < 1u << parts.size(); ++set) {
    std::vector<Range> cached;
    for (std::size_t at = 0; at < parts.size(); ++at) {
      if ((set >> at & 1) == 0) continue;
      const bool joins = !cached.empty() && cached.back().last == parts[at].first;
      if (joins) cached.back().last = parts[at].last;
      if (!joins) cached.push_back(parts[at]);
    }
    visit(Plan{pages, cached});
  }
}

// The least time of all those plans, with one transfer after another.
inline Ticks least_of_all(const Costs& costs, Residency residency, bool whole) {
  Ticks least = std::numeric_limits<Ticks>::max();
  every_plan(residency, whole,
             [&](const Plan& plan) { least = std::min(least, times_of(costs, plan).serial()); });
  return least;
}

// All residencies of `pages` pages.
template <class Visit>
void every_residency(std::uint32_t pages, Visit visit) {
  Bytes bytes(pages);
  for (std::uint32_t set = 0; set < 1u << pages; ++set) {
    for (std::uint32_t page = 0; page < pages; ++page) bytes[page] = set >> page & 1;
    visit(bytes);
  }
}

}  // namespace k2k::router
