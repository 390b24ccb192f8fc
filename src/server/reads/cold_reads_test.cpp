// Goal: reads that suit a ring are answered by its thread, and all others are left to the pool; no
// read is lost without a ring, at the end, or while the ring is full.

#include "server/reads/cold_reads.hpp"

#include <asm/unistd.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "io/file/refused_calls_fixture.hpp"
#include "router/file/file_fixture.hpp"
#include "server/pool/server_parts_fixture.hpp"
#include "services/reader_fixture.hpp"
#include "services/services.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;
using protocol::SlotState;
using protocol::TransportError;
using router::page;

constexpr std::size_t cold_file_bytes = 256 * page + 777;

Result<io::Ring> no_ring(std::uint32_t) { return Error{EPERM, "io_uring is disabled"}; }

struct ReadParts : ServerParts {
  explicit ReadParts(ColdReads::MakeRing make_ring) : reads(set_aside, make_ring) {}
  ColdReads reads;
};

class ColdReadsTest : public testing::Test {
 protected:
  void SetUp() override {
    file.evict();
    if (!suits_a_ring(read_of(31, file.descriptor(), page).request, router::Files())) {
      GTEST_SKIP() << "this file system does not complete reads by itself";
    }
    file.evict();
  }
  void TearDown() override {
    if (parts && !ended) end();
  }
  void begin(ColdReads::MakeRing make = io::Ring::create_for_this_thread) {
    parts = std::make_shared<ReadParts>(make);
    parts->threads.keep_alive(parts);
    parts->pool.run({.work = [this](ServiceThread& self) { work(self); }, .guard = {}});
    parts->reads.wake_by(Descriptor(::eventfd(0, EFD_CLOEXEC)));
  }
  void end() {
    ended = true;
    parts->reads.stop();
    parts->pool.stop();
    parts->interrupt_until_ended();
  }
  // A worker of the pool: makes the calls that it gets.
  void work(ServiceThread& self) {
    ThreadPool::Work work = parts->pool.next_work(self);
    while (work.task == ThreadPool::Task::call) {
      ++calls_of_pool;
      const std::int64_t value = parts->system_calls.wait(self, work.call);
      parts->answers.answer_late(self.stats, work.call.request, value, {1, 2});
      parts->pool.finish_work();
      work = parts->pool.next_work(self);
    }
  }
  // Page `at` of the file, and the memory for it.
  Pending read_of(std::size_t at, int descriptor, std::size_t bytes) {
    Pending call;
    call.request.number = __NR_pread64;
    call.request.row = static_cast<std::int16_t>(calls::find(__NR_pread64));
    call.request.arguments[0] = static_cast<std::uint64_t>(descriptor);
    call.request.arguments[1] = reinterpret_cast<std::uint64_t>(memory.get() + at * page);
    call.request.arguments[2] = bytes;
    call.request.arguments[3] = at * page;
    return call;
  }
  Pending accepted(std::uint8_t lane, std::size_t at, std::size_t bytes = page) {
    Pending call = read_of(at, file.descriptor(), bytes);
    const auto& word = call.request.arguments;
    call.request = parts->accept(lane, __NR_pread64, word[0], word[1], word[2], word[3]);
    return call;
  }
  bool is_answered(const services::Request& request) { return parts->is_answered(request); }
  void expect_page(std::size_t at) {
    EXPECT_TRUE(std::equal(memory.get() + at * page, memory.get() + (at + 1) * page,
                           file.bytes().begin() + static_cast<std::ptrdiff_t>(at * page)))
        << at;
  }
  std::uint32_t threads() {
    Stats stats;
    parts->threads.add_to(stats);
    return stats.threads;
  }

  router::DataFile file{cold_file_bytes};
  router::Memory memory = router::memory_of(cold_file_bytes + page);
  std::shared_ptr<ReadParts> parts;
  std::atomic<int> calls_of_pool{0};
  bool ended = false;
};

TEST_F(ColdReadsTest, are_answered_by_one_thread) {
  begin();
  EXPECT_EQ(threads(), 0u) << "it starts with the first read";
  std::vector<services::Request> requests;
  for (std::uint8_t lane = 0; lane < 32; ++lane) {
    const Pending call = accepted(lane, std::size_t{lane} * 7);
    ASSERT_TRUE(parts->reads.take(call));
    requests.push_back(call.request);
  }
  for (const services::Request& request : requests) {
    ASSERT_TRUE(is_answered(request));
    EXPECT_EQ(parts->value_of(request), ssize_t{page});
    expect_page(std::size_t{request.lane} * 7);
  }
  EXPECT_EQ(threads(), 1u);
  EXPECT_EQ(calls_of_pool, 0);
  end();  // Its CPU time is charged then.
  Stats stats;
  parts->threads.add_to(stats);
  ASSERT_EQ(stats.calls.size(), 1u);
  EXPECT_EQ(stats.calls[0].name, "pread");
  EXPECT_EQ(stats.calls[0].count, 32u);
  EXPECT_GT(stats.calls[0].cpu_seconds, 0.0) << "the copies are charged";
}

TEST_F(ColdReadsTest, are_completed_by_no_thread_of_the_kernel) {
  begin();
  for (std::uint8_t lane = 0; lane < 32; ++lane) {
    file.evict();
    const Pending call = accepted(lane, lane, 64 * page);
    ASSERT_TRUE(parts->reads.take(call));
    ASSERT_TRUE(is_answered(call.request));
  }
  int of_kernel = 0;
  int of_ring = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(thread.path() / "comm"), name);
    of_kernel += name.starts_with("iou-") ? 1 : 0;
    of_ring += name == "k2k/reads" ? 1 : 0;
  }
  EXPECT_EQ(of_kernel, 0);
  EXPECT_EQ(of_ring, 1);
}

TEST_F(ColdReadsTest, end_where_the_file_does) {
  begin();
  const Pending call = accepted(1, 255, 2 * page);
  ASSERT_TRUE(parts->reads.take(call));
  ASSERT_TRUE(is_answered(call.request));
  EXPECT_EQ(parts->value_of(call.request), ssize_t{page + 777});
}

TEST_F(ColdReadsTest, leave_reads_that_do_not_suit_a_ring_to_the_pool) {
  begin();
  const auto suits = [&](const Pending& call, const router::Files& files) {
    return suits_a_ring(call.request, files);
  };
  const Pending good = read_of(0, file.descriptor(), page);
  const router::Files plain;
  EXPECT_TRUE(suits(good, plain));
  EXPECT_FALSE(suits(good, router::Files(std::make_shared<services::WaitingReader>())))
      << "its router plans the read";
  Pending call = good;
  call.request.number = __NR_read;
  EXPECT_FALSE(suits(call, plain));
  call = good;
  call.request.arguments[2] = ring_read_bytes_max + 1;
  EXPECT_FALSE(suits(call, plain));
  call = good;
  call.request.arguments[1] = 0;
  EXPECT_FALSE(suits(call, plain)) << "EFAULT is a pread's";
  void* const missing =
      ::mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(missing, MAP_FAILED);
  static_cast<std::byte*>(missing)[0] = std::byte{1};
  call.request.arguments[1] = reinterpret_cast<std::uint64_t>(missing);
  EXPECT_TRUE(suits(call, plain));
  call.request.arguments[1] += 1;
  EXPECT_FALSE(suits(call, plain)) << "its last byte is in a page that is missing";
  call.request.arguments[3] = cold_file_bytes - page + 1;
  EXPECT_TRUE(suits(call, plain)) << "the file ends before that page";
  ::munmap(missing, 4 * page);
  const int in_memory = ::memfd_create("k2k-test", MFD_CLOEXEC);
  EXPECT_FALSE(suits(read_of(0, in_memory, page), plain)) << "the kernel would use threads";
  ::close(in_memory);
  EXPECT_FALSE(suits(read_of(0, -1, page), plain));
  EXPECT_EQ(threads(), 0u);
}

TEST_F(ColdReadsTest, are_made_by_the_pool_where_there_is_no_ring) {
  begin(no_ring);
  parts->pool.resume({});
  ASSERT_TRUE(parts->pool.add_workers(1));
  const Pending first = accepted(0, 3);
  ASSERT_TRUE(parts->reads.take(first)) << "nothing is known yet";
  ASSERT_TRUE(is_answered(first.request));
  EXPECT_EQ(parts->value_of(first.request), ssize_t{page});
  expect_page(3);
  EXPECT_EQ(calls_of_pool, 1);
  EXPECT_FALSE(parts->reads.take(accepted(1, 4)));
}

TEST_F(ColdReadsTest, are_made_by_the_pool_where_the_kernel_refuses_rings) {
  for (const unsigned code : {static_cast<unsigned>(ENOSYS), static_cast<unsigned>(EPERM)}) {
    const int status = io::where_refused(__NR_io_uring_setup, code, [this] {
      begin();
      parts->pool.resume({});
      if (!parts->pool.add_workers(1)) return 1;
      const Pending call = accepted(0, 3);
      if (!parts->reads.take(call) || !is_answered(call.request)) return 2;
      if (parts->value_of(call.request) != ssize_t{page} || calls_of_pool != 1) return 3;
      const bool taken = parts->reads.take(accepted(1, 4));
      end();
      return taken ? 4 : 0;
    });
    if (status == io::no_filter) GTEST_SKIP() << "no filter of system calls";
    EXPECT_EQ(status, 0) << code;
  }
}

TEST_F(ColdReadsTest, that_the_ring_gives_back_are_made_by_the_pool) {
  begin();
  parts->pool.resume({});
  ASSERT_TRUE(parts->pool.add_workers(1));
  const int direct = ::open(file.path().c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
  if (direct < 0) GTEST_SKIP() << "no direct reads in this folder";
  Pending call = accepted(0, 77);
  // An unaligned read: Linux refuses it, and only a pread(2) may report that.
  call.request.arguments[0] = static_cast<std::uint64_t>(direct);
  call.request.arguments[3] += 1;
  ASSERT_TRUE(parts->reads.take(call));
  ASSERT_TRUE(is_answered(call.request));
  EXPECT_EQ(parts->value_of(call.request), -EINVAL);
  EXPECT_EQ(calls_of_pool, 1);
  ::close(direct);
}

TEST_F(ColdReadsTest, end_with_their_thread) {
  begin();
  const Pending call = accepted(0, 0);
  ASSERT_TRUE(parts->reads.take(call));
  parts->reads.stop();
  EXPECT_TRUE(parts->threads.wait_ended(10s));
  ASSERT_TRUE(is_answered(call.request));
  const auto answer = parts->control_of(call.request);
  EXPECT_TRUE(answer.error == TransportError::shutdown ||
              parts->value_of(call.request) == ssize_t{page});
  EXPECT_FALSE(parts->reads.take(accepted(1, 1)));
}

TEST_F(ColdReadsTest, that_were_taken_before_the_end_are_answered) {
  // stop() races with take().
  begin();
  std::atomic<bool> stopped{false};
  std::thread stopper([&] {
    std::this_thread::sleep_for(1ms);
    parts->reads.stop();
    stopped = true;
  });
  std::vector<Pending> taken;
  for (std::uint8_t lane = 0; lane < 32 && !stopped; ++lane) {
    const Pending call = accepted(lane, std::size_t{lane} * 5);
    if (parts->reads.take(call)) taken.push_back(call);
  }
  stopper.join();
  EXPECT_TRUE(parts->threads.wait_ended(10s));
  for (const Pending& call : taken) EXPECT_TRUE(is_answered(call.request));
}

TEST_F(ColdReadsTest, are_left_to_the_pool_once_the_program_closed_the_event) {
  begin();
  const int event = ::eventfd(0, EFD_CLOEXEC);
  parts->reads.wake_by(Descriptor(event));
  const Pending first = accepted(0, 0);
  ASSERT_TRUE(parts->reads.take(first));
  ASSERT_TRUE(is_answered(first.request));
  std::this_thread::sleep_for(20ms);  // Time for its thread to fall asleep.
  ASSERT_EQ(::close(event), 0);
  EXPECT_FALSE(parts->reads.take(accepted(1, 100)));
}

}  // namespace
}  // namespace k2k::server
