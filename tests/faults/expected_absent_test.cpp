// Goal: when no page is expected to be cached, and the direct transfer comes first, the answers on
// a failing file system are still those of pread(2), and a refusal is remembered.
// Method: cold reads on the fault file system until they are unprobed, then its faults.

#include <optional>

#include "router/file/expectation.hpp"
#include "tests/faults/file_reader_fixture.hpp"

namespace k2k::faults::expected_absent_test {
namespace {

constexpr std::size_t block = 16 * page;
constexpr std::size_t blocks = file_bytes / block;

class ExpectedAbsentOnFaults : public FileReaderOnFaults {
 protected:
  void SetUp() override {
    FileReaderOnFaults::SetUp();
    if (IsSkipped()) return;
    file_.emplace(open("data"));
    reader_ = make_reader();
    for (std::size_t number = 0; number < -router::trust::absent_from; ++number) {
      const std::size_t offset = number * 7 % blocks * block;
      ASSERT_EQ(routed(*reader_, descriptor(), {block, offset}).count, ssize_t{block});
    }
    probed_ = reader_->stats().probed;
    ASSERT_EQ(reader_->stats().bytes_direct, probed_ * block);
  }
  // No request was probed since.
  void expect_unprobed(std::uint64_t requests) const {
    EXPECT_EQ(reader_->stats().probed, probed_);
    EXPECT_EQ(reader_->stats().unprobed, requests);
  }

  [[nodiscard]] int descriptor() const { return file_->number(); }

  std::optional<io::Opened> file_;
  std::unique_ptr<FileReader> reader_;
  std::uint64_t probed_ = 0;
};

TEST_F(ExpectedAbsentOnFaults, ends_before_a_bad_byte_or_has_its_error) {
  constexpr std::size_t bad = 5 * block + 3 * page + 7;
  for (const std::size_t offset : {5 * block, 5 * block + 3 * page, 5 * block + 2 * page}) {
    const Piece piece{block, offset};
    evict(descriptor());
    control().bad_byte = bad;
    const Answer kernels = plain(descriptor(), piece);
    evict(descriptor());
    EXPECT_EQ(routed(*reader_, descriptor(), piece), kernels) << offset;
    control().bad_byte = Control::none;
  }
  expect_unprobed(3);
  EXPECT_EQ(reader_->stats().fall_backs, 3u);
  EXPECT_EQ(reader_->stats().files_refused, 0u) << "the page cache failed as well: no refusal";
}

TEST_F(ExpectedAbsentOnFaults, completes_short_reads) {
  control().read_bytes_max = 5 * page;
  const Answer answer = routed(*reader_, descriptor(), {block, 9 * block});
  EXPECT_EQ(answer.count, ssize_t{block});
  EXPECT_TRUE(io::holds_content(answer.bytes, 9 * block));
  expect_unprobed(1);
}

TEST_F(ExpectedAbsentOnFaults, answers_as_the_kernel_where_the_reported_size_is_wrong) {
  for (const std::uint64_t said : {std::uint64_t{0}, std::uint64_t{9 * block + page}}) {
    control().said_bytes = said;
    expect_same(*reader_, descriptor(), {block, 9 * block});
  }
}

class RefusalsUnprobed : public ExpectedAbsentOnFaults, public testing::WithParamInterface<int> {};

TEST_P(RefusalsUnprobed, are_read_by_the_page_cache_and_remembered) {
  control().direct_read_error = GetParam();
  const std::uint64_t before = control().direct_reads;
  for (const std::size_t number : {3, 9, 20}) {
    expect_same(*reader_, descriptor(), {block, number * block});
  }
  EXPECT_EQ(control().direct_reads, before + 1);
  EXPECT_EQ(reader_->stats().fall_backs, 1u);
  EXPECT_EQ(reader_->stats().files_refused, 1u);
}

INSTANTIATE_TEST_SUITE_P(, RefusalsUnprobed, testing::Values(EREMOTEIO, EINVAL, EIO, EOPNOTSUPP),
                         [](const auto& one) { return std::string(strerrorname_np(one.param)); });

}  // namespace
}  // namespace k2k::faults::expected_absent_test
