// Goal: what a probe says of a page is what a page-by-page look at the page cache says, at any
// grain; where the kernel would not tell the truth it is noticed, at first and later. Method: real
// files, evicted page by page; a mincore of the test's own as second opinion; files that shrink,
// belong to others or lie on overlayfs.

#include "io/residency.hpp"

#include <gtest/gtest.h>
#include <linux/loop.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <random>
#include <thread>
#include <utility>

#include "io/own_file_fixture.hpp"

namespace k2k::io {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr uid_t nobody = 65534;
constexpr ProbeWay asked_ways[] = {ProbeWay::cachestat, ProbeWay::mincore};

// Page by page; all 1 where mincore lies.
Bytes second_opinion(int descriptor, PageRange range) {
  Bytes bytes(range.pages);
  void* const address = ::mmap(nullptr, range.pages * page_bytes, PROT_NONE, MAP_SHARED, descriptor,
                               static_cast<off_t>(range.first * page_bytes));
  K2K_EXPECT(address != MAP_FAILED);
  K2K_EXPECT(::mincore(address, range.pages * page_bytes, bytes.data()) == 0);
  ::munmap(address, range.pages * page_bytes);
  for (std::uint8_t& byte : bytes) byte &= 1;
  return bytes;
}

// What the header promises, from a residency of single pages that begins at `first`.
Bytes in_stretches(const Bytes& pages, std::uint64_t first, std::uint32_t grain) {
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

std::size_t count(const Bytes& bytes) {
  return static_cast<std::size_t>(std::ranges::count(bytes, 1));
}

// Cached by nobody while a test runs: the probes for a file and what they are called.
struct Probes {
  explicit Probes(int descriptor) {
    for (const ProbeWay way : asked_ways) {
      Result<ResidencyProbe> probe = ResidencyProbe::open(descriptor, way);
      if (probe) all.push_back(std::move(probe).value());
    }
    Result<ResidencyProbe> best = ResidencyProbe::open(descriptor);
    if (best) all.push_back(std::move(best).value());
  }
  std::vector<ResidencyProbe> all;
};

// Compares every way with the second opinion, asked before and after: what the kernel reclaims
// meanwhile is no failure.
void expect_told(Probes& probes, int descriptor, PageRange range, std::uint32_t grain) {
  for (ResidencyProbe& probe : probes.all) {
    const ProbeWay way = probe.way();
    Bytes before, told(range.pages, 7), after;
    std::size_t cached = 0;
    do {
      before = second_opinion(descriptor, range);
      cached = probe.probe(descriptor, range.first, told, grain);
      after = second_opinion(descriptor, range);
    } while (before != after);
    ASSERT_EQ(probe.way(), way);
    ASSERT_EQ(told, in_stretches(before, range.first, grain))
        << name_of(way) << " of " << range.pages << " pages from " << range.first << " on at "
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

  // The kernel may reclaim a page at any time (here DAMON does): leaves exactly these pages cached,
  // does something, and does all of it again unless they are still cached afterwards.
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

TEST_F(Residency, is_found_by_two_ways_on_this_file_system_where_the_kernel_has_them) {
  Result<ResidencyProbe> best = ResidencyProbe::open(file.descriptor());
  ASSERT_TRUE(best.ok());
  const bool cachestat = ResidencyProbe::open(file.descriptor(), ProbeWay::cachestat).ok();
  EXPECT_TRUE(ResidencyProbe::open(file.descriptor(), ProbeWay::mincore).ok());
  EXPECT_EQ(best->way(), cachestat ? ProbeWay::cachestat : ProbeWay::mincore);
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

TEST_F(Residency, of_holes_is_that_of_the_zeros_read_from_them) {
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
          EXPECT_EQ(bytes, (Bytes{1, 1, 1, 0, 0, 0, 0, 0})) << name_of(probe.way());
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
        EXPECT_EQ(cached, 11u) << name_of(probe.way());
        EXPECT_EQ(count(bytes), 11u);
      };
    });
  }
  ASSERT_EQ(::ftruncate(file.descriptor(), 0), 0);
  for (ResidencyProbe& probe : probes.all) {
    Bytes bytes(pages, 7);
    EXPECT_EQ(probe.probe(file.descriptor(), 0, bytes, 1), 0u) << name_of(probe.way());
    EXPECT_EQ(bytes, Bytes(pages));
  }
}

TEST_F(Residency, may_be_asked_while_the_file_is_shortened_and_extended) {
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
    const ProbeWay way = probe.way();
    Bytes bytes(8, 7);
    EXPECT_EQ(probe.probe(other.descriptor(), 0, bytes, 1), 0u);
    EXPECT_EQ(bytes, Bytes(8));
    EXPECT_EQ(probe.probe(-1, 0, bytes, 1), 0u);
    EXPECT_EQ(probe.way(), way);
    with_cached({{0, 8}}, [&] {
      const std::size_t cached = probe.probe(file.descriptor(), 0, bytes, 1);
      return [cached] { EXPECT_EQ(cached, 8u); };
    });
  }
}

TEST_F(Residency, of_a_file_open_for_writing_only_takes_cachestat) {
  const int writer = ::open(file.path().c_str(), O_WRONLY | O_CLOEXEC);
  const Result<ResidencyProbe> mincore = ResidencyProbe::open(writer, ProbeWay::mincore);
  ASSERT_FALSE(mincore.ok());
  EXPECT_EQ(mincore.error().code, EACCES);
  EXPECT_EQ(mincore.error().message,
            "mincore cannot be trusted: Permission denied; it takes a file open for reading that "
            "one owns or may write");
  Result<ResidencyProbe> best = ResidencyProbe::open(writer);
  ASSERT_TRUE(best.ok());
  if (best->way() == ProbeWay::cachestat) {
    with_cached(every_other_page(), [&] {
      Bytes bytes(pages);
      const std::size_t cached = best->probe(writer, 0, bytes, 1);
      return [cached] { EXPECT_EQ(cached, pages / 2); };
    });
  }
  ::close(writer);
}

TEST(ResidencyProbe, is_refused_for_what_has_no_pages) {
  const Result<ResidencyProbe> none = ResidencyProbe::open(-1);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, EBADF);
  EXPECT_EQ(none.error().message,
            "cannot look at descriptor -1: Bad file descriptor; give an open file");
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  for (const ProbeWay way : {ProbeWay::cachestat, ProbeWay::mincore, ProbeWay::sampled}) {
    const Result<ResidencyProbe> pipe = ResidencyProbe::open(ends[0], way);
    ASSERT_FALSE(pipe.ok());
    EXPECT_EQ(pipe.error().code, EINVAL);
    EXPECT_NE(pipe.error().message.find("is neither a regular file nor a block device"),
              std::string::npos);
  }
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(ResidencyProbe, has_names_for_its_ways) {
  EXPECT_STREQ(name_of(ProbeWay::cachestat), "cachestat");
  EXPECT_STREQ(name_of(ProbeWay::mincore), "mincore");
  EXPECT_STREQ(name_of(ProbeWay::sampled), "sampled");
}

TEST(ResidencyProbe, takes_part_of_an_empty_file_for_no_page) {
  const OwnFile file;
  for (ResidencyProbe& probe : Probes(file.descriptor()).all) {
    Bytes bytes(3, 7);
    EXPECT_EQ(probe.probe(file.descriptor(), 0, bytes, 1), 0u);
    EXPECT_EQ(bytes, Bytes(3));
  }
}

// Who neither owns the test's files nor may write them, while it lives.
class AsNobody {
 public:
  AsNobody() { K2K_EXPECT(::seteuid(nobody) == 0); }
  ~AsNobody() { K2K_EXPECT(::seteuid(0) == 0); }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;
};

class OthersFile : public Residency {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can take the part of somebody else";
    Residency::SetUp();
    reader = ::open(file.path().c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_GE(reader, 0);
  }
  void TearDown() override {
    if (reader >= 0) ::close(reader);
  }

  int reader = -1;
};

TEST_F(OthersFile, is_sampled_because_nobody_tells_of_it) {
  const AsNobody identity;
  // The lie itself: nothing was cached.
  ASSERT_EQ(count(second_opinion(reader, {0, pages})), pages);
  const Result<ResidencyProbe> mincore = ResidencyProbe::open(reader, ProbeWay::mincore);
  ASSERT_FALSE(mincore.ok());
  EXPECT_EQ(mincore.error().code, EPERM);
  Result<ResidencyProbe> best = ResidencyProbe::open(reader);
  ASSERT_TRUE(best.ok());
  const Result<ResidencyProbe> cachestat = ResidencyProbe::open(reader, ProbeWay::cachestat);
  if (cachestat.ok()) GTEST_SKIP() << "a kernel from before cachestat looked at permissions";
  EXPECT_EQ(best->way(), ProbeWay::sampled);
  if (cachestat.error().code == ENOSYS) return;
  EXPECT_EQ(cachestat.error().code, EPERM);
  EXPECT_EQ(cachestat.error().message,
            "cachestat cannot be used: Operation not permitted; it takes Linux 6.5 and a file that "
            "one owns or may write");
}

TEST_F(OthersFile, is_told_of_to_who_may_write_it) {
  ASSERT_EQ(::fchmod(file.descriptor(), 0666), 0);
  file.cache({0, 100});
  const AsNobody identity;
  Probes probes(reader);
  expect_told(probes, reader, {0, pages}, 1);
  EXPECT_LE(count(second_opinion(reader, {0, pages})), 100u);
}

TEST_F(OthersFile, is_told_of_by_cachestat_to_who_has_it_open_for_writing) {
  with_cached(every_other_page(), [&] {
    const AsNobody identity;
    const std::size_t lie = count(second_opinion(file.descriptor(), {0, pages}));
    Result<ResidencyProbe> best = ResidencyProbe::open(file.descriptor());
    const bool cachestat = best.ok() && best->way() == ProbeWay::cachestat;
    Bytes bytes(pages);
    const std::size_t cached = cachestat ? best->probe(file.descriptor(), 0, bytes, 1) : 0;
    return [=] {
      EXPECT_EQ(lie, pages);
      if (!cachestat) GTEST_SKIP() << "no cachestat";
      EXPECT_EQ(cached, pages / 2);
    };
  });
}

TEST_F(OthersFile, is_sampled_from_when_it_was_given_away) {
  for (const ProbeWay way : asked_ways) {
    ASSERT_EQ(::fchown(file.descriptor(), nobody, nobody), 0);
    Result<ResidencyProbe> probe = Error{};
    Bytes bytes(pages);
    {
      const AsNobody identity;
      probe = ResidencyProbe::open(reader, way);
      if (!probe.ok() && probe.error().code == ENOSYS) continue;
      ASSERT_TRUE(probe.ok());
      EXPECT_EQ(probe->probe(reader, 0, bytes, 1), 0u);
    }
    ASSERT_EQ(::fchown(file.descriptor(), 0, 0), 0);
    const AsNobody identity;
    EXPECT_EQ(probe->way(), way);
    probe->probe(reader, 0, bytes, 1);
    if (way == ProbeWay::cachestat && ResidencyProbe::open(reader, way).ok()) continue;
    EXPECT_EQ(probe->way(), ProbeWay::sampled) << name_of(way);
    for (int read = 0; read < 8; ++read) probe->note_read(1, 100000, 1000);
    std::size_t zeros = 0;
    for (int round = 0; round < 100; ++round) {
      zeros += probe->probe(reader, 0, bytes, 1) == 0 ? 1 : 0;
    }
    EXPECT_GT(zeros, 80u);
  }
}

// The test's folder, once more through overlayfs. Mounts are in a namespace of the process's own.
class Overlay : public OthersFile {
 protected:
  void SetUp() override {
    OthersFile::SetUp();
    if (IsSkipped()) return;
    const std::string& folder = file.folder();
    for (const char* part : {"/lower", "/upper", "/work", "/merged"}) {
      std::filesystem::create_directory(folder + part);
    }
    std::filesystem::create_hard_link(file.path(), folder + "/lower/file");
    const std::string options =
        "lowerdir=" + folder + "/lower,upperdir=" + folder + "/upper,workdir=" + folder + "/work";
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("overlay", (folder + "/merged").c_str(), "overlay", 0, options.c_str()) != 0) {
      GTEST_SKIP() << "overlayfs cannot be mounted here";
    }
    mounted = true;
    overlaid = ::open((folder + "/merged/file").c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_GE(overlaid, 0);
  }
  void TearDown() override {
    if (overlaid >= 0) ::close(overlaid);
    if (mounted) ::umount2((file.folder() + "/merged").c_str(), MNT_DETACH);
    OthersFile::TearDown();
  }

  bool mounted = false;
  int overlaid = -1;
};

TEST_F(Overlay, takes_mincore) {
  const Result<ResidencyProbe> cachestat = ResidencyProbe::open(overlaid, ProbeWay::cachestat);
  ASSERT_FALSE(cachestat.ok());
  EXPECT_EQ(cachestat.error().code, EPERM);
  EXPECT_EQ(cachestat.error().message, "cachestat counts nothing on this file system; use mincore");
  Result<ResidencyProbe> best = ResidencyProbe::open(overlaid);
  ASSERT_TRUE(best.ok());
  EXPECT_EQ(best->way(), ProbeWay::mincore);
  with_cached({{5, 100}}, [&] {
    Bytes bytes(pages);
    const std::size_t cached = best->probe(overlaid, 0, bytes, 1);
    return [cached] { EXPECT_EQ(cached, 100u); };
  });
}

TEST_F(Overlay, is_sampled_where_mincore_lies) {
  const AsNobody identity;
  Result<ResidencyProbe> best = ResidencyProbe::open(overlaid);
  ASSERT_TRUE(best.ok());
  EXPECT_EQ(best->way(), ProbeWay::sampled);
}

// A block device made of the test's file, while it lives.
class LoopDevice {
 public:
  explicit LoopDevice(int file) {
    const int control = ::open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    const int number = control < 0 ? -1 : ::ioctl(control, LOOP_CTL_GET_FREE);
    if (control >= 0) ::close(control);
    if (number < 0) return;
    descriptor_ = ::open(("/dev/loop" + std::to_string(number)).c_str(), O_RDWR | O_CLOEXEC);
    loop_config config = {};
    config.fd = static_cast<std::uint32_t>(file);
    config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
    if (descriptor_ >= 0 && ::ioctl(descriptor_, LOOP_CONFIGURE, &config) != 0) {
      ::close(std::exchange(descriptor_, -1));
    }
  }
  ~LoopDevice() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  LoopDevice(const LoopDevice&) = delete;
  LoopDevice& operator=(const LoopDevice&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

TEST_F(Residency, of_a_block_device_is_that_of_its_own_pages) {
  const LoopDevice device(file.descriptor());
  if (device.descriptor() < 0) GTEST_SKIP() << "no loop device to be had";
  ::posix_fadvise(device.descriptor(), 0, 0, POSIX_FADV_RANDOM);
  ::posix_fadvise(device.descriptor(), 0, 0, POSIX_FADV_DONTNEED);
  Bytes data(20 * page_bytes);
  ASSERT_GT(::pread(device.descriptor(), data.data(), data.size(), 7 * page_bytes), 0);
  Probes probes(device.descriptor());
  EXPECT_GE(probes.all.size(), 2u);
  for (const std::uint32_t grain : {1u, 16u}) {
    expect_told(probes, device.descriptor(), {0, pages}, grain);
  }
  EXPECT_GE(count(second_opinion(device.descriptor(), {0, pages})), 1u);
  for (ResidencyProbe& probe : probes.all) {
    EXPECT_NE(probe.way(), ProbeWay::sampled);
    Bytes bytes(8, 7);
    EXPECT_EQ(probe.probe(device.descriptor(), pages, bytes, 1), 0u) << "beyond the end";
  }
}

class Sampled : public testing::Test {
 protected:
  [[nodiscard]] ResidencyProbe open() const {
    return ResidencyProbe::open(file.descriptor(), ProbeWay::sampled).value();
  }
  // Bit i: probe i said "cached".
  std::uint64_t answers(ResidencyProbe& probe) const {
    std::uint64_t answers = 0;
    for (int at = 0; at < 64; ++at) {
      Bytes bytes(4, 7);
      const std::size_t cached = probe.probe(file.descriptor(), 0, bytes, 1);
      EXPECT_TRUE(cached == 0 || cached == bytes.size()) << "one answer for the range";
      EXPECT_EQ(cached, count(bytes));
      if (cached != 0) answers |= std::uint64_t{1} << at;
    }
    return answers;
  }

  const OwnFile file{8 * page_bytes};
};

TEST_F(Sampled, says_cached_until_a_read_was_slow) {
  ResidencyProbe probe = open();
  EXPECT_EQ(answers(probe), ~std::uint64_t{0});
  probe.note_read(4, 4001, 1000);
  EXPECT_NE(answers(probe), ~std::uint64_t{0});
}

TEST_F(Sampled, takes_a_read_for_cached_if_its_pages_took_no_longer_than_cached_ones) {
  ResidencyProbe probe = open();
  probe.note_read(0, 1000000, 1);
  probe.note_read(4, 4000, 1000);
  probe.note_read(4, 0, 1000);
  probe.note_read(4, 40000, 1000);
  EXPECT_EQ(answers(probe), ~std::uint64_t{0});
}

TEST_F(Sampled, says_not_cached_after_slow_reads_but_for_some_of_16) {
  ResidencyProbe probe = open();
  for (int read = 0; read < 1000; ++read) probe.note_read(1, ~std::uint64_t{0}, 1000);
  std::uint64_t explored = 0;
  for (int round = 0; round < 100; ++round) {
    explored += static_cast<std::uint64_t>(std::popcount(answers(probe)));
  }
  // 6,400 draws at one of 16: 400, standard deviation 19.
  EXPECT_GT(explored, 300u);
  EXPECT_LT(explored, 500u);
}

TEST_F(Sampled, learns_of_a_file_that_was_cached_meanwhile) {
  ResidencyProbe probe = open();
  for (int read = 0; read < 1000; ++read) probe.note_read(1, 100000, 1000);
  EXPECT_NE(answers(probe), ~std::uint64_t{0});
  // 1 - (7/8)^6 is above a half.
  for (int read = 0; read < 6; ++read) probe.note_read(1, 500, 1000);
  EXPECT_EQ(answers(probe), ~std::uint64_t{0});
  // A long time later one slow read is forgiven.
  for (int read = 0; read < 1000; ++read) probe.note_read(1, 500, 1000);
  probe.note_read(1, 100000, 1000);
  EXPECT_EQ(answers(probe), ~std::uint64_t{0});
}

TEST_F(Sampled, answers_the_same_in_every_run) {
  ResidencyProbe one = open();
  ResidencyProbe other = open();
  for (ResidencyProbe* probe : {&one, &other}) probe->note_read(1, 100000, 1000);
  for (int round = 0; round < 10; ++round) EXPECT_EQ(answers(one), answers(other));
  ResidencyProbe moved = std::move(one);
  EXPECT_EQ(answers(moved), answers(other));
}

TEST_F(Sampled, says_nothing_of_pages_beyond_the_end) {
  ResidencyProbe probe = open();
  Bytes bytes(4, 7);
  EXPECT_EQ(probe.probe(file.descriptor(), 6, bytes, 1), 2u);
  EXPECT_EQ(bytes, (Bytes{1, 1, 0, 0}));
}

}  // namespace
}  // namespace k2k::io
