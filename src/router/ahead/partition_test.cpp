// Goal: the partition agrees with a list of single pages in the order of their use, in its pages
// and its evictions; it never exceeds its bound and allocates no memory. Method: that list as a
// model; every short sequence of operations on a tiny partition, and many random ones.

#include "router/ahead/partition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <random>

namespace k2k::router {
namespace {

using TouchedRange = Partition::Piece;

std::vector<TouchedRange> listed(std::span<const TouchedRange> pieces) {
  return {pieces.begin(), pieces.end()};
}

Partition partition_of(std::uint64_t pages) { return Partition::create(pages).value(); }

TEST(Partition, has_from_one_page_to_its_largest_size) {
  for (const std::uint64_t pages : {std::uint64_t{0}, std::uint64_t{read_ahead_pages_max} + 1}) {
    const Result<Partition> refused = Partition::create(pages);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, EINVAL);
  }
  EXPECT_EQ(Partition::create(0).error().message,
            "a read-ahead partition of 0 pages; give 1 to 1048576");
  EXPECT_EQ(partition_of(read_ahead_pages_default).pages_max(), 2048u);
}

TEST(Partition, evicts_the_oldest_pages_first_and_no_more_than_needed) {
  Partition partition = partition_of(10);
  EXPECT_EQ(listed(partition.insert(1, {0, 4})), std::vector<TouchedRange>{});
  EXPECT_EQ(listed(partition.insert(2, {0, 4})), std::vector<TouchedRange>{});
  EXPECT_EQ(listed(partition.insert(1, {100, 5})), (std::vector<TouchedRange>{{1, {0, 3}}}));
  EXPECT_EQ(partition.pages(), 10u);
  EXPECT_EQ(listed(partition.insert(1, {200, 6})),
            (std::vector<TouchedRange>{{1, {3, 1}}, {2, {0, 4}}, {1, {100, 1}}}));
  EXPECT_EQ(listed(partition.insert(3, {0, 10})),
            (std::vector<TouchedRange>{{1, {101, 4}}, {1, {200, 6}}}));
}

TEST(Partition, keeps_pages_longer_that_a_device_reads) {
  Partition partition = partition_of(10);
  partition.insert(1, {0, 5});
  partition.insert(1, {5, 5});
  EXPECT_EQ(partition.refresh(1, {2, 2}), 2u);
  EXPECT_EQ(partition.refresh(2, {2, 2}), 0u);
  EXPECT_EQ(listed(partition.insert(2, {0, 8})),
            (std::vector<TouchedRange>{{1, {0, 2}}, {1, {4, 1}}, {1, {5, 5}}}));
  EXPECT_TRUE(partition.contains(1, 2));
  EXPECT_TRUE(partition.contains(1, 3));
}

TEST(Partition, never_evicts_pages_that_a_host_program_read) {
  Partition partition = partition_of(10);
  partition.insert(1, {0, 10});
  EXPECT_EQ(partition.release(1, {3, 4}), 4u);
  EXPECT_EQ(partition.release(1, {3, 4}), 0u);
  EXPECT_EQ(partition.pages(), 6u);
  EXPECT_EQ(partition.ranges(), 2u);
  EXPECT_EQ(listed(partition.insert(2, {0, 10})),
            (std::vector<TouchedRange>{{1, {0, 3}}, {1, {7, 3}}}));
}

TEST(Partition, evicts_pages_first_that_a_stream_has_read) {
  Partition partition = partition_of(8);
  partition.insert(1, {0, 4});
  partition.insert(2, {0, 4});
  EXPECT_EQ(partition.retire(2, {0, 1}), 1u);
  EXPECT_EQ(partition.retire(2, {1, 1}), 1u);
  EXPECT_EQ(partition.retire(3, {0, 1}), 0u);
  EXPECT_EQ(partition.ranges(), 3u) << "the two retired pages are one range";
  EXPECT_EQ(listed(partition.insert(3, {0, 3})),
            (std::vector<TouchedRange>{{2, {0, 2}}, {1, {0, 1}}}));
}

TEST(Partition, forgets_a_whole_file) {
  Partition partition = partition_of(10);
  partition.insert(2, {5, 3});
  partition.insert(1, {9, 1});
  partition.insert(2, {0, 2});
  partition.insert(3, {0, 1});
  EXPECT_EQ(listed(partition.forget(2)), (std::vector<TouchedRange>{{2, {0, 2}}, {2, {5, 3}}}));
  EXPECT_EQ(listed(partition.forget(2)), std::vector<TouchedRange>{});
  EXPECT_EQ(partition.pages(), 2u);
  EXPECT_TRUE(partition.contains(1, 9));
  EXPECT_TRUE(partition.contains(3, 0));
  EXPECT_FALSE(partition.contains(2, 0));
}

TEST(Partition, takes_no_pages_for_nothing) {
  Partition partition = partition_of(1);
  EXPECT_EQ(listed(partition.insert(1, {5, 0})), std::vector<TouchedRange>{});
  partition.insert(1, {5, 1});
  EXPECT_EQ(partition.release(1, {5, 0}), 0u);
  EXPECT_EQ(partition.refresh(1, {0, 0}), 0u);
  EXPECT_EQ(partition.pages(), 1u);
}

TEST(Partition, holds_a_file_cut_off_somewhere) {
  Partition partition = partition_of(100);
  partition.insert(1, {10, 50});
  partition.insert(1, {1000, 10});
  // Truncated: all pages from there on.
  EXPECT_EQ(partition.release(1, {30, ~std::uint64_t{0} - 30}), 40u);
  EXPECT_EQ(listed(partition.forget(1)), (std::vector<TouchedRange>{{1, {10, 20}}}));
}

TEST(Partition, accepts_no_more_pages_at_once_than_it_can_hold) {
  Partition partition = partition_of(4);
  EXPECT_DEATH(partition.insert(1, {0, 5}), "range.pages <= pages_max_");
}

TEST(Partition, can_be_moved) {
  Partition partition = partition_of(4);
  partition.insert(1, {0, 3});
  Partition moved = std::move(partition);
  EXPECT_EQ(listed(moved.insert(1, {5, 3})), (std::vector<TouchedRange>{{1, {0, 2}}}));
}

// Single pages, the oldest first.
class ReferenceModel {
 public:
  using Page = std::pair<std::uint64_t, std::uint64_t>;

  explicit ReferenceModel(std::uint64_t pages_max) : pages_max_(pages_max) {}

  std::vector<Page> insert(std::uint64_t file, io::PageRange range) {
    release(file, range);
    std::vector<Page> gone;
    while (pages_.size() + range.pages > pages_max_) {
      gone.push_back(pages_.front());
      pages_.erase(pages_.begin());
      if (retired_ > 0) --retired_;
    }
    for (std::uint64_t page = range.first; page < range.end(); ++page) {
      pages_.emplace_back(file, page);
    }
    return gone;
  }
  std::uint64_t refresh(std::uint64_t file, io::PageRange range) {
    std::vector<Page> here;
    for (std::uint64_t page = range.first; page < range.end(); ++page) {
      if (contains(file, page)) here.emplace_back(file, page);
    }
    release(file, range);
    pages_.insert(pages_.end(), here.begin(), here.end());
    return here.size();
  }
  std::uint64_t retire(std::uint64_t file, io::PageRange range) {
    std::vector<Page> here;
    for (std::uint64_t page = range.first; page < range.end(); ++page) {
      if (contains(file, page)) here.emplace_back(file, page);
    }
    release(file, range);
    pages_.insert(pages_.begin() + static_cast<std::ptrdiff_t>(retired_), here.begin(), here.end());
    retired_ += here.size();
    return here.size();
  }
  std::uint64_t release(std::uint64_t file, io::PageRange range) {
    std::uint64_t gone = 0;
    for (std::size_t at = 0; at < pages_.size();) {
      const auto& [of, page] = pages_[at];
      if (of != file || page < range.first || page >= range.end()) {
        ++at;
        continue;
      }
      pages_.erase(pages_.begin() + static_cast<std::ptrdiff_t>(at));
      if (at < retired_) --retired_;
      ++gone;
    }
    return gone;
  }
  std::vector<Page> forget(std::uint64_t file) {
    std::vector<Page> gone;
    for (const Page& page : pages_) {
      if (page.first == file) gone.push_back(page);
    }
    std::ranges::sort(gone);
    release(file, {0, ~std::uint64_t{0}});
    return gone;
  }
  [[nodiscard]] bool contains(std::uint64_t file, std::uint64_t page) const {
    return std::ranges::find(pages_, Page(file, page)) != pages_.end();
  }
  [[nodiscard]] std::size_t pages() const { return pages_.size(); }
  [[nodiscard]] std::size_t retired() const { return retired_; }

 private:
  std::uint64_t pages_max_;
  std::vector<Page> pages_;
  std::size_t retired_ = 0;  // The first of them.
};

std::vector<ReferenceModel::Page> page_by_page(std::span<const TouchedRange> pieces) {
  std::vector<ReferenceModel::Page> pages;
  for (const TouchedRange& piece : pieces) {
    EXPECT_FALSE(piece.range.empty());
    for (std::uint64_t page = piece.range.first; page < piece.range.end(); ++page) {
      pages.emplace_back(piece.file, page);
    }
  }
  return pages;
}

struct Operation {
  enum Kind { insert, refresh, retire, release, forget } kind;
  std::uint64_t file;
  io::PageRange range;
};

// Applies the operation to both and compares the results.
void expect_same(Partition& partition, ReferenceModel& model, const Operation& operation) {
  const auto& [kind, file, range] = operation;
  switch (kind) {
    case Operation::insert:
      ASSERT_EQ(page_by_page(partition.insert(file, range)), model.insert(file, range));
      break;
    case Operation::refresh:
      ASSERT_EQ(partition.refresh(file, range), model.refresh(file, range));
      break;
    case Operation::retire:
      ASSERT_EQ(partition.retire(file, range), model.retire(file, range));
      break;
    case Operation::release:
      ASSERT_EQ(partition.release(file, range), model.release(file, range));
      break;
    case Operation::forget:
      ASSERT_EQ(page_by_page(partition.forget(file)), model.forget(file));
      break;
  }
  ASSERT_EQ(partition.pages(), model.pages());
  ASSERT_EQ(partition.pages_retired(), model.retired());
  ASSERT_LE(partition.pages(), partition.pages_max());
  ASSERT_LE(partition.ranges(), partition.pages());
}

void expect_same_content(const Partition& partition, const ReferenceModel& model,
                         std::uint64_t files, std::uint64_t file_pages) {
  for (std::uint64_t file = 0; file < files; ++file) {
    for (std::uint64_t page = 0; page < file_pages; ++page) {
      ASSERT_EQ(partition.contains(file, page), model.contains(file, page));
    }
  }
}

// Under a sanitizer an operation takes ten times as long; one more makes twenty times the
// sequences.
#if defined(K2K_TSAN) || defined(K2K_ASAN)
constexpr std::size_t sequence_length = 3;
#else
constexpr std::size_t sequence_length = 4;
#endif

// Three pages of two files with four: all sequences of so many operations.
TEST(Partition, agrees_with_a_list_of_pages_in_every_short_sequence) {
  std::vector<Operation> all;
  for (std::uint64_t first = 0; first < 4; ++first) {
    for (std::uint64_t pages = 1; first + pages <= 4; ++pages) {
      if (pages <= 3) all.push_back({Operation::insert, 0, {first, pages}});
      if (pages <= 2) all.push_back({Operation::refresh, 0, {first, pages}});
      all.push_back({Operation::release, 0, {first, pages}});
    }
  }
  all.push_back({Operation::insert, 1, {1, 2}});
  all.push_back({Operation::refresh, 1, {2, 1}});
  all.push_back({Operation::retire, 0, {0, 1}});
  all.push_back({Operation::retire, 0, {1, 2}});
  all.push_back({Operation::retire, 1, {2, 1}});
  all.push_back({Operation::forget, 0, {}});
  std::vector<std::size_t> sequence(sequence_length);
  std::uint64_t sequences = 0;
  for (;;) {
    Partition partition = partition_of(3);
    ReferenceModel model(3);
    for (const std::size_t at : sequence) expect_same(partition, model, all[at]);
    expect_same_content(partition, model, 2, 4);
    // The remaining pages, in order.
    expect_same(partition, model, {Operation::insert, 2, {0, 3}});
    if (HasFatalFailure()) return;
    ++sequences;
    std::size_t digit = 0;
    while (digit < sequence.size() && ++sequence[digit] == all.size()) sequence[digit++] = 0;
    if (digit == sequence.size()) break;
  }
  std::uint64_t every = 1;
  for (std::size_t place = 0; place < sequence_length; ++place) every *= all.size();
  EXPECT_EQ(sequences, every);
}

TEST(Partition, agrees_with_a_list_of_pages_in_many_random_operations) {
  constexpr std::uint64_t files = 3, file_pages = 100;
  std::mt19937_64 random(1);
  std::uint64_t operations = 0;
  for (const std::uint64_t pages_max : {1u, 2u, 7u, 40u, 150u}) {
    Partition partition = partition_of(pages_max);
    ReferenceModel model(pages_max);
    for (int at = 0; at < 20000; ++at) {
      const std::uint64_t first = random() % file_pages;
      const std::uint64_t longest = at % 2 == 0 ? 4 : 40;
      const io::PageRange range = {first, random() % std::min(longest, file_pages - first + 1)};
      const std::uint64_t kind = random() % 32;
      Operation operation = {Operation::insert, random() % files, range};
      if (kind >= 12) operation.kind = Operation::refresh;
      if (kind >= 18) operation.kind = Operation::retire;
      if (kind >= 24) operation.kind = Operation::release;
      if (kind >= 31) operation.kind = Operation::forget;
      operation.range.pages = std::min(operation.range.pages, pages_max);
      expect_same(partition, model, operation);
      if (at % 16 == 0) expect_same_content(partition, model, files, file_pages + 2);
      if (HasFatalFailure()) {
        FAIL() << "operation " << at << " of a partition of " << pages_max;
      }
      ++operations;
    }
  }
  EXPECT_EQ(operations, 100000u);
}

TEST(Partition, evicts_retired_pages_up_to_the_grain) {
  auto made = Partition::create(64, 16);
  ASSERT_TRUE(made.ok());
  Partition& partition = made.value();
  ASSERT_TRUE(partition.insert(1, {3, 60}).empty());
  partition.retire(1, {3, 40});
  const auto gone = partition.insert(2, {0, 6});
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0], (Partition::Piece{1, {3, 13}}))
      << "two pages had to be evicted; the grain makes it 13";
  EXPECT_EQ(partition.pages(), 53u);
  const auto rest = partition.insert(2, {100, 50});
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_EQ(rest[0], (Partition::Piece{1, {16, 27}})) << "the rest of the retired pages";
  EXPECT_EQ(rest[1], (Partition::Piece{1, {43, 12}}))
      << "of the other pages only as many as needed";
  EXPECT_EQ(partition.pages(), 64u);
}

}  // namespace
}  // namespace k2k::router
