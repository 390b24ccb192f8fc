// Goal: a probe agrees with a page-by-page test of the page cache, at any grain; a Linux that does
// not report the truth is noticed, at first and later. Method: real files, evicted page by page;
// the test's own mincore as second opinion; files that shrink.

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <random>
#include <thread>

#include "io/file/residency_fixture.hpp"

namespace k2k::io {
namespace {

TEST_F(Residency, is_found_by_two_methods_on_this_file_system_where_the_kernel_has_them) {
  Result<ResidencyProbe> best = ResidencyProbe::open(file.descriptor());
  ASSERT_TRUE(best.ok());
  const bool cachestat = ResidencyProbe::open(file.descriptor(), ProbeMethod::cachestat).ok();
  EXPECT_TRUE(ResidencyProbe::open(file.descriptor(), ProbeMethod::mincore).ok());
  EXPECT_EQ(best->method(), cachestat ? ProbeMethod::cachestat : ProbeMethod::mincore);
}

TEST_F(Residency, of_a_file_cached_entirely_or_not_at_all) {
  Probes probes(file.descriptor());
  for (const std::uint32_t grain : {1u, 64u, 338u, 100000u}) {
    file.evict();
    expect_told(probes, file.descriptor(), {0, pages}, grain);
    file.cache_all_at_once();
    expect_told(probes, file.descriptor(), {0, pages}, grain);
  }
}

TEST_F(Residency, of_any_pages_at_any_grain) {
  Probes probes(file.descriptor());
  std::mt19937_64 random(1);
  for (int round = 0; round < 60; ++round) {
    file.cache({0, pages});
    // Runs of about 1, 8 and 64 pages.
    const std::uint64_t run = std::uint64_t{2} << (round % 3 * 3);
    for (std::uint64_t at = 0; at < pages;) {
      const std::uint64_t next = std::min(pages, at + 1 + random() % run);
      if (random() % 2 == 0) file.evict({at, next - at});
      at = next;
    }
    for (const std::uint32_t grain : {1u, 2u, 3u, 8u, 31u, 64u, 338u, 4000000000u}) {
      const std::uint64_t first = round % 4 == 0 ? 0 : random() % pages;
      expect_told(probes, file.descriptor(), {first, 1 + random() % (pages - first)}, grain);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(Residency, of_large_folios_evicted_in_part) {
  Probes probes(file.descriptor());
  file.cache_all_at_once();
  for (const std::uint64_t at : {3u, 64u, 200u, 511u}) {
    file.evict({at, 1});
    for (const std::uint32_t grain : {1u, 16u, 100u}) {
      expect_told(probes, file.descriptor(), {0, pages}, grain);
    }
  }
}

TEST_F(Residency, spans_more_than_one_window_of_mincore) {
  constexpr std::uint64_t many = 40000;
  ASSERT_EQ(::ftruncate(file.descriptor(), many * page_bytes), 0);
  file.cache({16380, 10});
  file.cache({39999, 1});
  Probes probes(file.descriptor());
  expect_told(probes, file.descriptor(), {0, many}, 1);
  expect_told(probes, file.descriptor(), {7, many - 7}, 1);
}

TEST_F(Residency, of_holes_is_the_residency_of_their_zeros) {
  ASSERT_EQ(::ftruncate(file.descriptor(), 2 * pages * page_bytes), 0);
  for (ResidencyProbe& probe : Probes(file.descriptor()).all) {
    with_cached({{pages + 10, 5}}, [&] {
      Bytes bytes(pages);
      const std::size_t cached = probe.probe(file.descriptor(), pages, bytes, 1);
      return [cached] { EXPECT_EQ(cached, 5u); };
    });
  }
}

TEST_F(Residency, beyond_the_end_of_the_file_is_none) {
  // Half a page more: it counts.
  ASSERT_EQ(::ftruncate(file.descriptor(), pages * page_bytes + page_bytes / 2), 0);
  for (ResidencyProbe& probe : Probes(file.descriptor()).all) {
    for (const std::uint32_t grain : {1u, 64u}) {
      with_cached({{pages - 64, 65}}, [&] {
        Bytes bytes(8, 7);
        const std::size_t cached = probe.probe(file.descriptor(), pages - 2, bytes, grain);
        return [cached, bytes, &probe] {
          EXPECT_EQ(cached, 3u);
          EXPECT_EQ(bytes, (Bytes{1, 1, 1, 0, 0, 0, 0, 0})) << name_of(probe.method());
        };
      });
      for (const std::uint64_t first : {pages + 1, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
        Bytes bytes(8, 7);
        EXPECT_EQ(probe.probe(file.descriptor(), first, bytes, grain), 0u);
        EXPECT_EQ(bytes, Bytes(8));
      }
      EXPECT_EQ(probe.probe(file.descriptor(), 0, {}, grain), 0u);
    }
  }
}

TEST_F(Residency, of_a_file_that_was_shortened_since_is_none_beyond_the_new_end) {
  Probes probes(file.descriptor());
  ASSERT_EQ(::ftruncate(file.descriptor(), 10 * page_bytes + 1), 0);
  ASSERT_EQ(::fsync(file.descriptor()), 0);
  for (ResidencyProbe& probe : probes.all) {
    with_cached({{0, 11}}, [&] {
      Bytes bytes(pages, 7);
      const std::size_t cached = probe.probe(file.descriptor(), 0, bytes, 1);
      return [cached, bytes, &probe] {
        EXPECT_EQ(cached, 11u) << name_of(probe.method());
        EXPECT_EQ(count(bytes), 11u);
      };
    });
  }
  ASSERT_EQ(::ftruncate(file.descriptor(), 0), 0);
  for (ResidencyProbe& probe : probes.all) {
    Bytes bytes(pages, 7);
    EXPECT_EQ(probe.probe(file.descriptor(), 0, bytes, 1), 0u) << name_of(probe.method());
    EXPECT_EQ(bytes, Bytes(pages));
  }
}

TEST_F(Residency, may_be_probed_while_the_file_is_shortened_and_extended) {
  Probes probes(file.descriptor());
  std::atomic<bool> done = false;
  std::thread other([&] {
    for (off_t bytes = 0; !done.load(); bytes = (bytes + 77777) % 2000000) {
      EXPECT_EQ(::ftruncate(file.descriptor(), bytes), 0);
    }
  });
  for (int round = 0; round < 300; ++round) {
    for (ResidencyProbe& probe : probes.all) {
      Bytes bytes(pages, 7);
      const std::size_t cached = probe.probe(file.descriptor(), 0, bytes, 1 + round % 3 * 20);
      EXPECT_EQ(cached, count(bytes));
      EXPECT_EQ(std::ranges::count(bytes, 7), 0);
    }
  }
  done = true;
  other.join();
}

TEST_F(Residency, of_another_file_under_the_same_number_is_none) {
  const OwnFile other(page_bytes);
  for (ResidencyProbe& probe : Probes(file.descriptor()).all) {
    const ProbeMethod method = probe.method();
    Bytes bytes(8, 7);
    EXPECT_EQ(probe.probe(other.descriptor(), 0, bytes, 1), 0u);
    EXPECT_EQ(bytes, Bytes(8));
    EXPECT_EQ(probe.probe(-1, 0, bytes, 1), 0u);
    EXPECT_EQ(probe.method(), method);
    with_cached({{0, 8}}, [&] {
      const std::size_t cached = probe.probe(file.descriptor(), 0, bytes, 1);
      return [cached] { EXPECT_EQ(cached, 8u); };
    });
  }
}

TEST_F(Residency, of_a_file_open_for_writing_only_takes_cachestat) {
  const int writer = ::open(file.path().c_str(), O_WRONLY | O_CLOEXEC);
  const Result<ResidencyProbe> mincore = ResidencyProbe::open(writer, ProbeMethod::mincore);
  ASSERT_FALSE(mincore.ok());
  EXPECT_EQ(mincore.error().code, EACCES);
  EXPECT_EQ(mincore.error().message,
            "mincore cannot be trusted: Permission denied; it takes a file open for reading that "
            "one owns or may write");
  Result<ResidencyProbe> best = ResidencyProbe::open(writer);
  ASSERT_TRUE(best.ok());
  if (best->method() == ProbeMethod::cachestat) {
    with_cached(every_other_page(), [&] {
      Bytes bytes(pages);
      const std::size_t cached = best->probe(writer, 0, bytes, 1);
      return [cached] { EXPECT_EQ(cached, pages / 2); };
    });
  }
  ::close(writer);
}

TEST(ResidencyProbe, is_refused_for_files_without_pages) {
  const Result<ResidencyProbe> none = ResidencyProbe::open(-1);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, EBADF);
  EXPECT_EQ(none.error().message,
            "cannot look at descriptor -1: Bad file descriptor; give an open file");
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  for (const ProbeMethod method :
       {ProbeMethod::cachestat, ProbeMethod::mincore, ProbeMethod::sampled}) {
    const Result<ResidencyProbe> pipe = ResidencyProbe::open(ends[0], method);
    ASSERT_FALSE(pipe.ok());
    EXPECT_EQ(pipe.error().code, EINVAL);
    EXPECT_NE(pipe.error().message.find("is neither a regular file nor a block device"),
              std::string::npos);
  }
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(ResidencyProbe, names_its_methods) {
  EXPECT_STREQ(name_of(ProbeMethod::cachestat), "cachestat");
  EXPECT_STREQ(name_of(ProbeMethod::mincore), "mincore");
  EXPECT_STREQ(name_of(ProbeMethod::sampled), "sampled");
}

TEST(ResidencyProbe, finds_no_page_in_an_empty_file) {
  const OwnFile file;
  for (ResidencyProbe& probe : Probes(file.descriptor()).all) {
    Bytes bytes(3, 7);
    EXPECT_EQ(probe.probe(file.descriptor(), 0, bytes, 1), 0u);
    EXPECT_EQ(bytes, Bytes(3));
  }
}

}  // namespace
}  // namespace k2k::io
