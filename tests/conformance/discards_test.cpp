// Goal: a touch that begins after a discard has returned sees the region's source anew, whatever
// faults, fills and other discards are on their way (docs/design/page-faults.md, "Discarding").
// Method: each word of a source is the number of its generation. A thread that discards publishes
// the number once the discard has returned; no touch may see an older one than it knew before.
// K2K_DISCARD_TOUCHES=100000000 makes the races as long as that many touches for each device.

#include <sys/mman.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "tests/conformance/faults_fixture.hpp"

namespace k2k::conformance::discards_test {
namespace {

using namespace std::chrono_literals;

class Discards : public Faults {};
K2K_EVERY_DEVICE(Discards);

TEST_P(Discards, bring_zeros_copies_and_files_in_anew) {
  Runtime runtime = start();
  std::string content(4 * page, 'a');
  const TemporaryFile file(content);
  DemandRegion zeros = made(DemandRegion::zero(runtime, 4 * page));
  DemandRegion copy = made(DemandRegion::copy_of(runtime, content.data(), 4 * page));
  DemandRegion pages = made(DemandRegion::file(runtime, file.fd, 0, 4 * page));
  char* const regions[] = {zeros.as<char>(), copy.as<char>(), pages.as<char>()};
  const auto write_all = [&] {
    launch(runtime, 1, 4, [&] {
      for (char* const region : regions) region[item_rank() * page + 7] = '!';
    });
  };
  write_all();
  std::fill(content.begin(), content.end(), 'b');
  ASSERT_EQ(::pwrite(file.fd, content.data(), content.size(), 0),
            static_cast<ssize_t>(content.size()));
  for (DemandRegion* const region : {&zeros, &copy, &pages}) {
    EXPECT_EQ(region->counters().pages, 4u);
    const Status status = region->discard(page, 2 * page);
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(region->counters().discards, 1u);
  }
  char seen[3][4] = {};
  launch(runtime, 1, 4, [&] {
    for (int region = 0; region < 3; ++region) {
      seen[region][item_rank()] = regions[region][item_rank() * page + 7];
    }
  });
  const char wanted[] = {'\0', 'b', 'b'};
  for (int region = 0; region < 3; ++region) {
    EXPECT_EQ(seen[region][0], '!') << region;
    EXPECT_EQ(seen[region][1], wanted[region]) << region;
    EXPECT_EQ(seen[region][2], wanted[region]) << region;
    EXPECT_EQ(seen[region][3], '!') << region;
  }
  for (DemandRegion* const region : {&zeros, &copy, &pages}) {
    EXPECT_EQ(region->counters().pages, 6u);  // The two discarded ones were faults again.
  }
}

TEST_P(Discards, of_ranges_that_are_not_pages_of_the_region_are_refused) {
  Runtime runtime = start();
  DemandRegion region = made(DemandRegion::zero(runtime, 4 * page));
  region.as<char>()[0] = 'k';
  const auto text = [&](std::size_t offset, std::size_t bytes) {
    const Status status = region.discard(offset, bytes);
    if (status.ok()) return std::string("discarded");
    EXPECT_EQ(status.error().code, EINVAL);
    return status.error().message;
  };
  EXPECT_EQ(text(0, 5 * page), "bytes 0 to 20480 are not inside a demand region of 16384 bytes");
  EXPECT_EQ(text(5 * page, 0),
            "bytes 20480 to 20480 are not inside a demand region of 16384 bytes");
  EXPECT_NE(text(page, SIZE_MAX - page + 1).find("are not inside"), std::string::npos);
  EXPECT_EQ(
      text(0, 100),
      "bytes 0 to 100 of a demand region are not whole pages of 4096 bytes; only pages can be "
      "discarded");
  EXPECT_EQ(text(8, page),
            "bytes 8 to 4104 of a demand region are not whole pages of 4096 bytes; only pages can "
            "be discarded");
  EXPECT_EQ(region.counters().discards, 0u);
  EXPECT_EQ(region.as<char>()[0], 'k');
  EXPECT_EQ(text(4 * page, 0), "discarded");
  EXPECT_EQ(text(0, 0), "discarded");
  EXPECT_EQ(region.as<char>()[0], 'k');
  EXPECT_EQ(text(0, 4 * page), "discarded");
  EXPECT_EQ(region.as<char>()[0], 0);
}

TEST_P(Discards, are_refused_in_a_child_which_has_no_region) {
  Runtime runtime = start();
  DemandRegion region = made(DemandRegion::zero(runtime, page));
  region.as<char>()[0] = 'k';
  const pid_t child = ::fork();
  if (child == 0) {
    const Status status = region.discard(0, page);
    ::_exit(!status.ok() && status.error().code == ESTALE ? 0 : 1);
  }
  ASSERT_GT(child, 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(region.as<char>()[0], 'k');
}

TEST_P(Discards, are_made_by_kernels_with_madvise) {
  Runtime runtime = start();
  std::string content(4 * page, 'a');
  const DemandRegion copy = made(DemandRegion::copy_of(runtime, content.data(), 4 * page));
  const DemandRegion zeros = made(DemandRegion::zero(runtime, 4 * page));
  char* const copied = copy.as<char>();
  char* const plain = zeros.as<char>();
  std::array<long, 5> answers{};
  std::array<char, 6> seen{};
  launch(runtime, 1, 1, [&] {
    for (std::size_t at = 0; at < 4 * page; at += page) copied[at] = plain[at] = '!';
    std::fill(content.begin(), content.end(), 'b');
    answers[0] = k2k::madvise(k2k::work_item, copied + page, page, MADV_DONTNEED);
    answers[1] = k2k::madvise(k2k::work_item, plain, 2 * page, MADV_DONTNEED);
    answers[2] = k2k::madvise(k2k::work_item, copied + 2 * page, page, MADV_WILLNEED);
    answers[3] = k2k::madvise(k2k::work_item, copied + 5, page, MADV_DONTNEED);
    answers[4] = k2k::madvise(k2k::work_item, copied, 0, MADV_DONTNEED);
    seen = {copied[0], copied[page], copied[2 * page], plain[0], plain[page], plain[2 * page]};
  });
  EXPECT_EQ(answers, (std::array<long, 5>{0, 0, 0, -EINVAL, 0}));
  EXPECT_EQ(seen, (std::array<char, 6>{'!', 'b', '!', '\0', '\0', '!'}));
  EXPECT_EQ(copy.counters().pages, 5u);
  EXPECT_EQ(zeros.counters().pages, 6u);
  EXPECT_EQ(zeros.counters().discards, 1u);
}

TEST_P(Discards, do_not_wait_for_a_fill_that_waits_for_its_source) {
  StuckMemory memory(1);
  if (!memory.ok()) GTEST_SKIP() << StuckMemory::needs;
  Runtime runtime = start();
  DemandRegion region = made(DemandRegion::copy_of(runtime, memory.data(), memory.bytes()));
  const char* const byte = region.as<const char>();
  std::thread host([&] {
    while (!memory.awaited()) std::this_thread::sleep_for(100us);
    const Status status = region.discard(0, page);  // The fill is on its way for as long as this.
    EXPECT_TRUE(status.ok()) << status.error().message;
    memory.release('n');
  });
  char seen = 0;
  launch(runtime, 1, 1, [&] { seen = *byte; });
  host.join();
  EXPECT_EQ(seen, 'n');
}

// --- Races.

constexpr std::size_t race_pages = 8;

std::uint64_t touches_wanted() {
  const char* const asked = std::getenv("K2K_DISCARD_TOUCHES");
  return asked == nullptr ? scaled(100'000, 10'000) : std::strtoull(asked, nullptr, 10);
}

// A file whose words other threads change while it is read.
class SharedFile {
 public:
  explicit SharedFile(std::size_t bytes = race_pages * page)
      : bytes_(bytes), file_(std::string(bytes, '\0')) {
    memory_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.fd, 0);
    if (memory_ == MAP_FAILED) std::abort();
  }
  ~SharedFile() { ::munmap(memory_, bytes_); }
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  [[nodiscard]] int descriptor() const { return file_.fd; }
  [[nodiscard]] std::uint64_t* words() const { return static_cast<std::uint64_t*>(memory_); }

 private:
  std::size_t bytes_;
  TemporaryFile file_;
  void* memory_;
};

// The generations of a region's pages: in its source, discarded, and seen.
struct Race {
  std::uint64_t* source;
  const std::uint64_t* region;
  std::size_t page_words = words_a_page;
  std::array<std::atomic<std::uint64_t>, race_pages> latest{};
  std::array<std::atomic<std::uint64_t>, race_pages> discarded{};
  std::atomic<std::uint64_t> stale{0};
  std::atomic<std::uint64_t> wild{0};  // Of no generation so far.
  std::atomic<bool> over{false};

  // Another place in each page: near the end of some, where a page may be placed in parts.
  [[nodiscard]] std::size_t word_of(std::size_t at) const {
    return at * page_words + at * (page_words / race_pages + 1);
  }
  void touch(std::size_t at) {
    const std::size_t word = word_of(at);
    const std::uint64_t least = discarded[at].load(std::memory_order_acquire);
    const std::uint64_t seen = __atomic_load_n(&region[word], __ATOMIC_ACQUIRE);
    if (seen < least) stale.fetch_add(1, std::memory_order_relaxed);
    if (seen > latest[at].load(std::memory_order_acquire)) {
      wild.fetch_add(1, std::memory_order_relaxed);
    }
  }
  // One thread for each page. `discard` removes the page, and maybe its neighbours.
  template <class Discard>
  void renew(std::size_t at, const Discard& discard) {
    const std::size_t word = word_of(at);
    const std::uint64_t next = latest[at].load(std::memory_order_relaxed) + 1;
    latest[at].store(next, std::memory_order_release);
    __atomic_store_n(&source[word], next, __ATOMIC_RELEASE);
    discard();
    discarded[at].store(next, std::memory_order_release);
  }
  void expect_none_stale() const {
    EXPECT_EQ(stale.load(), 0u);
    EXPECT_EQ(wild.load(), 0u);
  }
};

class DiscardRaces : public Discards {
 protected:
  // Several work-items touch while two threads discard ranges that overlap. Each thread renews the
  // pages of its own parity.
  void run(Runtime& runtime, DemandRegion& region, std::uint64_t* source,
           const std::function<void(std::uint64_t round)>& beside = {});
};
K2K_EVERY_DEVICE(DiscardRaces);

void DiscardRaces::run(Runtime& runtime, DemandRegion& region, std::uint64_t* source,
                       const std::function<void(std::uint64_t round)>& beside) {
  constexpr std::uint32_t items = 16;
  const std::size_t bytes = region.page_bytes();
  Race race{source, region.as<const std::uint64_t>(), bytes / sizeof(std::uint64_t)};
  std::vector<std::thread> threads;
  for (std::size_t parity = 0; parity < 2; ++parity) {
    threads.emplace_back([&, parity] {
      for (std::uint64_t round = 0; !race.over.load(std::memory_order_acquire); ++round) {
        const std::size_t at = (2 * round + parity) % race_pages;
        const std::size_t first = at - at % 4;
        race.renew(at, [&] {
          const Status status = round % 3 == 0 ? region.discard(first * bytes, 4 * bytes)
                                               : region.discard(at * bytes, bytes);
          EXPECT_TRUE(status.ok()) << status.error().message;
        });
        // Some touches shall meet a page.
        if (round % 4 == 3) std::this_thread::sleep_for(20us);
      }
    });
  }
  if (beside) {
    threads.emplace_back([&] {
      for (std::uint64_t round = 0; !race.over.load(std::memory_order_acquire); ++round) {
        beside(round);
      }
    });
  }
  // Nearly each touch is a fault, and the fault of a large page takes as much longer.
  const std::uint64_t each = touches_wanted() * page / bytes / (2 * items);
  // A busy machine may start the other threads late: the work-items wait for that many races.
  const std::uint64_t refilled = race_pages + (bytes == page ? scaled(200, 50) : 20);
  launch(runtime, 2, items, [&] {
    std::uint64_t random = global_rank() * 2654435761u + 1;
    for (std::uint64_t done = 0; done < each || region.counters().pages < refilled; ++done) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      race.touch(random >> 61);
      if (done % 32 == 0) k2k::yield();
    }
  });
  race.over.store(true, std::memory_order_release);
  for (std::thread& thread : threads) thread.join();
  race.expect_none_stale();
}

TEST_P(DiscardRaces, leave_no_stale_page_of_a_copy) {
  Runtime runtime = start();
  std::vector<std::uint64_t> source(race_pages * words_a_page);
  DemandRegion region =
      made(DemandRegion::copy_of(runtime, source.data(), race_pages * page, {.name = "copy"}));
  run(runtime, region, source.data());
}

TEST_P(DiscardRaces, leave_no_stale_page_of_a_file) {
  Runtime runtime = start();
  const SharedFile file;
  DemandRegion region = made(DemandRegion::file(runtime, file.descriptor(), 0, race_pages * page));
  run(runtime, region, file.words());
}

TEST_P(DiscardRaces, leave_no_stale_page_where_faults_are_resolved_in_place) {
  Runtime runtime = start();
  const SharedFile file;
  DemandRegion region = made(DemandRegion::file(runtime, file.descriptor(), 0, race_pages * page,
                                                {.handling = FaultHandling::in_place}));
  run(runtime, region, file.words());
  EXPECT_GT(region.counters().in_place, 0u);
}

TEST_P(DiscardRaces, leave_no_stale_page_beside_populate_and_touches_of_threads) {
  Runtime runtime = start();
  std::vector<std::uint64_t> source(race_pages * words_a_page);
  DemandRegion region =
      made(DemandRegion::copy_of(runtime, source.data(), race_pages * page, {.name = "copy"}));
  run(runtime, region, source.data(), [&](std::uint64_t round) {
    const Status status = region.populate(round % 3 * page, (race_pages - 3) * page);
    EXPECT_TRUE(status.ok()) << status.error().message;
  });
}

TEST_P(DiscardRaces, leave_no_stale_page_if_a_kernel_discards) {
  Runtime runtime = start();
  const SharedFile file;
  DemandRegion region = made(DemandRegion::file(runtime, file.descriptor(), 0, race_pages * page));
  Race race{file.words(), region.as<const std::uint64_t>()};
  const std::uint32_t rounds = scaled(300, 100);
  std::byte* const data = region.data();
  std::atomic<std::uint32_t> refused{0};
  launch(runtime, 2, 8, [&] {
    if (global_rank() != 0) {
      for (std::uint64_t done = item_rank(); !race.over.load(std::memory_order_acquire); ++done) {
        race.touch(done % race_pages);
        k2k::yield();
      }
      return;
    }
    for (std::uint32_t round = 0; round < rounds; ++round) {
      const std::size_t at = round % race_pages;
      race.renew(at, [&] {
        if (k2k::madvise(k2k::work_item, data + at * page, page, MADV_DONTNEED) != 0) ++refused;
      });
    }
    race.over.store(true, std::memory_order_release);
  });
  race.expect_none_stale();
  EXPECT_EQ(refused.load(), 0u);
  EXPECT_EQ(region.counters().discards, rounds);
  EXPECT_GT(region.counters().pages, race_pages);
}

constexpr std::size_t large = std::size_t{2} << 20;

TEST_P(DiscardRaces, leave_no_stale_large_page_of_a_copy) {
  Runtime runtime = start();
  std::vector<std::uint64_t> source(race_pages * large / sizeof(std::uint64_t));
  DemandRegion region = made(DemandRegion::copy_of(runtime, source.data(), race_pages * large,
                                                   {.name = "copy", .page_bytes = large}));
  run(runtime, region, source.data());
}

TEST_P(DiscardRaces, leave_no_stale_large_page_of_a_file_beside_populate) {
  Runtime runtime = start();
  const SharedFile file(race_pages * large);
  DemandRegion region = made(
      DemandRegion::file(runtime, file.descriptor(), 0, race_pages * large, {.page_bytes = large}));
  run(runtime, region, file.words(), [&](std::uint64_t round) {
    const Status status = region.populate(round % 3 * large + 5, (race_pages - 3) * large);
    EXPECT_TRUE(status.ok()) << status.error().message;
  });
}

TEST_P(DiscardRaces, leave_no_stale_large_page_where_faults_are_resolved_in_place) {
  Runtime runtime = start();
  const SharedFile file(race_pages * large);
  DemandRegion region =
      made(DemandRegion::file(runtime, file.descriptor(), 0, race_pages * large,
                              {.handling = FaultHandling::in_place, .page_bytes = large}));
  run(runtime, region, file.words());
  EXPECT_GT(region.counters().in_place, 0u);
}

}  // namespace
}  // namespace k2k::conformance::discards_test
