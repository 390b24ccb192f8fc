#include "io/engine/engine.hpp"

#include <gtest/gtest.h>
#include <liburing.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>
#include <vector>

#include "io/file/files_fixture.hpp"
#include "io/file/raw.hpp"
#include "io/file/refused_calls_fixture.hpp"

namespace k2k::io {
namespace {

constexpr std::uint32_t room = 32;
constexpr std::size_t file_pages = 256;

struct Maker {
  const char* name;
  Result<std::unique_ptr<Engine>> (*make)(std::uint32_t outstanding);
};

class EngineTest : public testing::TestWithParam<Maker> {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Engine>> made = GetParam().make(room);
    if (!made) GTEST_SKIP() << made.error().message;
    engine_ = std::move(made).value();
  }

  [[nodiscard]] Transfer page_read(std::size_t place, std::uint64_t file_page) const {
    return {file_.number(), file_page * page, memory_.data() + place * page, page,
            place,          Direction::read};
  }

  // Submits all transfers, polling when there is no room, and returns their outcomes.
  std::vector<Completion> move(std::span<const Transfer> transfers) {
    std::vector<Completion> all;
    std::array<Completion, room> some;
    while (!transfers.empty() || engine_->outstanding() > 0) {
      transfers = transfers.subspan(engine_->submit(transfers));
      const std::size_t count = engine_->poll(some, 1);
      all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
    }
    return all;
  }

  std::int64_t result_of(const Transfer& transfer) {
    const std::vector<Completion> all = move(std::span(&transfer, 1));
    EXPECT_EQ(all.size(), 1u);
    EXPECT_EQ(all.front().tag, transfer.tag);
    return all.front().result;
  }

  const OwnFiles files_;
  const std::string path_ = make_file(files_, "content", file_pages* page);
  const Opened file_ = open_file(path_, O_RDWR);
  const Pages memory_{file_pages * page};
  std::unique_ptr<Engine> engine_;
};

TEST_P(EngineTest, NamesItself) {
  EXPECT_STREQ(engine_->capabilities().name, GetParam().name);
  EXPECT_EQ(engine_->capabilities().outstanding_max, room);
  EXPECT_EQ(engine_->capabilities().asynchronous, std::string(GetParam().name) != "buffered");
  EXPECT_EQ(engine_->outstanding(), 0u);
}

TEST_P(EngineTest, ReadsManyTransfersOfAnyOrder) {
  std::vector<Transfer> reads;
  for (std::size_t place = 0; place < file_pages; ++place) {
    reads.push_back(page_read(place, (place * 37) % file_pages));
  }
  std::set<std::uint64_t> tags;
  for (const Completion& each : move(reads)) {
    EXPECT_EQ(each.result, static_cast<std::int64_t>(page));
    EXPECT_TRUE(tags.insert(each.tag).second);
  }
  EXPECT_EQ(tags.size(), file_pages);
  for (const Transfer& read : reads) {
    ASSERT_TRUE(holds_content({read.memory, read.bytes}, read.offset)) << read.offset;
  }
}

TEST_P(EngineTest, WritesAppearInTheFile) {
  std::vector<Transfer> writes;
  for (std::size_t place = 0; place < file_pages; ++place) {
    // The file with its pages in reverse.
    const std::uint64_t at = (file_pages - 1 - place) * page;
    fill({memory_.data() + place * page, page}, place * page);
    writes.push_back(
        {file_.number(), at, memory_.data() + place * page, page, place, Direction::write});
  }
  for (const Completion& each : move(writes)) {
    EXPECT_EQ(each.result, static_cast<std::int64_t>(page));
  }
  const Pages seen(page);
  for (const Transfer& write : writes) {
    ASSERT_EQ(::pread(file_.number(), seen.data(), page, static_cast<off_t>(write.offset)),
              static_cast<ssize_t>(page));
    ASSERT_TRUE(holds_content(seen.span(), write.tag * page));
  }
}

TEST_P(EngineTest, ReadsPastThePageCacheFromADirectDescriptor) {
  const Opened direct = open_file(path_, O_RDONLY | O_DIRECT);
  if (direct.number() < 0) GTEST_SKIP() << "no O_DIRECT here";
  std::vector<Transfer> reads;
  for (std::size_t place = 0; place < file_pages; ++place) {
    reads.push_back(page_read(place, place));
    reads.back().file = direct.number();
  }
  for (const Completion& each : move(reads)) {
    EXPECT_EQ(each.result, static_cast<std::int64_t>(page));
  }
  EXPECT_TRUE(holds_content(memory_.span(), 0));
}

TEST_P(EngineTest, TakesNoMoreThanItHasRoomFor) {
  std::vector<Transfer> reads;
  for (std::size_t place = 0; place < room + 8; ++place) reads.push_back(page_read(place, place));
  EXPECT_EQ(engine_->submit(reads), room);
  EXPECT_EQ(engine_->outstanding(), room);
  EXPECT_EQ(engine_->submit(std::span(reads).last(8)), 0u);

  std::array<Completion, 5> some;
  EXPECT_EQ(engine_->poll(some, 5), 5u);
  EXPECT_EQ(engine_->outstanding(), room - 5);
  EXPECT_EQ(engine_->submit(std::span(reads).last(8)), 5u);
  EXPECT_EQ(engine_->outstanding(), room);
}

TEST_P(EngineTest, PollWaitsForNoMoreThanIsOutstanding) {
  std::array<Completion, room> some;
  EXPECT_EQ(engine_->poll(some, 0), 0u);
  EXPECT_EQ(engine_->poll(some, room), 0u);
  EXPECT_EQ(engine_->poll({}, 1), 0u);

  const std::array reads = {page_read(0, 0), page_read(1, 1), page_read(2, 2)};
  EXPECT_EQ(engine_->submit(reads), 3u);
  EXPECT_EQ(engine_->poll({}, 1), 0u);
  EXPECT_EQ(engine_->outstanding(), 3u);
  EXPECT_EQ(engine_->poll(std::span(some).first(2), room), 2u);
  EXPECT_EQ(engine_->poll(some, room), 1u);
  EXPECT_EQ(engine_->outstanding(), 0u);
}

TEST_P(EngineTest, PollsWithoutWaitingUntilTheResultsAreThere) {
  const std::array reads = {page_read(0, 0), page_read(1, 1)};
  EXPECT_EQ(engine_->submit(reads), 2u);
  std::array<Completion, room> some;
  std::size_t count = 0;
  while (count < 2) count += engine_->poll(some, 0);
  EXPECT_EQ(count, 2u);
}

TEST_P(EngineTest, SubmitsNothing) {
  EXPECT_EQ(engine_->submit({}), 0u);
  EXPECT_EQ(engine_->outstanding(), 0u);
}

TEST_P(EngineTest, ErrorsAreCompletions) {
  const Opened read_only = open_file(path_, O_RDONLY);
  Transfer transfer = page_read(3, 0);
  transfer.file = -1;
  EXPECT_EQ(result_of(transfer), -EBADF);

  transfer = page_read(3, 0);
  transfer.file = read_only.number();
  transfer.direction = Direction::write;
  EXPECT_EQ(result_of(transfer), -EBADF);

  transfer = page_read(3, 0);
  transfer.memory = reinterpret_cast<std::byte*>(std::uintptr_t{page});  // Nothing is mapped there.
  EXPECT_EQ(result_of(transfer), -EFAULT);
}

TEST_P(EngineTest, AnOffsetThatIsNegativeToTheKernelIsRefused) {
  Transfer transfer = page_read(3, 0);
  transfer.offset = ~std::uint64_t{0};
  EXPECT_EQ(result_of(transfer), -EINVAL);
  transfer.offset = std::uint64_t{1} << 63;
  EXPECT_EQ(result_of(transfer), -EINVAL);
}

TEST_P(EngineTest, AMisalignedDirectTransferIsRefused) {
  const Opened direct = open_file(path_, O_RDONLY | O_DIRECT);
  if (direct.number() < 0) GTEST_SKIP() << "no O_DIRECT here";
  Transfer transfer = page_read(3, 0);
  transfer.file = direct.number();
  transfer.offset = 1;
  EXPECT_EQ(result_of(transfer), -EINVAL);
}

TEST_P(EngineTest, OneWrongTransferDoesNotDisturbItsBatch) {
  std::vector<Transfer> reads;
  for (std::size_t place = 0; place < room; ++place) {
    reads.push_back(page_read(place, place));
    if (place % 4 == 1) reads.back().file = -1;
    if (place % 4 == 2) reads.back().offset = ~std::uint64_t{0};
  }
  EXPECT_EQ(engine_->submit(reads), room);
  std::array<Completion, room> all;
  ASSERT_EQ(engine_->poll(all, room), room);
  for (const Completion& each : all) {
    const std::int64_t expected[] = {page, -EBADF, -EINVAL, page};
    EXPECT_EQ(each.result, expected[each.tag % 4]);
  }
}

TEST_P(EngineTest, TheEndOfTheFileShortensAResult) {
  const std::string path = make_file(files_, "short", page + 100);
  const Opened file = open_file(path, O_RDONLY);
  Transfer transfer = page_read(0, 0);
  transfer.file = file.number();
  transfer.bytes = 4 * page;
  EXPECT_EQ(result_of(transfer), static_cast<std::int64_t>(page + 100));
  transfer.offset = page;
  EXPECT_EQ(result_of(transfer), 100);
  transfer.offset = 2 * page;
  EXPECT_EQ(result_of(transfer), 0);
}

TEST_P(EngineTest, ATransferOfNothingMovesNothing) {
  Transfer transfer = page_read(0, 0);
  transfer.bytes = 0;
  EXPECT_EQ(result_of(transfer), 0);
  transfer.memory = nullptr;
  transfer.direction = Direction::write;
  EXPECT_EQ(result_of(transfer), 0);
}

TEST_P(EngineTest, WaitsForItsTransfersBeforeItEnds) {
  const Opened direct = open_file(path_, O_RDONLY | O_DIRECT);
  for (int round = 0; round < 20; ++round) {
    std::ranges::fill(memory_.span().first(room * page), std::byte{0});
    std::vector<Transfer> reads;
    for (std::size_t place = 0; place < room; ++place) {
      reads.push_back(page_read(place, place));
      if (direct.number() >= 0) reads.back().file = direct.number();
    }
    EXPECT_EQ(engine_->submit(reads), room);
    engine_.reset();
    ASSERT_TRUE(holds_content(memory_.span().first(room * page), 0));
    engine_ = GetParam().make(room).value();
  }
}

TEST_P(EngineTest, AnotherThreadMayGoOn) {
  const Opened direct = open_file(path_, O_RDONLY | O_DIRECT);
  std::vector<Transfer> reads;
  for (std::size_t place = 0; place < room; ++place) {
    reads.push_back(page_read(place, place));
    if (direct.number() >= 0) reads.back().file = direct.number();
  }
  std::thread([&] { EXPECT_EQ(engine_->submit(reads), room); }).join();
  std::array<Completion, room> all;
  std::size_t count = 0;
  std::thread([&] { count = engine_->poll(all, room / 2); }).join();
  count += engine_->poll(std::span(all).subspan(count), room);
  ASSERT_EQ(count, room);
  for (const Completion& each : all) EXPECT_EQ(each.result, static_cast<std::int64_t>(page));
  EXPECT_TRUE(holds_content(memory_.span().first(room * page), 0));
}

std::atomic<int> ticks = 0;

// A timer that interrupts system calls of the process for as long as it lives.
class Ticking {
 public:
  Ticking() {
    struct sigaction action{};
    action.sa_handler = [](int) { ++ticks; };  // No SA_RESTART: waits see EINTR.
    ::sigaction(SIGALRM, &action, &before_);
    const itimerval often{{0, 200}, {0, 200}};
    ::setitimer(ITIMER_REAL, &often, nullptr);
  }
  ~Ticking() {
    const itimerval never{};
    ::setitimer(ITIMER_REAL, &never, nullptr);
    ::sigaction(SIGALRM, &before_, nullptr);
  }
  Ticking(const Ticking&) = delete;
  Ticking& operator=(const Ticking&) = delete;

 private:
  struct sigaction before_{};
};

TEST_P(EngineTest, SignalsEndNoWait) {
  const Opened direct = open_file(path_, O_RDONLY | O_DIRECT);
  const Ticking ticking;
  const int before = ticks;
  while (ticks < before + 100) {
    std::vector<Transfer> reads;
    for (std::size_t place = 0; place < room; ++place) {
      reads.push_back(page_read(place, place));
      if (direct.number() >= 0) reads.back().file = direct.number();
    }
    ASSERT_EQ(engine_->submit(reads), room);
    std::array<Completion, room> all;
    ASSERT_EQ(engine_->poll(all, room), room);
    for (const Completion& each : all) ASSERT_EQ(each.result, static_cast<std::int64_t>(page));
  }
}

TEST_P(EngineTest, AChildOfForkMayDestroyIt) {
  const std::array reads = {page_read(0, 0), page_read(1, 1)};
  EXPECT_EQ(engine_->submit(reads), 2u);
  const pid_t child = ::fork();
  if (child == 0) {
    engine_.reset();
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  std::array<Completion, 2> both;
  EXPECT_EQ(engine_->poll(both, 2), 2u);
  EXPECT_TRUE(holds_content(memory_.span().first(2 * page), 0));
}

TEST_P(EngineTest, RefusesImpossibleSizes) {
  for (const std::uint32_t wrong : {0u, 4097u}) {
    const auto made = GetParam().make(wrong);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, EINVAL);
    EXPECT_NE(made.error().message.find("give 1 to 4096"), std::string::npos);
  }
  EXPECT_TRUE(GetParam().make(1).ok());
  EXPECT_TRUE(GetParam().make(4096).ok());
}

INSTANTIATE_TEST_SUITE_P(
    All, EngineTest,
    testing::Values(Maker{"buffered", &make_buffered}, Maker{"uring", &make_uring},
                    Maker{"pool",
                          [](std::uint32_t outstanding) { return make_pool(outstanding, 3); }}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(MakePool, RefusesThreadsThatAreTooFewOrTooMany) {
  for (const std::uint32_t wrong : {0u, 65u}) {
    const auto made = make_pool(8, wrong);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, EINVAL);
    EXPECT_NE(made.error().message.find("give 1 to 64"), std::string::npos);
  }
}

// Linux' status of this process' thread with that name.
std::string status_of_thread(const std::string& name) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream name_file(entry.path() / "comm");
    std::string seen;
    std::getline(name_file, seen);
    if (seen != name) continue;
    std::ifstream file(entry.path() / "status");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  return {};
}

TEST(MakePool, ItsThreadsHaveANameAndNoSignals) {
  const auto engine = make_pool(8, 1).value();
  std::string status;
  // The thread names itself.
  while (status.empty()) status = status_of_thread("k2k/io");
  const std::size_t at = status.find("SigBlk:\t");
  ASSERT_NE(at, std::string::npos);
  const std::uint64_t blocked = std::stoull(status.substr(at + 8, 16), nullptr, 16);
  EXPECT_NE(blocked & (1ull << (SIGALRM - 1)), 0u);
  EXPECT_NE(blocked & (1ull << (SIGUSR1 - 1)), 0u);
}

// The descriptor of the process' ring; -1: none.
int descriptor_of_ring() {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(entry.path(), gone);
    if (target == "anon_inode:[io_uring]") return std::stoi(entry.path().filename());
  }
  return -1;
}

TEST(MakeUring, AProgramThatClosesAllDescriptorsGetsErrorsAndItsMemoryBack) {
  const OwnFiles files;
  const std::string path = make_file(files, "content", 8 * page);
  const Opened file = open_file(path, O_RDONLY);
  const Opened direct = open_file(path, O_RDONLY | O_DIRECT);
  const Pages memory(8 * page);
  auto engine = make_uring(16);
  if (!engine) GTEST_SKIP() << engine.error().message;
  std::vector<Transfer> reads;
  for (std::size_t place = 0; place < 8; ++place) {
    reads.push_back({direct.number() >= 0 ? direct.number() : file.number(), place * page,
                     memory.data() + place * page, page, place, Direction::read});
  }
  EXPECT_EQ(engine.value()->submit(reads), 8u);
  ASSERT_EQ(::close(descriptor_of_ring()), 0);
  std::array<Completion, 16> all;
  EXPECT_EQ(engine.value()->poll(all, 8), 8u);
  for (const Completion& each : std::span(all).first(8)) {
    EXPECT_EQ(each.result, static_cast<std::int64_t>(page));
  }
  EXPECT_TRUE(holds_content(memory.span(), 0));

  EXPECT_EQ(engine.value()->submit(reads), 8u);
  EXPECT_EQ(engine.value()->poll(all, 8), 8u);
  for (const Completion& each : std::span(all).first(8)) EXPECT_EQ(each.result, -EBADF);
}

// Cancels the ring's transfers in flight, as Linux may when a submitting thread ends. Returns 0 if
// done.
int cancel_all(int ring) {
  io_uring_sync_cancel_reg what{};
  what.fd = -1;
  what.flags = IORING_ASYNC_CANCEL_ANY;
  what.timeout = {-1, -1};
  const std::int64_t cancelled =
      raw(SYS_io_uring_register, ring, IORING_REGISTER_SYNC_CANCEL, &what, 1);
  return cancelled < 0 ? static_cast<int>(cancelled) : 0;
}

TEST(MakeUring, ATransferThatTheKernelCancelsIsTriedAgain) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  const Opened out(pipe[0]);
  const Opened in(pipe[1]);
  auto engine = make_unrestricted_uring(4);
  if (!engine) GTEST_SKIP() << engine.error().message;
  const int ring = descriptor_of_ring();
  std::array<std::byte, 1> letter{};
  Completion completion;
  const Transfer read{out.number(), 0, letter.data(), 1, 5, Direction::read};
  ASSERT_EQ(engine.value()->submit({&read, 1}), 1u);
  const int cancelled = cancel_all(ring);
  if (cancelled == -EINVAL) GTEST_SKIP() << "Linux before 6.0";
  ASSERT_EQ(cancelled, 0);
  EXPECT_EQ(engine.value()->poll({&completion, 1}, 0), 0u);
  EXPECT_EQ(engine.value()->outstanding(), 1u);
  ASSERT_EQ(::write(in.number(), "k", 1), 1);
  ASSERT_EQ(engine.value()->poll({&completion, 1}, 1), 1u);
  EXPECT_EQ(completion.result, 1);
  EXPECT_EQ(letter[0], std::byte{'k'});

  // The number of tries is bounded.
  ASSERT_EQ(engine.value()->submit({&read, 1}), 1u);
  int times = 0;
  while (engine.value()->poll({&completion, 1}, 0) == 0) {
    ASSERT_EQ(cancel_all(ring), 0);
    ++times;
  }
  EXPECT_EQ(times, 17);
  EXPECT_EQ(completion.result, -ECANCELED);
}

TEST(MakeUring, GivesTheReasonOfARefusal) {
  struct Case {
    int code;
    const char* mend;
  };
  for (const Case& each :
       {Case{EPERM, "sysctl kernel.io_uring_disabled=0"}, Case{ENOSYS, "it needs Linux 5.6"},
        Case{ENOMEM, "ulimit -l"}, Case{EMFILE, "ulimit -n"},
        Case{EACCES, "the pool engine does without io_uring"}}) {
    const int status = where_refused(SYS_io_uring_setup, static_cast<unsigned>(each.code), [&] {
      const auto made = make_uring(8);
      if (made.ok() || made.error().code != each.code) return 1;
      return made.error().message.find(each.mend) != std::string::npos ? 0 : 2;
    });
    if (status == no_filter) GTEST_SKIP() << "no seccomp";
    EXPECT_EQ(status, 0) << each.mend;
  }
}

TEST(MakeUring, AKernelWithoutRoomAnswersForEveryTransfer) {
  const OwnFiles files;
  const Opened file = open_file(make_file(files, "content", page), O_RDONLY);
  const Pages memory(page);
  const Transfer read{file.number(), 0, memory.data(), page, 7, Direction::read};
  const int status = where_refused(SYS_io_uring_enter, EAGAIN, [&] {
    const auto engine = make_uring(4);
    if (!engine.ok()) return no_filter;
    const std::array reads = {read, read, read};
    for (int round = 0; round < 3; ++round) {
      std::array<Completion, 4> all;
      if (engine.value()->submit(reads) != 3) return 1;
      if (engine.value()->poll(all, 3) != 3 || engine.value()->outstanding() != 0) return 2;
      for (const Completion& each : std::span(all).first(3)) {
        if (each.tag != 7 || each.result != -EAGAIN) return 3;
      }
    }
    return 0;
  });
  if (status == no_filter) GTEST_SKIP() << "no seccomp, or no io_uring";
  EXPECT_EQ(status, 0);
}

TEST(MakePool, ReportsThatNoThreadCanBeStarted) {
#ifdef K2K_TSAN
  GTEST_SKIP() << "ThreadSanitizer ends a process whose threads cannot be started";
#endif
  // Without clone3 the C library uses clone.
  const int status = where_refused(SYS_clone3, ENOSYS, [] {
    if (!refuse_call(SYS_clone, EAGAIN)) return no_filter;
    const auto made = make_pool(8, 2);
    if (made.ok() || made.error().code != EAGAIN) return 1;
    return made.error().message.find("ulimit -u") != std::string::npos ? 0 : 2;
  });
  if (status == no_filter) GTEST_SKIP() << "no seccomp";
  EXPECT_EQ(status, 0);
}

TEST(MakeDirect, TakesThreadsWhereIoUringIsRefused) {
  const OwnFiles files;
  const Opened file = open_file(make_file(files, "content", page), O_RDONLY);
  const int status = where_refused(SYS_io_uring_setup, EPERM, [&] {
    const auto engine = make_direct(8);
    if (!engine.ok() || std::string(engine.value()->capabilities().name) != "pool") return 1;
    const Pages memory(page);
    const Transfer read{file.number(), 0, memory.data(), page, 7, Direction::read};
    Completion completion;
    if (engine.value()->submit({&read, 1}) != 1) return 2;
    if (engine.value()->poll({&completion, 1}, 1) != 1) return 3;
    return completion.result == std::int64_t{page} && holds_content(memory.span(), 0) ? 0 : 4;
  });
  if (status == no_filter) GTEST_SKIP() << "no seccomp";
  EXPECT_EQ(status, 0);
}

TEST(MakeDirect, TakesIoUringWhereTheKernelLetsIt) {
  const auto engine = make_direct(8);
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  EXPECT_STREQ(engine.value()->capabilities().name, make_uring(8).ok() ? "uring" : "pool");
  const auto refused = make_direct(0);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "transfers: 0 outstanding at most: give 1 to 4096");
}

}  // namespace
}  // namespace k2k::io
