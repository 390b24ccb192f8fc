// Goal: a stream's windows are Linux'; every page of a stream is requested once, no later than with
// its request and not far ahead; other requests have no effect. Method: tables of moves; random
// sequential readers; a model of Linux' own rule, with its page cache and its marked pages, for
// readers of one size.

#include "router/ahead/read_ahead.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <vector>

namespace k2k::router {
namespace {

using Advice = ReadAhead::Advice;

constexpr std::uint64_t endless = std::uint64_t{1} << 50;
constexpr std::uint64_t device = 128;
constexpr std::uint64_t cap = 256;

// Whole pages.
ReadAheadAnswer read(ReadAhead& ahead, std::uint64_t first, std::uint64_t pages,
                     std::uint64_t file_pages = endless, bool cached = false) {
  return ahead.on_read(first * io::page_bytes, pages * io::page_bytes, file_pages * io::page_bytes,
                       cached);
}

ReadAheadAnswer with_prefetch(std::uint64_t first, std::uint64_t pages) {
  return {{first, pages}, true};
}
const ReadAheadAnswer nothing_more = {{}, true};
const ReadAheadAnswer not_sequential = {{}, false};

// The place of a prefetch of no pages does not matter.
ReadAheadAnswer plain(ReadAheadAnswer answer) {
  if (answer.prefetch.empty()) answer.prefetch = {};
  return answer;
}

struct Move {
  std::uint64_t first;
  std::uint64_t pages;
  ReadAheadAnswer expected;
};

void expect_moves(ReadAhead& ahead, const std::vector<Move>& moves) {
  for (std::size_t at = 0; at < moves.size(); ++at) {
    const ReadAheadAnswer answer = plain(read(ahead, moves[at].first, moves[at].pages));
    EXPECT_EQ(answer.sequential, moves[at].expected.sequential) << "move " << at;
    EXPECT_EQ(answer.prefetch.first, moves[at].expected.prefetch.first) << "move " << at;
    EXPECT_EQ(answer.prefetch.pages, moves[at].expected.prefetch.pages) << "move " << at;
  }
}

TEST(ReadAhead, grows_as_the_kernel_does) {
  ReadAhead ahead(device, cap);
  expect_moves(ahead, {{0, 1, with_prefetch(0, 4)},
                       {1, 1, with_prefetch(4, 16)},
                       {2, 1, nothing_more},
                       {3, 1, nothing_more},
                       {4, 1, with_prefetch(20, 32)},
                       {5, 14, nothing_more},
                       {19, 2, with_prefetch(52, 64)},
                       {21, 31, nothing_more},
                       {52, 1, with_prefetch(116, 128)},
                       {53, 63, nothing_more},
                       {116, 10, with_prefetch(244, 128)},
                       {126, 118, nothing_more},
                       {244, 128, with_prefetch(372, 128)}});
}

TEST(ReadAhead, begins_with_the_kernels_sizes) {
  struct Case {
    std::uint64_t pages, max, window;
  };
  for (const Case& each : std::initializer_list<Case>{
           {1, 128, 4},      {2, 128, 8},     {3, 128, 16},      {4, 128, 16},
           {5, 128, 16},     {32, 128, 64},   {33, 128, 128},    {127, 128, 128},
           {1, 32, 4},       {1, 8, 2},       {2, 8, 4},         {3, 8, 8},
           {1, 4, 2},        {3, 5, 5},       {1, 2, 2},         {1, 1, 1},
           {100, 2048, 256}, {64, 2048, 256}, {512, 2048, 1024}, {513, 2048, 2048}}) {
    ReadAhead ahead(each.max, each.max);
    EXPECT_EQ(plain(read(ahead, 0, each.pages)), with_prefetch(0, each.window))
        << each.pages << " of " << each.max;
  }
}

TEST(ReadAhead, of_a_request_of_the_largest_size_brings_the_next_window_too) {
  ReadAhead ahead(device, cap);
  expect_moves(ahead, {{0, 128, with_prefetch(0, 256)},
                       {128, 128, with_prefetch(256, 128)},
                       {256, 128, with_prefetch(384, 128)}});
}

// Each row: the state of a stream, the next request, and the result.
TEST(ReadAhead, moves_as_its_table_says) {
  enum Before { no_window, window };
  struct Row {
    const char* what;
    Before before;  // A window is [1000, 1016), read up to 1004, its mark is there.
    Move move;
    std::uint32_t windows;
  };
  const Row rows[] = {
      {"elsewhere is noted", no_window, {5000, 4, not_sequential}, 0},
      {"the start opens one", no_window, {0, 4, with_prefetch(0, 16)}, 1},
      {"following opens one", no_window, {1004, 4, with_prefetch(1004, 16)}, 1},
      {"a page left out does, too", no_window, {1005, 4, with_prefetch(1005, 16)}, 1},
      {"two pages left out do not", no_window, {1006, 4, not_sequential}, 0},
      {"the same again does not", no_window, {1000, 4, not_sequential}, 0},
      {"larger than the limit is noted", no_window, {1004, 129, not_sequential}, 0},
      {"before the mark nothing is missing", window, {1001, 3, nothing_more}, 1},
      {"the marked page pushes it on", window, {1004, 1, with_prefetch(1016, 32)}, 1},
      {"so does a request up to it", window, {1002, 3, with_prefetch(1016, 32)}, 1},
      {"and one that begins behind it", window, {1010, 2, with_prefetch(1016, 32)}, 1},
      {"and one that juts out", window, {1012, 10, with_prefetch(1016, 32 + 64)}, 1},
      {"one that juts out far begins anew", window, {1004, 120, with_prefetch(1004, 128)}, 1},
      {"behind its end is elsewhere", window, {1016, 4, not_sequential}, 1},
      {"before its begin is elsewhere", window, {999, 1, not_sequential}, 1},
      {"elsewhere leaves it", window, {5000, 4, not_sequential}, 1},
      {"the start is another stream", window, {0, 4, with_prefetch(0, 16)}, 2},
      {"larger than the limit closes it", window, {1004, 129, not_sequential}, 0},
  };
  for (const Row& row : rows) {
    ReadAhead ahead(device, cap);
    if (row.before == no_window) {
      expect_moves(ahead, {{1000, 4, not_sequential}});
    } else {
      expect_moves(ahead, {{996, 4, not_sequential}, {1000, 4, with_prefetch(1000, 16)}});
    }
    EXPECT_EQ(plain(read(ahead, row.move.first, row.move.pages)), row.move.expected) << row.what;
    EXPECT_EQ(ahead.streams(), row.windows) << row.what;
  }
}

TEST(ReadAhead, goes_on_after_a_request_above_the_limit) {
  ReadAhead ahead(device, cap);
  expect_moves(ahead, {{0, 4, with_prefetch(0, 16)},
                       {4, 2000, not_sequential},
                       {2004, 2000, not_sequential},
                       {4004, 4, with_prefetch(4004, 16)}});
}

TEST(ReadAhead, sees_requests_of_less_than_a_page) {
  ReadAhead ahead(device, cap);
  const auto read_bytes = [&](std::uint64_t offset, std::uint64_t bytes) {
    return plain(ahead.on_read(offset, bytes, endless * io::page_bytes, false));
  };
  EXPECT_EQ(read_bytes(10000, 500), not_sequential);
  EXPECT_EQ(read_bytes(10500, 500), with_prefetch(2, 4));
  EXPECT_EQ(read_bytes(11000, 500), nothing_more);
  EXPECT_EQ(read_bytes(11500, 1000), with_prefetch(6, 16));
  EXPECT_EQ(read_bytes(12500, 0), not_sequential);
}

TEST(ReadAhead, opens_no_window_while_all_requests_are_cached) {
  ReadAhead ahead(device, cap);
  for (std::uint64_t first = 0; first < 100; first += 4) {
    EXPECT_EQ(plain(read(ahead, first, 4, endless, true)), nothing_more);
  }
  EXPECT_EQ(ahead.streams(), 0u);
  EXPECT_EQ(plain(read(ahead, 100, 4)), with_prefetch(100, 16));
  // The next pages are cached because the stream read them ahead.
  EXPECT_EQ(plain(read(ahead, 104, 4, endless, true)), with_prefetch(116, 32));
}

TEST(ReadAhead, ends_with_the_file) {
  ReadAhead ahead(device, cap);
  EXPECT_EQ(plain(read(ahead, 0, 4, 10)), with_prefetch(0, 10));
  EXPECT_EQ(plain(read(ahead, 4, 6, 10)), nothing_more);
  EXPECT_EQ(plain(read(ahead, 10, 1, 10)), not_sequential) << "nothing is read";
  // The file grew.
  EXPECT_EQ(plain(read(ahead, 10, 1, 1000)), with_prefetch(10, 4));
  // The file was shortened.
  EXPECT_EQ(plain(read(ahead, 11, 1, 5)), not_sequential);
  EXPECT_EQ(plain(read(ahead, 0, 1, 0)), not_sequential);
}

TEST(ReadAhead, counts_the_part_of_a_request_within_the_file) {
  ReadAhead ahead(device, cap);
  EXPECT_EQ(plain(read(ahead, 0, 10000, 10)), with_prefetch(0, 10));
  EXPECT_EQ(plain(ahead.on_read(10 * io::page_bytes, 9999, 10 * io::page_bytes + 5, false)),
            with_prefetch(10, 1));
  EXPECT_EQ(plain(ahead.on_read(10 * io::page_bytes + 5, 9999, 20 * io::page_bytes, false)),
            with_prefetch(11, 9));
}

TEST(ReadAhead, is_off_for_random_and_starts_afresh_later) {
  ReadAhead ahead(device, cap);
  expect_moves(ahead, {{0, 4, with_prefetch(0, 16)}});
  ahead.set_advice(Advice::random);
  EXPECT_EQ(ahead.limit(), 0u);
  EXPECT_EQ(ahead.streams(), 0u);
  expect_moves(ahead, {{4, 4, not_sequential}, {0, 4, not_sequential}, {4, 4, not_sequential}});
  ahead.set_advice(Advice::normal);
  expect_moves(ahead, {{8, 4, not_sequential}, {12, 4, with_prefetch(12, 16)}});
}

TEST(ReadAhead, doubles_its_windows_for_sequential_but_not_the_limit) {
  ReadAhead ahead(device, cap);
  ahead.set_advice(Advice::sequential);
  EXPECT_EQ(ahead.limit(), device);
  expect_moves(ahead, {{0, 128, with_prefetch(0, 256)},
                       {128, 128, with_prefetch(256, 256)},
                       {256, 128, with_prefetch(512, 256)},
                       {384, 129, not_sequential}});
}

TEST(ReadAhead, keeps_its_windows_within_the_partitions_room) {
  ReadAhead ahead(2048, 100);
  EXPECT_EQ(ahead.limit(), 100u);
  expect_moves(ahead, {{0, 101, not_sequential}, {101, 100, with_prefetch(101, 200)}});
  ahead.set_window_max(10);
  expect_moves(ahead, {{201, 11, not_sequential}, {212, 10, with_prefetch(212, 20)}});
}

TEST(ReadAhead, is_off_if_the_device_or_the_partition_has_no_pages) {
  for (ReadAhead ahead : {ReadAhead(0, cap), ReadAhead(device, 0)}) {
    expect_moves(ahead, {{0, 1, not_sequential}, {1, 1, not_sequential}});
    EXPECT_EQ(ahead.limit(), 0u);
  }
}

TEST(ReadAhead, follows_eight_streams_of_a_file) {
  ReadAhead ahead(device, cap);
  const auto each_reads = [&](std::uint64_t streams, std::uint64_t at,
                              const std::function<ReadAheadAnswer(std::uint64_t)>& expected) {
    for (std::uint64_t stream = 1; stream <= streams; ++stream) {
      const std::uint64_t base = stream * 100000;
      EXPECT_EQ(plain(read(ahead, base + at, 4)), expected(base)) << stream << " at " << at;
    }
  };
  const auto unknown = [](std::uint64_t) { return not_sequential; };
  each_reads(8, 0, unknown);
  each_reads(8, 4, [](std::uint64_t base) { return with_prefetch(base + 4, 16); });
  each_reads(8, 8, [](std::uint64_t base) { return with_prefetch(base + 20, 32); });
  EXPECT_EQ(ahead.streams(), 8u);
  // A ninth stream takes the place of the first, which is forgotten.
  EXPECT_EQ(plain(read(ahead, 900000, 4)), not_sequential);
  EXPECT_EQ(plain(read(ahead, 100012, 4)), not_sequential);
  EXPECT_EQ(plain(read(ahead, 300012, 4)), nothing_more);
}

TEST(ReadAhead, leaves_random_requests_alone) {
  ReadAhead ahead(device, cap);
  std::mt19937_64 random(1);
  for (int request = 0; request < 10000; ++request) {
    const std::uint64_t first = 1 + random() % (std::uint64_t{1} << 40);
    EXPECT_EQ(plain(read(ahead, first, 1 + random() % 100)), not_sequential);
  }
}

// Front to back in any sizes, now and then two requests in the wrong order, unaligned.
TEST(ReadAhead, requests_each_page_once_in_time_and_not_far_ahead) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 500; ++round) {
    const std::uint64_t max = 1 + random() % (round % 2 == 0 ? 40 : 300);
    const std::uint64_t window_cap = 1 + random() % 300;
    ReadAhead ahead(max, window_cap);
    if (random() % 3 == 0) ahead.set_advice(Advice::sequential);
    const std::uint64_t window = std::min(window_cap, 2 * max);
    const std::uint64_t file_pages = 1 + random() % 3000;
    const std::uint64_t largest = 1 + random() % (ahead.limit() * io::page_bytes);
    std::vector<std::uint32_t> asked(file_pages);
    std::uint64_t frontier = 0;
    for (std::uint64_t offset = 0; offset < file_pages * io::page_bytes;) {
      const std::uint64_t bytes = 1 + random() % largest;
      const io::PageRange request = io::pages_of(offset, bytes);
      if (request.pages > ahead.limit()) continue;  // The request touches one page more.
      const ReadAheadAnswer answer =
          ahead.on_read(offset, bytes, file_pages * io::page_bytes, false);
      ASSERT_TRUE(answer.sequential);
      ASSERT_LE(answer.prefetch.pages, 2 * window);
      ASSERT_LE(answer.prefetch.end(), answer.prefetch.empty() ? ~0ull : file_pages);
      for (std::uint64_t at = 0; at < answer.prefetch.pages; ++at) {
        ++asked[answer.prefetch.first + at];
      }
      if (!answer.prefetch.empty()) frontier = std::max(frontier, answer.prefetch.end());
      for (std::uint64_t page = request.first; page < std::min(request.end(), file_pages); ++page) {
        ASSERT_GE(asked[page], 1u) << "page " << page << " of round " << round;
      }
      ASSERT_LE(frontier, request.end() + 2 * window);
      offset += bytes;
    }
    // Requested again only if a request passed two windows: those pages are cached by then.
    const auto twice = std::ranges::count_if(asked, [](std::uint32_t times) { return times > 1; });
    ASSERT_LE(static_cast<std::uint64_t>(twice), window * 4) << "round " << round;
  }
}

// mm/readahead.c on one file: page_cache_sync_ra() and page_cache_async_ra() as filemap_read()
// calls them, page by page, folios of one page, no congestion.
class Kernel {
 public:
  explicit Kernel(std::uint64_t max) : max_(max) {}

  // The end of the cached part of the file afterwards.
  std::uint64_t read(std::uint64_t first, std::uint64_t pages) {
    const std::uint64_t end = first + pages;
    for (std::uint64_t page = first; page < end; ++page) {
      if (!cached_.contains(page)) {
        EXPECT_TRUE(page == 0 || page - previous_ <= 1)
            << "the model supports sequential readers only";
        start_ = page;
        size_ = initial(end - page);
        async_ = size_ > end - page ? size_ - (end - page) : size_ / 2;
        submit();
      }
      if (marked_.erase(page) != 0) {
        EXPECT_EQ(page, start_ + size_ - async_);
        start_ += size_;
        size_ = size_ < max_ / 16 ? 4 * size_ : size_ <= max_ / 2 ? 2 * size_ : max_;
        async_ = size_;
        submit();
      }
    }
    previous_ = end;
    return *cached_.rbegin() + 1;
  }

 private:
  [[nodiscard]] std::uint64_t initial(std::uint64_t pages) const {
    std::uint64_t size = 1;
    while (size < pages) size *= 2;
    return size <= max_ / 32 ? size * 4 : size <= max_ / 4 ? size * 2 : max_;
  }
  void submit() {
    for (std::uint64_t page = start_; page < start_ + size_; ++page) {
      cached_.insert(page);
      if (async_ != 0 && page == start_ + size_ - async_) marked_.insert(page);
    }
  }

  std::uint64_t max_;
  std::uint64_t previous_ = 0;
  std::uint64_t start_ = 0, size_ = 0, async_ = 0;
  std::set<std::uint64_t> cached_, marked_;
};

TEST(ReadAhead, requests_the_kernels_pages_for_a_reader_of_one_size) {
  for (const std::uint64_t max : {1u, 2u, 5u, 8u, 32u, 33u, 100u, 128u, 256u}) {
    for (std::uint64_t pages = 1; pages <= max; ++pages) {
      Kernel kernel(max);
      ReadAhead ahead(max, max);
      std::uint64_t frontier = 0;
      for (std::uint64_t first = 0; first < 10 * max; first += pages) {
        const ReadAheadAnswer answer = read(ahead, first, pages);
        if (!answer.prefetch.empty()) {
          ASSERT_EQ(answer.prefetch.first, frontier);
          frontier = answer.prefetch.end();
        }
        ASSERT_EQ(frontier, kernel.read(first, pages))
            << "requests of " << pages << " pages, windows of " << max << ", at " << first;
      }
    }
  }
}

TEST(ReadAhead, announces_all_pages_that_the_kernel_may_read_and_takes_them_back) {
  for (const std::uint64_t max : {1u, 2u, 5u, 8u, 32u, 33u, 100u, 128u}) {
    for (const std::uint64_t step : {1u, 7u, 32u}) {
      for (std::uint64_t pages = 1; pages <= max; ++pages) {
        Kernel kernel(max);
        ReadAhead ahead(max, 1, step);
        ahead.set_by_kernel(true);
        std::uint64_t announced = 0, done = 0;
        const auto note = [&](const ReadAheadAnswer& answer) {
          if (!answer.prefetch.empty()) {
            ASSERT_EQ(answer.prefetch.first, announced);
          }
          announced += answer.prefetch.pages;
          if (!answer.done.empty()) {
            ASSERT_EQ(answer.done.first, done);
          }
          done += answer.done.pages;
          ASSERT_LE(announced - done, ahead.kernel_pages());
        };
        for (std::uint64_t first = 0; first < 10 * max; first += pages) {
          const ReadAheadAnswer answer = read(ahead, first, pages);
          ASSERT_TRUE(answer.sequential && answer.by_kernel);
          note(answer);
          ASSERT_LE(kernel.read(first, pages), announced)
              << "requests of " << pages << " pages, windows of " << max << ", at " << first;
          ASSERT_LE(done, first) << "pages that are still to be read are not done";
          // Otherwise the next request announces it in time.
          if (answer.due && first % 3 != 0) {
            note(ahead.on_done(first * io::page_bytes, pages * io::page_bytes,
                               endless * io::page_bytes));
          }
        }
        EXPECT_GE(done + ahead.kernel_pages(), announced);
      }
    }
  }
}

TEST(ReadAhead, leaves_streams_to_the_kernel_once_there_is_room) {
  ReadAhead ahead(device, 16, 8);
  EXPECT_EQ(plain(read(ahead, 0, 4)), with_prefetch(0, 8)) << "the stream's own windows";
  ahead.set_by_kernel(true);
  const ReadAheadAnswer goes_over = read(ahead, 4, 4);
  EXPECT_TRUE(goes_over.by_kernel);
  EXPECT_EQ(goes_over.prefetch.first, 8u);
  EXPECT_EQ(goes_over.prefetch.end(), 8 + 2 * device + 2 * 8);
  ahead.set_by_kernel(false);
  EXPECT_TRUE(read(ahead, 8, device).by_kernel)
      << "the stream stays the kernel's, up to the device's own limit";
  EXPECT_EQ(read(ahead, 5000, 1), not_sequential);
  EXPECT_FALSE(read(ahead, 5001, 1).by_kernel) << "no room for another stream";
  EXPECT_EQ(plain(read(ahead, 8 + device, device + 1)), not_sequential);
  EXPECT_FALSE(read(ahead, 9 + 2 * device, 1).by_kernel) << "the larger request closed the stream";
}

TEST(ReadAhead, has_nothing_due_of_closed_streams) {
  ReadAhead ahead(device, cap, 8);
  const auto done = [&](std::uint64_t first) {
    return ahead.on_done(first * io::page_bytes, io::page_bytes, endless * io::page_bytes);
  };
  EXPECT_EQ(done(0), not_sequential);
  read(ahead, 0, 1);
  EXPECT_EQ(done(0), not_sequential) << "a stream with windows of its own";
  ahead.set_by_kernel(true);
  for (std::uint64_t first = 1; first < 100; ++first) read(ahead, first, 1);
  EXPECT_TRUE(done(99).by_kernel);
  ahead.set_advice(Advice::random);
  EXPECT_EQ(done(99), not_sequential);
  EXPECT_FALSE(read(ahead, 100, 1).by_kernel);
}

TEST(ReadAhead, announces_no_pages_that_are_known_to_be_cached) {
  ReadAhead ahead(device, cap, 8);
  ahead.set_by_kernel(true);
  const ReadAheadAnswer first = read(ahead, 0, 1);
  ahead.skip_to(first.prefetch.end() + 1000);
  for (std::uint64_t page = 1; page < 1000; ++page) {
    ASSERT_TRUE(read(ahead, page, 1).prefetch.empty()) << page;
  }
  ahead.skip_to(1);  // Known already.
  const ReadAheadAnswer next = read(ahead, 1000, 30);
  EXPECT_EQ(next.prefetch.first, first.prefetch.end() + 1000);
}

TEST(ReadAhead, counts_on_the_kernels_double_windows_for_sequential) {
  ReadAhead ahead(device, cap, 8);
  ahead.set_by_kernel(true);
  ahead.set_advice(Advice::sequential);
  EXPECT_EQ(read(ahead, 0, 1).prefetch.end(), 1 + 4 * device + 16);
  EXPECT_EQ(ahead.kernel_pages(), 4 * device + device + 24);
}

TEST(WindowPagesMax, leaves_room_for_two_windows_a_stream) {
  EXPECT_EQ(window_pages_max(512, 0), 170u);
  EXPECT_EQ(window_pages_max(512, 128), 128u) << "the windows of a lone stream stay";
  EXPECT_EQ(window_pages_max(512, 500), 16u);
  EXPECT_EQ(window_pages_max(512, 1000), 16u);
  EXPECT_EQ(window_pages_max(8, 8), 1u);
  EXPECT_EQ(window_pages_max(0, 1), 1u);
}

}  // namespace
}  // namespace k2k::router
