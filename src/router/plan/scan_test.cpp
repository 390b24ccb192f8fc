// Goal: every instruction set finds the runs that a page-by-page search finds.
// Method: residencies of all kinds in all sizes around the width of a window, at all alignments,
// with random upper bits in a byte, and with no readable memory after the last byte.

#include "router/plan/scan.hpp"

#include <gtest/gtest.h>

#include "router/plan/planner_fixture.hpp"

namespace k2k::router {
namespace {

Inner inner_by_page(Residency residency, std::uint32_t ignored, std::vector<Range>& found) {
  const auto pages = static_cast<std::uint32_t>(residency.size());
  Inner inner = {.tail = pages};
  for (const Range& run : runs_by_page(residency)) {
    if (run.first == 0) {
      inner.head = run.last;
    } else if (run.last == pages) {
      inner.tail = run.first;
    } else if (run.pages() > ignored) {
      found.push_back(run);
    }
  }
  inner.count = static_cast<std::uint32_t>(found.size());
  return inner;
}

void expect_same(const Scan& scan, Residency residency, std::uint32_t ignored) {
  const auto pages = static_cast<std::uint32_t>(residency.size());
  std::vector<Range> room(pages / 2 + 1);
  const std::uint32_t count = scan.all_runs(residency.data(), pages, room.data());
  ASSERT_EQ(std::vector(room.begin(), room.begin() + count), runs_by_page(residency)) << scan.name;
  std::vector<Range> wanted;
  const Inner inner = inner_by_page(residency, ignored, wanted);
  const Inner found = scan.long_runs(residency.data(), pages, ignored, room.data());
  ASSERT_EQ(found.head, inner.head) << scan.name << ", " << pages << " pages";
  ASSERT_EQ(found.tail, inner.tail) << scan.name << ", " << pages << " pages";
  ASSERT_EQ(std::vector(room.begin(), room.begin() + found.count), wanted)
      << scan.name << ", " << pages << " pages, longer than " << ignored;
}

// The rest of the heap block is poisoned under AddressSanitizer: reading past the end is found.
void expect_same_everywhere(const Bytes& bytes, std::uint32_t ignored) {
  for (const Scan& scan : scans()) expect_same(scan, bytes, ignored);
}

TEST(Scan, last_one_is_portable) { EXPECT_STREQ(scans().back().name, "portable"); }

TEST(Scan, finds_all_runs_in_every_residency_of_up_to_twelve_pages) {
  for (std::uint32_t pages = 1; pages <= 12; ++pages) {
    every_residency(pages, [](const Bytes& bytes) { expect_same_everywhere(bytes, 2); });
  }
}

TEST(Scan, finds_the_same_in_sizes_around_its_width) {
  std::mt19937_64 random(1);
  for (std::uint32_t pages = 1; pages <= 400; ++pages) {
    for (int kind = 0; kind < 8; ++kind) {
      Bytes bytes = random_residency(random, pages);
      for (std::uint8_t& byte : bytes) byte |= static_cast<std::uint8_t>(random() << 1);
      expect_same_everywhere(bytes, static_cast<std::uint32_t>(random() % 150));
    }
  }
}

// Sanitizers check each touched page, so one pass is enough.
#if defined(K2K_TSAN) || defined(K2K_ASAN)
constexpr int long_rounds = 10;
#else
constexpr int long_rounds = 200;
#endif

TEST(Scan, finds_the_same_in_long_requests) {
  std::mt19937_64 random(2);
  for (int round = 0; round < long_rounds; ++round) {
    for (int kind = 0; kind < 8; ++kind) {
      const Bytes bytes = random_residency(random, 1 + static_cast<std::uint32_t>(random() % 5000));
      for (const std::uint32_t ignored : {0u, 63u, 64u, 65u, 127u, 338u, 4000u, pages_max}) {
        expect_same_everywhere(bytes, ignored);
      }
    }
  }
}

TEST(Scan, finds_runs_one_page_longer_than_ignored_and_no_shorter_one) {
  std::mt19937_64 random(3);
  for (const std::uint32_t ignored : {64u, 100u, 338u}) {
    for (int round = 0; round < 300; ++round) {
      Bytes bytes;
      while (bytes.size() < 3000) {
        bytes.insert(bytes.end(), ignored + random() % 3, 1);
        bytes.insert(bytes.end(), 1 + random() % 3 * (random() % 70), 0);
      }
      if (random() % 2 == 0) bytes.erase(bytes.begin(), bytes.begin() + 700);
      if (random() % 2 == 0) bytes.insert(bytes.end(), 1 + random() % 80, 1);
      expect_same_everywhere(Bytes(bytes), ignored);
    }
  }
}

TEST(Scan, one_uncached_page_is_found_at_any_place) {
  for (std::size_t page = 0; page < 700; ++page) {
    Bytes bytes(700, 1);
    bytes[page] = 0;
    expect_same_everywhere(bytes, 64);
    bytes[699 - page] = 0;
    expect_same_everywhere(bytes, 100);
  }
}

}  // namespace
}  // namespace k2k::router
