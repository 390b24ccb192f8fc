#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <random>

#include "io/gpu/device_engines.hpp"
#include "io/memory/separate_memory_fixture.hpp"

namespace k2k::io {
namespace {

constexpr std::uint32_t room = 16;
constexpr std::uint32_t buffers = 4;
constexpr std::size_t buffer_bytes = 4 * page;
constexpr std::size_t memory_bytes = 512 * page;
constexpr StagingConfig small{room, buffers, buffer_bytes};

struct Files {
  const char* name;
  Result<std::unique_ptr<Engine>> (*make)(std::uint32_t outstanding);
};

class StagingTest : public testing::TestWithParam<Files> {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Engine>> files = GetParam().make(buffers);
    if (!files) GTEST_SKIP() << files.error().message;
    engine_ = make_staging(memory_, std::move(files).value(), small).value();
    fill_inside(std::byte{0});
  }

  void fill_inside(std::byte with) { std::ranges::fill(memory_.inside(), with); }

  std::map<std::uint64_t, std::int64_t> move(std::span<const Transfer> transfers) {
    std::map<std::uint64_t, std::int64_t> results;
    std::array<Completion, room> some;
    while (!transfers.empty() || engine_->outstanding() > 0) {
      transfers = transfers.subspan(engine_->submit(transfers));
      const std::size_t count = engine_->poll(some, 1);
      for (const Completion& each : std::span(some).first(count)) {
        EXPECT_TRUE(results.emplace(each.tag, each.result).second) << "twice: " << each.tag;
      }
    }
    return results;
  }

  std::int64_t result_of(const Transfer& transfer) {
    return move(std::span(&transfer, 1)).at(transfer.tag);
  }

  [[nodiscard]] Transfer read(std::uint64_t offset, std::size_t at, std::size_t bytes) const {
    return {file_.number(), offset, memory_.address() + at, bytes, 7, Direction::read};
  }
  [[nodiscard]] Transfer write(std::uint64_t offset, std::size_t at, std::size_t bytes) const {
    return {file_.number(), offset, memory_.address() + at, bytes, 7, Direction::write};
  }

  const OwnFiles files_;
  const std::string path_ = make_file(files_, "content", memory_bytes);
  const Opened file_ = open_file(path_, O_RDWR);
  SeparateMemory memory_{memory_bytes};
  std::unique_ptr<Engine> engine_;
};

TEST_P(StagingTest, NamesItself) {
  const Capabilities& can = engine_->capabilities();
  EXPECT_STREQ(can.name, "staging");
  EXPECT_TRUE(can.asynchronous);
  EXPECT_TRUE(can.device_memory);
  EXPECT_EQ(can.outstanding_max, room);
  EXPECT_EQ(can.whole_write_bytes, buffer_bytes);
}

TEST_P(StagingTest, TheKernelAloneCannotAddressThisMemory) {
  EXPECT_EQ(::pread(file_.number(), memory_.address(), page, 0), -1);
  EXPECT_EQ(errno, EFAULT);
}

TEST_P(StagingTest, OneTransferThatIsLongerThanAllBuffers) {
  EXPECT_EQ(result_of(read(0, 0, memory_bytes)), std::int64_t{memory_bytes});
  EXPECT_TRUE(holds_content(memory_.inside(), 0));
  EXPECT_EQ(memory_.copies(), memory_bytes / buffer_bytes);
  EXPECT_LE(memory_.under_way_max(), buffers);
  EXPECT_EQ(engine_->outstanding(), 0u);
}

TEST_P(StagingTest, CopiesAreUnderWayWhileOthersAreRead) {
  memory_.set_looks_max(200);
  EXPECT_EQ(result_of(read(0, 0, memory_bytes)), std::int64_t{memory_bytes});
  EXPECT_GT(memory_.under_way_max(), 1u);
}

TEST_P(StagingTest, ManyTransfersOfAnyPlaceAndLength) {
  std::mt19937 random(11);
  std::vector<Transfer> reads;
  for (std::size_t at = 0; at < memory_bytes;) {
    const std::size_t bytes = std::min<std::size_t>(random() % (6 * page), memory_bytes - at);
    reads.push_back(read(random() % (memory_bytes - bytes), at, bytes));
    reads.back().tag = reads.size();
    at += bytes;
  }
  const auto results = move(reads);
  ASSERT_EQ(results.size(), reads.size());
  for (const Transfer& each : reads) {
    ASSERT_EQ(results.at(each.tag), static_cast<std::int64_t>(each.bytes));
    const auto at = static_cast<std::size_t>(each.memory - memory_.address());
    ASSERT_TRUE(holds_content(memory_.inside().subspan(at, each.bytes), each.offset));
  }
}

TEST_P(StagingTest, PartsEndAtMultiplesOfABuffer) {
  EXPECT_EQ(result_of(read(3 * page, 0, 8 * page)), std::int64_t{8 * page});
  EXPECT_EQ(memory_.copies(), 3u);  // 1, 4 and 3 pages.
  EXPECT_EQ(result_of(write(buffer_bytes + 1, 0, buffer_bytes - 1)),
            std::int64_t{buffer_bytes - 1});
  EXPECT_EQ(memory_.copies(), 4u);
}

TEST_P(StagingTest, ReadsPastThePageCache) {
  const Opened direct = open_file(path_, O_RDONLY | O_DIRECT);
  if (direct.number() < 0) GTEST_SKIP() << "no O_DIRECT here";
  // The memory's alignment does not matter: the buffers are aligned.
  Transfer transfer = read(3 * page, 1, 61 * page);
  transfer.file = direct.number();
  EXPECT_EQ(result_of(transfer), std::int64_t{61 * page});
  EXPECT_TRUE(holds_content(memory_.inside().subspan(1, 61 * page), 3 * page));
  transfer.offset = 1;
  EXPECT_EQ(result_of(transfer), -EINVAL);
}

TEST_P(StagingTest, WritesTheDevicesData) {
  fill(memory_.inside(), 0x5000);
  EXPECT_EQ(result_of(write(100, 0, 200 * page + 3)), std::int64_t{200 * page + 3});
  const Pages seen(memory_bytes);
  ASSERT_EQ(::pread(file_.number(), seen.data(), memory_bytes, 0), ssize_t{memory_bytes});
  EXPECT_TRUE(holds_content(seen.span().first(100), 0));
  EXPECT_TRUE(holds_content(seen.span().subspan(100, 200 * page + 3), 0x5000));
  EXPECT_TRUE(holds_content(seen.span().subspan(200 * page + 103), 200 * page + 103));
}

TEST_P(StagingTest, ReadsAndWritesTogether) {
  fill(memory_.inside().first(64 * page), 0x9000);
  std::vector<Transfer> all;
  for (std::size_t at = 0; at < 64; at += 8) {
    all.push_back(write(at * page, at * page, 8 * page));
    all.push_back(read((256 + at) * page, (256 + at) * page, 8 * page));
  }
  for (std::size_t at = 0; at < all.size(); ++at) all[at].tag = at;
  for (const auto& [tag, result] : move(all)) EXPECT_EQ(result, std::int64_t{8 * page}) << tag;
  EXPECT_TRUE(holds_content(memory_.inside().subspan(256 * page, 64 * page), 256 * page));
  const Pages seen(64 * page);
  ASSERT_EQ(::pread(file_.number(), seen.data(), 64 * page, 0), ssize_t{64 * page});
  EXPECT_TRUE(holds_content(seen.span(), 0x9000));
}

TEST_P(StagingTest, TheEndOfTheFileShortensAResultAndNothingBehindItIsTouched) {
  const Opened file = open_file(make_file(files_, "short", 9 * page + 100), O_RDONLY);
  Transfer transfer = read(page, 0, 64 * page);
  transfer.file = file.number();
  fill_inside(std::byte{0x77});
  EXPECT_EQ(result_of(transfer), std::int64_t{8 * page + 100});
  EXPECT_TRUE(holds_content(memory_.inside().first(8 * page + 100), page));
  for (const std::byte each : memory_.inside().subspan(8 * page + 100)) {
    ASSERT_EQ(each, std::byte{0x77});
  }
  transfer.offset = 20 * page;
  EXPECT_EQ(result_of(transfer), 0);
}

// A file of Linux' that fails with EIO at an offset: this process's memory with a hole in it.
class Holed {
 public:
  explicit Holed(std::size_t good_bytes) : pages_(128 * page) {
    // Begins at a multiple of a buffer, so that a part begins where the hole does.
    const auto address = reinterpret_cast<std::uintptr_t>(pages_.data());
    begin_ = pages_.data() + (buffer_bytes - address % buffer_bytes) % buffer_bytes;
    fill({begin_, 64 * page}, 0);
    // Maps pages behind the end of a file: a gap without a mapping could be taken by another
    // mapping.
    const Opened empty(::memfd_create("empty", MFD_CLOEXEC));
    ::mmap(begin_ + good_bytes, 4 * page, PROT_READ, MAP_SHARED | MAP_FIXED, empty.number(), 0);
  }
  [[nodiscard]] std::uint64_t offset() const { return reinterpret_cast<std::uintptr_t>(begin_); }
  [[nodiscard]] int number() const { return file_.number(); }

 private:
  const Pages pages_;
  const Opened file_ = open_file("/proc/self/mem", O_RDONLY);
  std::byte* begin_ = nullptr;
};

TEST_P(StagingTest, AnErrorInTheMiddleEndsTheTransferThere) {
  const Holed file(2 * buffer_bytes);
  Transfer transfer = read(file.offset(), 0, 64 * page);
  transfer.file = file.number();
  fill_inside(std::byte{0x77});
  EXPECT_EQ(result_of(transfer), std::int64_t{2 * buffer_bytes});
  EXPECT_TRUE(holds_content(memory_.inside().first(2 * buffer_bytes), 0));
  EXPECT_EQ(memory_.inside()[2 * buffer_bytes], std::byte{0x77});
  // The data behind the hole may have been read, but were not copied to the device.
  EXPECT_EQ(memory_.inside()[3 * buffer_bytes], std::byte{0x77});
  transfer.offset += 2 * buffer_bytes;
  EXPECT_EQ(result_of(transfer), -EIO);
}

TEST_P(StagingTest, AShortReadInTheMiddleEndsTheTransferThere) {
  const Holed file(2 * buffer_bytes + page);
  Transfer transfer = read(file.offset(), 0, 64 * page);
  transfer.file = file.number();
  fill_inside(std::byte{0x77});
  EXPECT_EQ(result_of(transfer), std::int64_t{2 * buffer_bytes + page});
  EXPECT_EQ(memory_.inside()[2 * buffer_bytes + page], std::byte{0x77});
}

TEST_P(StagingTest, ACopyThatFailsEndsTheTransferThere) {
  memory_.fail_copy(3, EIO);
  EXPECT_EQ(result_of(read(0, 0, 64 * page)), std::int64_t{3 * buffer_bytes});
  EXPECT_TRUE(holds_content(memory_.inside().first(3 * buffer_bytes), 0));
  memory_.fail_copy(memory_.copies(), ENODEV);
  EXPECT_EQ(result_of(read(0, 0, 64 * page)), -ENODEV);
  EXPECT_EQ(result_of(read(0, 0, 64 * page)), std::int64_t{64 * page});
}

TEST_P(StagingTest, ACopyThatIsRefusedEndsTheTransferThere) {
  memory_.refuse_copy(2, ENOMEM);
  EXPECT_EQ(result_of(read(0, 0, 64 * page)), std::int64_t{2 * buffer_bytes});
  memory_.refuse_copy(memory_.copies(), EFAULT);
  EXPECT_EQ(result_of(read(0, 0, 64 * page)), -EFAULT);
  EXPECT_EQ(result_of(read(0, 0, 64 * page)), std::int64_t{64 * page});
}

TEST_P(StagingTest, AWriteWhoseCopyFailsLeavesTheFileBehindItAlone) {
  for (const bool refused : {false, true}) {
    std::ranges::fill(memory_.inside(), refused ? std::byte{0x11} : std::byte{0x22});
    const std::uint32_t first = memory_.copies();
    refused ? memory_.refuse_copy(first + 2, EIO) : memory_.fail_copy(first + 2, EIO);
    EXPECT_EQ(result_of(write(0, 0, 64 * page)), std::int64_t{2 * buffer_bytes});
    const Pages seen(64 * page);
    ASSERT_EQ(::pread(file_.number(), seen.data(), 64 * page, 0), ssize_t{64 * page});
    EXPECT_EQ(seen.data()[2 * buffer_bytes - 1], memory_.inside()[0]);
    EXPECT_TRUE(holds_content(seen.span().subspan(2 * buffer_bytes), 2 * buffer_bytes));

    const std::uint32_t next = memory_.copies();
    refused ? memory_.refuse_copy(next, EIO) : memory_.fail_copy(next, EIO);
    EXPECT_EQ(result_of(write(0, 0, 64 * page)), -EIO);
    ASSERT_EQ(::pwrite(file_.number(), seen.data(), 0, 0), 0);
  }
}

TEST_P(StagingTest, AWriteThatTheKernelRefusesOrShortens) {
  const Opened read_only = open_file(path_, O_RDONLY);
  Transfer transfer = write(0, 0, 64 * page);
  transfer.file = read_only.number();
  EXPECT_EQ(result_of(transfer), -EBADF);

  const Opened full = open_file("/dev/full", O_WRONLY);
  transfer.file = full.number();
  EXPECT_EQ(result_of(transfer), -ENOSPC);
}

TEST_P(StagingTest, ErrorsOfOneTransferDoNotDisturbOthers) {
  std::vector<Transfer> all;
  for (std::size_t at = 0; at < room; ++at) {
    all.push_back(read(at * 8 * page, at * 8 * page, 8 * page));
    all.back().tag = at;
    if (at % 4 == 1) all.back().file = -1;
    if (at % 4 == 2) all.back().offset = ~std::uint64_t{0} - 4 * page;
    if (at % 4 == 3) all.back().bytes = 0;
  }
  for (const auto& [tag, result] : move(all)) {
    const std::int64_t expected[] = {8 * page, -EBADF, -EINVAL, 0};
    EXPECT_EQ(result, expected[tag % 4]) << tag;
  }
}

TEST_P(StagingTest, TakesNoMoreThanItHasRoomFor) {
  std::vector<Transfer> all;
  for (std::size_t at = 0; at < room + 3; ++at) all.push_back(read(0, at * page, page));
  EXPECT_EQ(engine_->submit(all), room);
  EXPECT_EQ(engine_->outstanding(), room);
  EXPECT_EQ(engine_->submit(all), 0u);
  std::array<Completion, room> some;
  EXPECT_EQ(engine_->poll({}, 1), 0u);
  EXPECT_EQ(engine_->poll(std::span(some).first(5), room), 5u);
  EXPECT_EQ(engine_->submit(all), 5u);
  EXPECT_EQ(engine_->poll(some, room), room);
  EXPECT_EQ(engine_->outstanding(), 0u);
  EXPECT_EQ(engine_->poll(some, 1), 0u);
}

TEST_P(StagingTest, PollsWithoutWaitingUntilItIsThere) {
  const Transfer transfer = read(0, 0, 64 * page);
  ASSERT_EQ(engine_->submit({&transfer, 1}), 1u);
  Completion completion;
  while (engine_->poll({&completion, 1}, 0) == 0) {
  }
  EXPECT_EQ(completion.result, std::int64_t{64 * page});
}

TEST_P(StagingTest, EndsWithTransfersUnderWay) {
  for (std::uint32_t round = 0; round < 30; ++round) {
    memory_.set_looks_max(round * 4);
    std::vector<Transfer> all;
    for (std::size_t at = 0; at < room; ++at) {
      const std::size_t place = at * 16 * page;
      all.push_back(at % 3 == 2 ? write(place, place, 16 * page) : read(place, place, 16 * page));
    }
    ASSERT_EQ(engine_->submit(all), room);
    Completion completion;
    for (std::uint32_t polls = 0; polls < round; ++polls) engine_->poll({&completion, 1}, 0);
    engine_.reset();  // The fixture's queue reports a copy that is still in flight.
    engine_ = make_staging(memory_, GetParam().make(buffers).value(), small).value();
  }
}

TEST_P(StagingTest, AChildOfForkMayDestroyIt) {
  memory_.set_looks_max(100);
  const Transfer transfer = read(0, 0, 64 * page);
  ASSERT_EQ(engine_->submit({&transfer, 1}), 1u);
  const pid_t child = ::fork();
  if (child == 0) {
    engine_.reset();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  Completion completion;
  ASSERT_EQ(engine_->poll({&completion, 1}, 1), 1u);
  EXPECT_EQ(completion.result, std::int64_t{64 * page});
}

TEST_P(StagingTest, OneBufferIsEnough) {
  engine_ = make_staging(memory_, GetParam().make(1).value(), {room, 1, page}).value();
  EXPECT_EQ(result_of(read(5, 0, 40 * page)), std::int64_t{40 * page});
  EXPECT_TRUE(holds_content(memory_.inside().first(40 * page), 5));
}

// Files that end anywhere or have a hole, copies that fail or are refused, all at places determined
// by a seed: the answer is a prefix of the request, and all counted bytes have arrived.
TEST_P(StagingTest, AnyFaultLeavesAPrefix) {
  constexpr std::byte untouched{0x77};
  constexpr std::size_t places = 4;
  constexpr std::size_t place_bytes = 64 * page;
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t most) { return random() % most; };
    const StagingConfig config{places, 1 + static_cast<std::uint32_t>(below(buffers)),
                               (1 + below(5)) * page};
    SeparateMemory memory(places * place_bytes, seed);
    engine_ = make_staging(memory, GetParam().make(buffers).value(), config).value();
    std::ranges::fill(memory.inside(), untouched);
    const std::size_t good = 1 + below(60 * page);  // Bytes of the file before the hole or the end.
    const Holed holed(good / page * page + page);
    const Opened file = open_file(make_file(files_, "short", good), O_RDONLY);
    const auto faulty = static_cast<std::uint32_t>(below(40));
    const std::uint32_t fault = seed % 3;
    if (fault == 1) memory.fail_copy(faulty, EIO);
    if (fault == 2) memory.refuse_copy(faulty, EIO);

    std::array<Transfer, places> reads;
    std::array<std::size_t, places> there{};
    std::array<std::size_t, places> begins{};
    for (std::size_t at = 0; at < places; ++at) {
      const std::size_t begin = below(good);
      const bool hole = below(2) == 0;
      there[at] = std::min((hole ? good / page * page + page : good) - begin, place_bytes / 2);
      reads[at] = {hole ? holed.number() : file.number(),
                   begin + (hole ? holed.offset() : 0),
                   memory.address() + at * place_bytes,
                   place_bytes / 2,
                   at,
                   Direction::read};
      begins[at] = begin;
    }
    std::size_t shorter = 0;
    for (const auto& [tag, result] : move(reads)) {
      const auto arrived = static_cast<std::size_t>(std::max<std::int64_t>(result, 0));
      ASSERT_LE(arrived, there[tag]) << "seed " << seed;
      if (arrived < there[tag]) ++shorter;
      const auto place = memory.inside().subspan(tag * place_bytes, place_bytes);
      ASSERT_TRUE(holds_content(place.first(arrived), begins[tag])) << "seed " << seed;
      if (fault == 1 && arrived < there[tag]) continue;  // Copies were under way.
      for (const std::byte each : place.subspan(arrived)) ASSERT_EQ(each, untouched);
    }
    EXPECT_LE(shorter, fault == 0 ? 0u : 1u) << "seed " << seed;
    engine_.reset();  // Before its memory.
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, StagingTest,
    testing::Values(Files{"buffered", &make_buffered}, Files{"uring", &make_uring},
                    Files{"pool", [](std::uint32_t most) { return make_pool(most, 2); }}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(MakeStaging, RefusesSizesOutOfRange) {
  SeparateMemory memory(page);
  const auto refused = [&](const StagingConfig& config, const char* text) {
    const auto made = make_staging(memory, make_buffered(64).value(), config);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, EINVAL);
    EXPECT_NE(made.error().message.find(text), std::string::npos) << made.error().message;
  };
  refused({0, 4, page}, "give 1 to 4096");
  refused({4097, 4, page}, "give 1 to 4096");
  refused({4, 0, page}, "0 buffers: give 1 to 256");
  refused({4, 257, page}, "257 buffers: give 1 to 256");
  refused({4, 4, 0}, "give a multiple of 4096");
  refused({4, 4, page + 1}, "give a multiple of 4096");
  refused({4, 4, (std::size_t{64} << 20) + page}, "up to 67108864");
  refused({4, 65, page}, "its files engine takes 64 transfers, there are 65 buffers");
  EXPECT_FALSE(make_staging(memory, nullptr).ok());
  EXPECT_TRUE(make_staging(memory, make_buffered(64).value(), {1, 64, page}).ok());
}

TEST(MakeStaging, ReportsThatNoMemoryCanBePinned) {
  SeparateMemory memory(page);
  memory.refuse_queues(ENOMEM);
  const auto made = make_staging(memory, make_buffered(64).value());
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ENOMEM);
  EXPECT_NE(made.error().message.find("raise ulimit -l"), std::string::npos);
}

TEST(MakeStaging, ServesMemoryThatTheCpuCanAddress) {
  const OwnFiles files;
  const Opened file = open_file(make_file(files, "content", 64 * page), O_RDWR);
  MappedMemory memory;
  const auto engine = make_staging(memory, make_direct(4).value(), {4, 4, page}).value();
  const Pages target(64 * page);
  for (const Direction direction : {Direction::read, Direction::write}) {
    const Transfer transfer{file.number(), 0, target.data(), 64 * page, 0, direction};
    ASSERT_EQ(engine->submit({&transfer, 1}), 1u);
    Completion completion;
    ASSERT_EQ(engine->poll({&completion, 1}, 1), 1u);
    EXPECT_EQ(completion.result, std::int64_t{64 * page});
    EXPECT_TRUE(holds_content(target.span(), 0));
  }
  const auto none = memory.make_queue(1, std::size_t{1} << 60);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ENOMEM);
}

}  // namespace
}  // namespace k2k::io
