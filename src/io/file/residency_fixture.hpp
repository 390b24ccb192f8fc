#pragma once
// The test's own mincore of the page cache, and the answers of the probes to compare with it.
//
// Threading: the test's.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "io/file/own_file_fixture.hpp"
#include "io/file/residency.hpp"

namespace k2k::io {

using Bytes = std::vector<std::uint8_t>;

inline constexpr ProbeMethod probe_methods[] = {ProbeMethod::cachestat, ProbeMethod::mincore};

// Page by page; all 1 if mincore gives a false answer.
inline Bytes second_opinion(int descriptor, PageRange range) {
  Bytes bytes(range.pages);
  void* const address = ::mmap(nullptr, range.pages * page_bytes, PROT_NONE, MAP_SHARED, descriptor,
                               static_cast<off_t>(range.first * page_bytes));
  K2K_EXPECT(address != MAP_FAILED);
  K2K_EXPECT(::mincore(address, range.pages * page_bytes, bytes.data()) == 0);
  ::munmap(address, range.pages * page_bytes);
  for (std::uint8_t& byte : bytes) byte &= 1;
  return bytes;
}

// The promised result, computed from a residency of single pages that begins at `first`.
inline Bytes in_stretches(const Bytes& pages, std::uint64_t first, std::uint32_t grain) {
  Bytes bytes(pages.size());
  for (std::size_t at = 0; at < pages.size();) {
    const std::size_t behind = std::min<std::uint64_t>(
        pages.size(), ((first + at) / grain + 1) * std::uint64_t{grain} - first);
    const bool all = std::ranges::count(pages.begin() + at, pages.begin() + behind, 0) == 0;
    std::fill(bytes.begin() + at, bytes.begin() + behind, std::uint8_t{all});
    at = behind;
  }
  return bytes;
}

inline std::size_t count(const Bytes& bytes) {
  return static_cast<std::size_t>(std::ranges::count(bytes, 1));
}

// The probes for a file, with their names. No other program caches the file during a test.
struct Probes {
  explicit Probes(int descriptor) {
    for (const ProbeMethod method : probe_methods) {
      Result<ResidencyProbe> probe = ResidencyProbe::open(descriptor, method);
      if (probe) all.push_back(std::move(probe).value());
    }
    Result<ResidencyProbe> best = ResidencyProbe::open(descriptor);
    if (best) all.push_back(std::move(best).value());
  }
  std::vector<ResidencyProbe> all;
};

// Compares every method with the second opinion, taken before and after: pages that Linux reclaims
// meanwhile are no failure.
inline void expect_told(Probes& probes, int descriptor, PageRange range, std::uint32_t grain) {
  for (ResidencyProbe& probe : probes.all) {
    const ProbeMethod method = probe.method();
    Bytes before, told(range.pages, 7), after;
    std::size_t cached = 0;
    do {
      before = second_opinion(descriptor, range);
      cached = probe.probe(descriptor, range.first, told, grain);
      after = second_opinion(descriptor, range);
    } while (before != after);
    ASSERT_EQ(probe.method(), method);
    ASSERT_EQ(told, in_stretches(before, range.first, grain))
        << name_of(method) << " of " << range.pages << " pages from " << range.first << " on at "
        << grain;
    ASSERT_EQ(cached, count(told));
  }
}

class Residency : public testing::Test {
 protected:
  static constexpr std::uint64_t pages = 512;

  void SetUp() override {
    for (int attempt = 0; attempt < attempts_max; ++attempt) {
      file.evict();
      if (count(second_opinion(file.descriptor(), {0, pages})) == 0) return;
    }
    GTEST_SKIP() << "pages cannot be evicted on this file system";
  }

  // Linux may reclaim a page at any time (DAMON does). This leaves exactly these pages cached, runs
  // `body`, and repeats both unless the pages are still cached afterwards.
  template <class Do>
  void with_cached(const std::vector<PageRange>& ranges, Do something) const {
    struct stat status = {};
    ASSERT_EQ(::fstat(file.descriptor(), &status), 0);
    Bytes wanted(pages_of(0, static_cast<std::uint64_t>(status.st_size)).pages);
    for (const PageRange& range : ranges) {
      std::fill_n(wanted.begin() + static_cast<std::ptrdiff_t>(range.first), range.pages, 1);
    }
    for (int attempt = 0; attempt < attempts_max; ++attempt) {
      file.evict();
      for (const PageRange& range : ranges) file.cache(range);
      const auto found = something();
      if (second_opinion(file.descriptor(), {0, wanted.size()}) != wanted) continue;
      found();
      return;
    }
    GTEST_SKIP() << "something else evicts pages all the time";
  }

  static std::vector<PageRange> every_other_page() {
    std::vector<PageRange> ranges;
    for (std::uint64_t at = 0; at < pages; at += 2) ranges.push_back({at, 1});
    return ranges;
  }

  static constexpr int attempts_max = 20;
  const OwnFile file{pages * page_bytes};
};

}  // namespace k2k::io
