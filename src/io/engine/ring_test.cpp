#include "io/engine/ring.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>
#include <utility>
#include <vector>

#include "io/file/files_fixture.hpp"
#include "io/file/raw.hpp"

namespace k2k::io {
namespace {

class RingTest : public testing::Test {
 protected:
  void SetUp() override {
    const Result<Ring> made = Ring::create(1);
    if (!made) GTEST_SKIP() << made.error().message;
  }
};

void prepare_nop(Ring& ring, std::uint64_t tag) {
  io_uring_sqe* const entry = ring.next();
  ASSERT_NE(entry, nullptr);
  io_uring_prep_nop(entry);
  entry->user_data = tag;
}

RingCompletion only_completion(Ring& ring) {
  EXPECT_EQ(ring.wait(1), 0);
  std::array<RingCompletion, 2> both;
  EXPECT_EQ(ring.reap(both), 1u);
  return both.front();
}

// Also after the code that prepares the entries.
void expect_transfers_only(Ring& ring) {
  const OwnFiles files;
  const std::string path = make_file(files, "content", 100);
  const Opened file = open_file(path, O_RDWR);
  io_uring_prep_openat(ring.next(), AT_FDCWD, path.c_str(), O_RDONLY, 0);
  EXPECT_EQ(only_completion(ring).result, -EACCES);
  io_uring_prep_fsync(ring.next(), file.number(), 0);
  EXPECT_EQ(only_completion(ring).result, -EACCES);
  io_uring_sqe* const linked = ring.next();
  std::array<std::byte, 100> bytes{};
  io_uring_prep_read(linked, file.number(), bytes.data(), 100, 0);
  linked->flags = IOSQE_FIXED_FILE;
  EXPECT_EQ(only_completion(ring).result, -EACCES);
  io_uring_prep_read(ring.next(), file.number(), bytes.data(), 100, 0);
  EXPECT_EQ(only_completion(ring).result, 100);
  io_uring_prep_write(ring.next(), file.number(), bytes.data(), 100, 0);
  EXPECT_EQ(only_completion(ring).result, 100);
}

TEST_F(RingTest, OfTransfersTakesNothingElse) {
  Ring ring = Ring::create_for_transfers(4).value();
  expect_transfers_only(ring);
  EXPECT_EQ(io_uring_register(static_cast<unsigned>(ring.descriptor()), IORING_REGISTER_BUFFERS,
                              nullptr, 0),
            -EACCES);
}

TEST_F(RingTest, SubmitsAnyOperation) {
  const OwnFiles files;
  const std::string path = make_file(files, "content", 100);
  Ring ring = Ring::create(8).value();

  io_uring_prep_openat(ring.next(), AT_FDCWD, path.c_str(), O_RDWR | O_CLOEXEC, 0);
  const Opened file(only_completion(ring).result);
  ASSERT_GE(file.number(), 0);

  struct statx seen{};
  std::array<std::byte, 100> bytes{};
  io_uring_prep_nop(ring.next());
  io_uring_sqe* entry = ring.next();
  io_uring_prep_fsync(entry, file.number(), 0);
  entry->user_data = 1;
  entry = ring.next();
  io_uring_prep_statx(entry, file.number(), "", AT_EMPTY_PATH, STATX_SIZE, &seen);
  entry->user_data = 2;
  entry = ring.next();
  io_uring_prep_read(entry, file.number(), bytes.data(), 100, 0);
  entry->user_data = 3;
  EXPECT_EQ(ring.prepared(), 4u);
  EXPECT_EQ(ring.submit(), 0);
  EXPECT_EQ(ring.prepared(), 0u);
  EXPECT_EQ(ring.in_kernel(), 4u);

  EXPECT_EQ(ring.wait(4), 0);
  std::array<RingCompletion, 8> all;
  ASSERT_EQ(ring.reap(all), 4u);
  EXPECT_EQ(ring.in_kernel(), 0u);
  for (const RingCompletion& each : std::span(all).first(4)) {
    EXPECT_EQ(each.result, each.tag == 3 ? 100 : 0) << each.tag;
  }
  EXPECT_EQ(seen.stx_size, 100u);
  EXPECT_TRUE(holds_content(bytes, 0));
}

TEST_F(RingTest, AnEntryIsClearedBeforeItIsFilled) {
  Ring ring = Ring::create(1).value();
  for (int round = 0; round < 3; ++round) {
    io_uring_sqe* const entry = ring.next();
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->opcode, IORING_OP_NOP);
    EXPECT_EQ(entry->user_data, 0u);
    entry->opcode = IORING_OP_FSYNC;
    entry->fd = -1;
    entry->user_data = 77;
    EXPECT_EQ(only_completion(ring).result, -EBADF);
  }
}

TEST_F(RingTest, AFullQueueAsksForASubmit) {
  Ring ring = Ring::create(4).value();
  std::size_t prepared = 0;
  while (ring.next() != nullptr) ++prepared;
  EXPECT_EQ(prepared, 4u);
  EXPECT_EQ(ring.submit(), 0);
  EXPECT_NE(ring.next(), nullptr);
}

TEST_F(RingTest, AWrongEntryDoesNotKeepTheNextOnes) {
  Ring ring = Ring::create(8).value();
  for (std::uint64_t tag = 0; tag < 8; ++tag) {
    io_uring_sqe* const entry = ring.next();
    entry->user_data = tag;
    if (tag == 2) entry->opcode = 255;
  }
  EXPECT_EQ(ring.submit(), 0);
  EXPECT_EQ(ring.wait(8), 0);
  std::array<RingCompletion, 8> all;
  ASSERT_EQ(ring.reap(all), 8u);
  for (const RingCompletion& each : all) EXPECT_EQ(each.result, each.tag == 2 ? -EINVAL : 0);
}

TEST_F(RingTest, MoreCompletionsThanTheQueueHoldsAreNotLost) {
  constexpr std::uint64_t many = 500;
  Ring ring = Ring::create(4).value();
  std::vector<bool> seen(many);
  std::array<RingCompletion, 64> some;
  const auto reap = [&] {
    const std::size_t count = ring.reap(some);
    for (const RingCompletion& each : std::span(some).first(count)) {
      ASSERT_FALSE(seen.at(each.tag));
      seen[each.tag] = true;
    }
  };
  for (std::uint64_t tag = 0; tag < many; ++tag) {
    prepare_nop(ring, tag);
    // An older Linux requires reaping at this point.
    while (ring.submit() != 0) reap();
  }
  while (ring.in_kernel() > 0) {
    EXPECT_EQ(ring.wait(ring.in_kernel()), 0);
    reap();
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), static_cast<std::ptrdiff_t>(many));
}

TEST_F(RingTest, WaitsForNoMoreThanIsExpected) {
  Ring ring = Ring::create(4).value();
  EXPECT_EQ(ring.wait(0), 0);
  EXPECT_EQ(ring.wait(10), 0);
  prepare_nop(ring, 5);
  EXPECT_EQ(ring.wait(10), 0);
  std::array<RingCompletion, 4> all;
  EXPECT_EQ(ring.reap(all), 1u);
  EXPECT_EQ(all.front().tag, 5u);
}

TEST_F(RingTest, WaitsForACompletion) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  const Opened out(pipe[0]);
  const Opened in(pipe[1]);
  Ring ring = Ring::create(4).value();
  char letter = 0;
  io_uring_prep_read(ring.next(), out.number(), &letter, 1, 0);
  EXPECT_EQ(ring.submit(), 0);
  std::array<RingCompletion, 4> all;
  EXPECT_EQ(ring.reap(all), 0u);
  std::thread writer([&] { EXPECT_EQ(::write(in.number(), "k", 1), 1); });
  EXPECT_EQ(ring.wait(1), 0);
  writer.join();
  ASSERT_EQ(ring.reap(all), 1u);
  EXPECT_EQ(all.front().result, 1);
  EXPECT_EQ(letter, 'k');
}

TEST_F(RingTest, TakesBackEntriesThatTheKernelHasNotTaken) {
  Ring ring = Ring::create(4).value();
  prepare_nop(ring, 1);
  EXPECT_EQ(ring.submit(), 0);
  prepare_nop(ring, 2);
  prepare_nop(ring, 3);
  std::array<std::uint64_t, 4> tags{};
  EXPECT_EQ(ring.take_back(tags), 2u);
  EXPECT_EQ(tags[0], 2u);
  EXPECT_EQ(tags[1], 3u);
  EXPECT_EQ(ring.prepared(), 0u);
  EXPECT_EQ(ring.in_kernel(), 1u);
  prepare_nop(ring, 4);
  EXPECT_EQ(ring.wait(2), 0);
  std::array<RingCompletion, 4> all;
  ASSERT_EQ(ring.reap(all), 2u);
  EXPECT_EQ(all[0].tag + all[1].tag, 5u);
}

TEST_F(RingTest, LeavesItsNumberToTheProgram) {
  int number = -1;
  {
    const Ring ring = Ring::create(4).value();
    number = ring.descriptor();
    EXPECT_TRUE(is_own(number));
  }
  EXPECT_FALSE(is_own(number));
}

TEST_F(RingTest, TakesBackAfterAnEnterThatWasRefused) {
  Ring ring = Ring::create(4).value();
  const int descriptor = ring.descriptor();
  const Opened copy(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  prepare_nop(ring, 1);
  ASSERT_EQ(::close(descriptor), 0);
  EXPECT_EQ(ring.submit(), -EBADF);
  EXPECT_EQ(ring.wait(1), -EBADF);
  std::array<std::uint64_t, 4> tags{};
  EXPECT_EQ(ring.take_back(tags), 1u);
  // Once Linux accepts io_uring_enter(2) again, the ring is usable again.
  ASSERT_EQ(::dup3(copy.number(), descriptor, O_CLOEXEC), descriptor);
  prepare_nop(ring, 9);
  EXPECT_EQ(only_completion(ring).tag, 9u);
}

TEST_F(RingTest, ItsDescriptorIsHighAndClosedByExec) {
  const Ring ring = Ring::create(4).value();
  EXPECT_GE(ring.descriptor(), high_number_min);
  EXPECT_EQ(::fcntl(ring.descriptor(), F_GETFD), FD_CLOEXEC);
}

TEST_F(RingTest, MovesAndClosesOnce) {
  Ring first = Ring::create(4).value();
  const int descriptor = first.descriptor();
  {
    Ring second = std::move(first);
    EXPECT_EQ(second.descriptor(), descriptor);
    prepare_nop(second, 1);
    EXPECT_EQ(only_completion(second).tag, 1u);
    Ring third = Ring::create(4).value();
    third = std::move(second);
    EXPECT_EQ(third.descriptor(), descriptor);
    prepare_nop(third, 2);
    EXPECT_EQ(only_completion(third).tag, 2u);
  }
  EXPECT_EQ(::fcntl(descriptor, F_GETFD), -1);
}

// The parent's ring works on.
void expect_that_a_child_may_destroy(Ring& ring) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool inherited = ring.inherited();
    {
      const Ring ended = std::move(ring);
    }
    ::_exit(inherited ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  prepare_nop(ring, 3);
  EXPECT_EQ(only_completion(ring).tag, 3u);
}

TEST_F(RingTest, AChildOfForkMayDestroyIt) {
  Ring ring = Ring::create(4).value();
  EXPECT_FALSE(ring.inherited());
  expect_that_a_child_may_destroy(ring);
}

// A ring of one thread.
class RingOfThreadTest : public testing::Test {
 protected:
  void SetUp() override {
    const Result<Ring> made = Ring::create_for_this_thread(1);
    if (!made) GTEST_SKIP() << made.error().message;
  }
};

TEST_F(RingOfThreadTest, ReadsWithoutADescriptor) {
  const OwnFiles files;
  const Opened file = open_file(make_file(files, "content", 100), O_RDONLY);
  Ring ring = Ring::create_for_this_thread(4).value();
  EXPECT_EQ(ring.descriptor(), -1);
  std::array<std::byte, 100> bytes{};
  io_uring_prep_read(ring.next(), file.number(), bytes.data(), 100, 0);
  EXPECT_EQ(only_completion(ring).result, 100);
  EXPECT_TRUE(holds_content(bytes, 0));
}

TEST_F(RingOfThreadTest, TakesTransfersOnly) {
  Ring ring = Ring::create_for_this_thread(4).value();
  expect_transfers_only(ring);
}

TEST_F(RingOfThreadTest, IsOfNoUseToAnotherThread) {
  Ring ring = Ring::create_for_this_thread(4).value();
  prepare_nop(ring, 1);
  std::thread([&] { EXPECT_NE(ring.submit(), 0); }).join();
  EXPECT_EQ(ring.prepared(), 1u);
  EXPECT_EQ(only_completion(ring).tag, 1u);
}

TEST_F(RingOfThreadTest, EndsWithItsThreadAtTheLatest) {
  constexpr std::size_t rings_a_thread = 16;  // Linux' limit.
  for (int round = 0; round < 3; ++round) {
    std::thread([&] {
      std::vector<Ring> rings;
      Result<Ring> ring = Ring::create_for_this_thread(4);
      for (; ring; ring = Ring::create_for_this_thread(4)) {
        rings.push_back(std::move(ring).value());
      }
      EXPECT_EQ(rings.size(), std::size_t{rings_a_thread});
      EXPECT_EQ(ring.error().code, EBUSY);
    }).join();
  }
}

TEST_F(RingOfThreadTest, GivesItsPlaceBack) {
  utsname system{};
  ASSERT_EQ(::uname(&system), 0);
  int major = 0;
  int minor = 0;
  ASSERT_EQ(std::sscanf(system.release, "%d.%d", &major, &minor), 2);
  if (std::pair(major, minor) < std::pair(6, 3)) GTEST_SKIP() << "Linux before 6.3";
  for (int count = 0; count < 100; ++count) {
    ASSERT_TRUE(Ring::create_for_this_thread(4).ok()) << count;
  }
}

TEST_F(RingOfThreadTest, ASignalMayEndItsWait) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  const Opened out(pipe[0]);
  const Opened in(pipe[1]);
  struct sigaction before{};
  struct sigaction nothing{};
  nothing.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGUSR1, &nothing, &before), 0);
  Ring ring = Ring::create_for_this_thread(4).value();
  char letter = 0;
  io_uring_prep_read(ring.next(), out.number(), &letter, 1, 0);
  std::atomic<bool> ended{false};
  std::thread interrupter([&, waiter = ::pthread_self()] {
    while (!ended) {
      ::pthread_kill(waiter, SIGUSR1);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  EXPECT_EQ(ring.wait(1, Ring::Signals::end_the_wait), -EINTR);
  ended = true;
  interrupter.join();
  ASSERT_EQ(::sigaction(SIGUSR1, &before, nullptr), 0);
  EXPECT_EQ(::write(in.number(), "k", 1), 1);
  EXPECT_EQ(only_completion(ring).result, 1);
}

TEST_F(RingOfThreadTest, AChildOfForkHasNoPartOfIt) {
  Ring ring = Ring::create_for_this_thread(4).value();
  expect_that_a_child_may_destroy(ring);
}

TEST(RingCreate, RefusesImpossibleSizes) {
  for (const auto create :
       {Ring::create, Ring::create_for_transfers, Ring::create_for_this_thread}) {
    for (const std::uint32_t wrong : {0u, Ring::entries_max + 1}) {
      const Result<Ring> made = create(wrong);
      ASSERT_FALSE(made.ok());
      EXPECT_EQ(made.error().code, EINVAL);
      EXPECT_NE(made.error().message.find("give 1 to 32768"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace k2k::io
