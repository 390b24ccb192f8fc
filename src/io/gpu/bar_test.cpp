#include <gtest/gtest.h>

#include <array>
#include <cerrno>

#include "io/gpu/device_engines.hpp"
#include "io/memory/separate_memory_fixture.hpp"

namespace k2k::io {
namespace {

constexpr std::size_t file_bytes = 100 * page + 77;

class BarTest : public testing::Test {
 protected:
  std::int64_t result_of(const Transfer& transfer) {
    EXPECT_EQ(engine_->submit({&transfer, 1}), 1u);
    Completion completion;
    EXPECT_EQ(engine_->poll({&completion, 1}, 1), 1u);
    EXPECT_EQ(completion.tag, transfer.tag);
    return completion.result;
  }

  const OwnFiles files_;
  const std::string path_ = make_file(files_, "content", file_bytes);
  const Opened file_ = open_file(path_, O_RDWR);
  const Pages target_{128 * page};
  MappedMemory memory_;
  const std::unique_ptr<Engine> engine_ = make_bar(memory_, 8).value();
};

TEST_F(BarTest, NamesItself) {
  const Capabilities& can = engine_->capabilities();
  EXPECT_STREQ(can.name, "bar");
  EXPECT_FALSE(can.asynchronous);
  EXPECT_TRUE(can.device_memory);
  EXPECT_EQ(can.whole_write_bytes, 64u * 1024);
}

TEST_F(BarTest, ReadsAnyPlaceAndLengthIntoAnyAddress) {
  for (const std::uint64_t offset : {0u, 1u, 65'535u, 65'536u, 70'001u}) {
    for (const std::size_t bytes : {0u, 1u, 63u, 4096u, 65'536u, 200'000u}) {
      for (const std::size_t at : {0u, 1u, 63u}) {
        std::ranges::fill(target_.span(), std::byte{0x77});
        const Transfer read{file_.number(), offset, target_.data() + at, bytes, 3, Direction::read};
        ASSERT_EQ(result_of(read), static_cast<std::int64_t>(bytes));
        ASSERT_TRUE(holds_content(target_.span().subspan(at, bytes), offset));
        ASSERT_EQ(target_.data()[at + bytes], std::byte{0x77});
      }
    }
  }
}

TEST_F(BarTest, TheEndOfTheFileShortensAResult) {
  std::ranges::fill(target_.span(), std::byte{0x77});
  EXPECT_EQ(result_of({file_.number(), page, target_.data(), 120 * page, 0, Direction::read}),
            std::int64_t{99 * page + 77});
  EXPECT_TRUE(holds_content(target_.span().first(99 * page + 77), page));
  EXPECT_EQ(target_.data()[99 * page + 77], std::byte{0x77});
  EXPECT_EQ(result_of({file_.number(), 200 * page, target_.data(), page, 0, Direction::read}), 0);
}

TEST_F(BarTest, Writes) {
  fill(target_.span(), 0x4000);
  EXPECT_EQ(result_of({file_.number(), 5, target_.data(), 90 * page, 0, Direction::write}),
            std::int64_t{90 * page});
  const Pages seen(90 * page);
  ASSERT_EQ(::pread(file_.number(), seen.data(), 90 * page, 5), ssize_t{90 * page});
  EXPECT_TRUE(holds_content(seen.span(), 0x4000));
}

TEST_F(BarTest, ErrorsAreCompletions) {
  EXPECT_EQ(result_of({-1, 0, target_.data(), page, 0, Direction::read}), -EBADF);
  EXPECT_EQ(
      result_of({file_.number(), ~std::uint64_t{0}, target_.data(), page, 0, Direction::read}),
      -EINVAL);
  const Opened full = open_file("/dev/full", O_WRONLY);
  EXPECT_EQ(result_of({full.number(), 0, target_.data(), page, 0, Direction::write}), -ENOSPC);
}

TEST_F(BarTest, TakesNoMoreThanItHasRoomFor) {
  std::array<Transfer, 9> reads;
  reads.fill({file_.number(), 0, target_.data(), page, 0, Direction::read});
  EXPECT_EQ(engine_->submit(reads), 8u);
  EXPECT_EQ(engine_->submit(reads), 0u);
  std::array<Completion, 9> all;
  EXPECT_EQ(engine_->poll(all, 9), 8u);
  EXPECT_EQ(engine_->outstanding(), 0u);
}

TEST(MakeBar, ReportsMemoryThatCannotBeMapped) {
  SeparateMemory memory(page);
  const auto made = make_bar(memory, 8);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, EOPNOTSUPP);
  MappedMemory mapped;
  EXPECT_EQ(make_bar(mapped, 0).error().code, EINVAL);
}

// A device with memory that can be mapped only partly.
class HalfMapped final : public DeviceMemory {
 public:
  explicit HalfMapped(std::span<std::byte> half) : half_(half) {}
  [[nodiscard]] const char* name() const override { return "half"; }
  [[nodiscard]] bool kernel_reaches() const override { return false; }
  Result<std::unique_ptr<CopyQueue>> make_queue(std::uint32_t, std::size_t) override {
    return Error{EOPNOTSUPP, "none"};
  }
  [[nodiscard]] Status can_map() const override { return {}; }
  Result<std::byte*> map(std::byte* address, std::size_t bytes) override {
    if (address + bytes <= half_.data() + half_.size()) return address;
    return Error{EFAULT, "not mapped"};
  }

 private:
  std::span<std::byte> half_;
};

TEST_F(BarTest, AnAddressThatCannotBeMappedIsItsTransfersError) {
  HalfMapped memory(target_.span().first(page));
  const auto engine = make_bar(memory, 2).value();
  const std::array<Transfer, 2> reads = {
      {{file_.number(), 0, target_.data(), page, 0, Direction::read},
       {file_.number(), 0, target_.data() + 1, page, 1, Direction::read}}};
  EXPECT_EQ(engine->submit(reads), 2u);
  std::array<Completion, 2> all;
  EXPECT_EQ(engine->poll(all, 2), 2u);
  EXPECT_EQ(all[0].result, std::int64_t{page});
  EXPECT_EQ(all[1].result, -EFAULT);
}

}  // namespace
}  // namespace k2k::io
