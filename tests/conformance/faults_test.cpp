// Goal: device code may touch memory that is not there yet; what it then sees, who waits for it,
// and what happens where it cannot come.

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <optional>

#include "tests/conformance/device_under_test.hpp"

namespace k2k::conformance {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t page = 4096;
constexpr std::size_t words_a_page = page / sizeof(std::uint64_t);

// The text of a refused launch, or "".
std::string failure_of(const Result<LaunchReport>& report) {
  return report.ok() ? "" : report.error().message;
}

// Memory to copy from that is not there until the test says so: held back by userfaultfd(2).
class StuckMemory {
 public:
  static constexpr const char* needs =
      "holding up the kernel's own access takes vm.unprivileged_userfaultfd = 1 or root";

  explicit StuckMemory(std::size_t pages)
      : bytes_(pages * page),
        memory_(
            ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
        holder_(static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK))) {
    uffdio_api api{};
    api.api = UFFD_API;
    uffdio_register wish{};
    wish.range = {reinterpret_cast<std::uint64_t>(memory_), bytes_};
    wish.mode = UFFDIO_REGISTER_MODE_MISSING;
    ok_ = memory_ != MAP_FAILED && ::ioctl(holder_, UFFDIO_API, &api) == 0 &&
          ::ioctl(holder_, UFFDIO_REGISTER, &wish) == 0;
  }
  ~StuckMemory() {
    if (holder_ >= 0) ::close(holder_);
    if (memory_ != MAP_FAILED) ::munmap(memory_, bytes_);
  }
  StuckMemory(const StuckMemory&) = delete;
  StuckMemory& operator=(const StuckMemory&) = delete;

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] const void* data() const { return memory_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  // True once a reader waits.
  [[nodiscard]] bool awaited() const {
    pollfd watched{holder_, POLLIN, 0};
    return ::poll(&watched, 1, 0) == 1;
  }
  void release(char content) {
    const std::vector<char> pages(bytes_, content);
    uffdio_copy copy{};
    copy.dst = reinterpret_cast<std::uint64_t>(memory_);
    copy.src = reinterpret_cast<std::uint64_t>(pages.data());
    copy.len = bytes_;
    EXPECT_EQ(::ioctl(holder_, UFFDIO_COPY, &copy), 0) << errno;
  }

 private:
  std::size_t bytes_;
  void* memory_;
  int holder_;
  bool ok_ = false;
};

class Faults : public DeviceUnderTest {
 protected:
  template <class Made>
  DemandRegion made(Made region) {
    if (!region) {
      ADD_FAILURE() << region.error().message;
      std::abort();
    }
    return std::move(region).value();
  }
  static std::uint64_t requests(const Runtime& runtime) {
    for (const server::CallStats& call : runtime.stats().calls) {
      if (call.name == "fault_in") return call.count;
    }
    return 0;
  }
};
K2K_EVERY_DEVICE(Faults);

TEST_P(Faults, untouched_pages_read_as_zero_and_keep_what_is_written) {
  Runtime runtime = start();
  const std::uint32_t items = scaled(128, 40);
  const DemandRegion region = made(DemandRegion::zero(runtime, items * page));
  auto* const words = region.as<std::uint64_t>();
  std::vector<std::uint64_t> seen(items, 1);
  launch(runtime, 1, items, [&] {
    std::uint64_t& mine = words[item_rank() * words_a_page + item_rank()];
    seen[item_rank()] = mine;
    mine = 1000 + item_rank();
  });
  for (std::uint32_t item = 0; item < items; ++item) {
    ASSERT_EQ(seen[item], 0u);
    ASSERT_EQ(words[item * words_a_page + item], 1000 + item);
  }
  EXPECT_EQ(requests(runtime), items);
  EXPECT_EQ(region.counters().pages, items);
}

TEST_P(Faults, the_first_write_to_a_page_is_one_fault) {
  Runtime runtime = start();
  const DemandRegion region = made(DemandRegion::zero(runtime, 8 * page));
  auto* const words = region.as<std::uint64_t>();
  launch(runtime, 1, 8, [&] { words[item_rank() * words_a_page] = 7 + item_rank(); });
  for (std::uint32_t item = 0; item < 8; ++item) EXPECT_EQ(words[item * words_a_page], 7 + item);
  EXPECT_EQ(requests(runtime), 8u);
}

TEST_P(Faults, copied_pages_are_private) {
  Runtime runtime = start();
  std::vector<std::uint64_t> source(16 * words_a_page);
  for (std::size_t word = 0; word < source.size(); ++word) source[word] = word * 3;
  const DemandRegion region =
      made(DemandRegion::copy_of(runtime, source.data(), source.size() * sizeof(std::uint64_t)));
  auto* const words = region.as<std::uint64_t>();
  std::atomic<int> wrong{0};
  launch(runtime, 2, 32, [&] {
    for (std::size_t word = global_rank(); word < 16 * words_a_page; word += global_size()) {
      if (words[word] != word * 3) ++wrong;
      words[word] += 1;
    }
  });
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(words[100], 301u);
  EXPECT_EQ(source[100], 300u);
}

TEST_P(Faults, file_pages_are_private_and_end_in_zeros) {
  Runtime runtime = start();
  std::string content(5 * page - 100, ' ');
  for (std::size_t byte = 0; byte < content.size(); ++byte) {
    content[byte] = static_cast<char>('a' + byte % 23);
  }
  const TemporaryFile file(content);
  DemandRegion region = made(DemandRegion::file(runtime, file.fd, 96, 5 * page));
  char* const bytes = region.as<char>();
  std::atomic<int> wrong{0};
  launch(runtime, 1, 20, [&] {
    for (std::size_t byte = item_rank(); byte < 5 * page; byte += group_size()) {
      const char wanted = byte + 96 < content.size() ? content[byte + 96] : '\0';
      if (bytes[byte] != wanted) ++wrong;
    }
    k2k::barrier();
    if (item_rank() == 0) bytes[0] = '!';
  });
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(file.content(), content);
}

TEST_P(Faults, a_page_behind_the_end_of_the_file_ends_the_launch) {
  Runtime runtime = start();
  const TemporaryFile file(std::string(page + 1, 'x'));
  const DemandRegion region =
      made(DemandRegion::file(runtime, file.fd, 0, 4 * page, {.name = "index"}));
  const char* const bytes = region.as<const char>();
  std::atomic<int> sum{0};
  const std::string text = failure_of(runtime.launch(
      {1, 1}, [&] { sum += bytes[page] + bytes[page + 1] + bytes[3 * page + 5]; }, "reader"));
  EXPECT_NE(text.find("kernel 'reader': group 0 item 0: fault at 0x"), std::string::npos) << text;
  EXPECT_NE(text.find("demand region 'index'"), std::string::npos) << text;
  EXPECT_NE(text.find("the file ends before this page"), std::string::npos) << text;
  launch(runtime, 1, 1, [&] { sum = bytes[0]; });  // And the next launch runs.
  EXPECT_EQ(sum.load(), 'x');
}

TEST_P(Faults, many_work_items_on_one_page_all_get_it) {
  Runtime runtime = start();
  const std::uint32_t items = scaled(128, 40);
  const DemandRegion region = made(DemandRegion::zero(runtime, page));
  auto* const words = region.as<std::uint64_t>();
  launch(runtime, 2, items, [&] { words[global_rank()] += 5; });
  for (std::uint32_t item = 0; item < 2 * items; ++item) ASSERT_EQ(words[item], 5u) << item;
  EXPECT_EQ(region.counters().pages, 1u);
}

TEST_P(Faults, wave_wide_code_may_fault_between_its_meetings) {
  Runtime runtime = start();
  const std::uint32_t items = scaled(64, 32);
  const DemandRegion region = made(DemandRegion::zero(runtime, items * page));
  auto* const words = region.as<std::uint64_t>();
  std::atomic<int> wrong{0};
  launch(runtime, 1, items, [&] {
    for (std::uint32_t round = 0; round < 3; ++round) {
      std::uint64_t& mine = words[(item_rank() + round) % group_size() * words_a_page + round];
      const bool odd = lane() % 2 != 0;
      if (odd) mine = lane();
      const std::uint64_t lanes = k2k::ballot(odd);
      if ((lanes >> lane() & 1) != (odd ? 1u : 0u)) ++wrong;
      if (k2k::shuffle(mine, lane()) != (odd ? lane() : 0u)) ++wrong;
      if (k2k::nop(k2k::work_item, k2k::wave_wide) != 0) ++wrong;
      k2k::barrier();
    }
  });
  EXPECT_EQ(wrong.load(), 0);
}

// One unit, hence one OS thread: if it waited, nobody would let the page come.
TEST_P(Faults, the_thread_of_a_unit_runs_others_while_a_work_item_waits_for_its_page) {
  StuckMemory memory(1);
  if (!memory.ok()) GTEST_SKIP() << StuckMemory::needs;
  Runtime runtime = start([](RuntimeConfig& config) { config.device.compute_units = 1; });
  const DemandRegion region = made(DemandRegion::copy_of(runtime, memory.data(), memory.bytes()));
  const auto* const byte = region.as<const char>();
  std::uint32_t touched = 0;
  std::uint32_t free = 0;
  char seen = 0;
  std::thread fetcher([&] {
    while (__atomic_load_n(&free, __ATOMIC_ACQUIRE) == 0) std::this_thread::sleep_for(100us);
    memory.release('d');
  });
  launch(runtime, 1, 2, [&] {
    if (item_rank() == 0) {
      __atomic_store_n(&touched, 1u, __ATOMIC_RELEASE);
      seen = *byte;
    } else {
      while (__atomic_load_n(&touched, __ATOMIC_ACQUIRE) == 0) k2k::yield();
      for (int call = 0; call < 10; ++call) k2k::nop(k2k::work_item);
      __atomic_store_n(&free, 1u, __ATOMIC_RELEASE);
    }
  });
  fetcher.join();
  EXPECT_EQ(seen, 'd');
}

TEST_P(Faults, a_region_destroyed_while_faults_wait_ends_their_launch_and_nothing_else) {
  StuckMemory memory(2);
  if (!memory.ok()) GTEST_SKIP() << StuckMemory::needs;
  Runtime runtime = start();
  std::optional<DemandRegion> region =
      made(DemandRegion::copy_of(runtime, memory.data(), memory.bytes(), {.name = "pending"}));
  const char* const bytes = region->as<const char>();
  std::thread destroyer([&] {
    while (runtime.stats().in_flight < 2) std::this_thread::sleep_for(100us);
    region.reset();  // Does not wait for the page.
    memory.release('p');
  });
  std::atomic<int> survivors{0};
  const std::string text = failure_of(runtime.launch({1, 2}, [&] {
    if (bytes[item_rank() * page] != 0) ++survivors;
  }));
  destroyer.join();
  EXPECT_NE(text.find("in demand region 'pending'"), std::string::npos) << text;
  EXPECT_NE(text.find("the region was destroyed"), std::string::npos) << text;
  EXPECT_EQ(survivors.load(), 0);
  std::atomic<long> answer{-1};
  launch(runtime, 1, 1, [&] { answer = k2k::nop(k2k::work_item); });
  EXPECT_EQ(answer.load(), 0);
  EXPECT_EQ(runtime.stats().in_flight, 0u);
}

TEST_P(Faults, a_page_that_is_stuck_holds_up_no_other) {
  constexpr std::uint32_t stuck = 12;
  constexpr std::uint32_t others = 12;
  StuckMemory memory(stuck);
  if (!memory.ok()) GTEST_SKIP() << StuckMemory::needs;
  Runtime runtime = start();
  const DemandRegion slow = made(DemandRegion::copy_of(runtime, memory.data(), memory.bytes()));
  const DemandRegion zeros = made(DemandRegion::zero(runtime, others * page));
  std::uint32_t done = 0;
  std::thread fetcher([&] {
    while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) < others) std::this_thread::sleep_for(100us);
    memory.release('s');
  });
  std::atomic<std::uint32_t> right{0};
  launch(runtime, 1, stuck + others, [&] {
    const std::uint32_t item = item_rank();
    if (item < stuck) {
      if (slow.as<const char>()[item * page] == 's') ++right;
      return;
    }
    while (!memory.awaited()) k2k::yield();
    zeros.as<char>()[(item - stuck) * page] = 1;
    if (k2k::getpid(k2k::work_item) == ::getpid()) ++right;
    __atomic_fetch_add(&done, 1u, __ATOMIC_RELEASE);
  });
  fetcher.join();
  EXPECT_EQ(right.load(), stuck + others);
}

// Each thread of the pool is kept by an open of a FIFO.
TEST_P(Faults, are_served_while_every_thread_of_the_pool_is_stuck) {
  constexpr std::uint32_t stuck = 6;
  constexpr std::uint32_t others = 8;
  Runtime runtime = start([](RuntimeConfig& config) {
    config.server.threads_max = 3;
    config.server.takeover_us = 200;
  });
  TemporaryFile place;
  const std::string fifo = place.path + ".fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const DemandRegion zeros = made(DemandRegion::zero(runtime, others * page));
  std::uint32_t used_up = 0;
  std::uint32_t done = 0;
  std::thread host([&] {
    while (runtime.stats().in_flight < 3) std::this_thread::sleep_for(100us);
    std::this_thread::sleep_for(20ms);  // Two take-overs.
    __atomic_store_n(&used_up, 1u, __ATOMIC_RELEASE);
    while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) < others) std::this_thread::sleep_for(100us);
    const int writer = ::open(fifo.c_str(), O_RDWR | O_CLOEXEC);
    EXPECT_GE(writer, 0);
    while (runtime.stats().in_flight != 0) std::this_thread::sleep_for(100us);
    ::close(writer);
  });
  std::atomic<std::uint32_t> opened{0};
  launch(runtime, 1, stuck + others, [&] {
    const std::uint32_t item = item_rank();
    if (item < stuck) {
      const int fd = k2k::open(k2k::work_item, fifo.c_str(), O_RDONLY).fd();
      if (fd >= 0) ++opened;
      return;
    }
    while (__atomic_load_n(&used_up, __ATOMIC_ACQUIRE) == 0) k2k::yield();
    zeros.as<char>()[(item - stuck) * page] = 1;
    k2k::nop(k2k::work_item);
    __atomic_fetch_add(&done, 1u, __ATOMIC_RELEASE);
  });
  host.join();
  EXPECT_EQ(opened.load(), stuck);
  ::unlink(fifo.c_str());
}

TEST_P(Faults, are_served_by_a_split_bottom_half_too) {
  const std::uint32_t items = scaled(96, 32);
  StuckMemory memory(1);
  if (!memory.ok()) GTEST_SKIP() << StuckMemory::needs;
  Runtime runtime = start([](RuntimeConfig& config) {
    config.server.bottom_half = server::BottomHalfMode::split;
    config.server.coalesce_window_us = 20;
    config.server.coalesce_max = 16;
  });
  const DemandRegion zeros = made(DemandRegion::zero(runtime, items * page));
  const DemandRegion slow = made(DemandRegion::copy_of(runtime, memory.data(), memory.bytes()));
  std::uint32_t done = 0;
  std::thread fetcher([&] {
    while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) + 1 < items) std::this_thread::sleep_for(100us);
    memory.release('w');
  });
  char seen = 0;
  launch(runtime, 1, items, [&] {
    if (item_rank() == 0) {
      seen = *slow.as<const char>();
      return;
    }
    zeros.as<char>()[item_rank() * page] = 1;
    __atomic_fetch_add(&done, 1u, __ATOMIC_RELEASE);
  });
  fetcher.join();
  EXPECT_EQ(seen, 'w');
  EXPECT_EQ(zeros.counters().pages, items - 1);
}

TEST_P(Faults, meet_regions_that_come_and_go) {
  Runtime runtime = start();
  const std::uint32_t pages = scaled(64, 32);
  std::uint32_t stop = 0;
  std::thread others([&] {
    for (char round = 1; __atomic_load_n(&stop, __ATOMIC_ACQUIRE) == 0;
         round = static_cast<char>(round % 100 + 1)) {
      const auto brief = DemandRegion::zero(runtime, 3 * page);
      if (!brief) {  // Those of this launch count until it ends.
        EXPECT_EQ(brief.error().code, ENOSPC) << brief.error().message;
        std::this_thread::yield();
        continue;
      }
      char* const bytes = brief.value().as<char>();
      bytes[page] = round;
      EXPECT_EQ(bytes[page], round);
      EXPECT_EQ(bytes[2 * page], 0);
    }
  });
  for (int round = 0; round < 5; ++round) {
    // Between two launches there is room.
    Result<DemandRegion> next = DemandRegion::zero(runtime, pages * page);
    while (!next) next = DemandRegion::zero(runtime, pages * page);
    const DemandRegion region = std::move(next).value();
    std::atomic<std::uint32_t> right{0};
    launch(runtime, 2, pages, [&] {
      char& mine = region.as<char>()[item_rank() * page + group_rank()];
      if (mine == 0) ++right;
      mine = 1;
    });
    EXPECT_EQ(right.load(), 2 * pages);
  }
  __atomic_store_n(&stop, 1u, __ATOMIC_RELEASE);
  others.join();
}

TEST_P(Faults, calls_of_kernels_may_name_pages_that_are_not_there) {
  Runtime runtime = start();
  const std::string content(3 * page, 'q');
  const TemporaryFile file(content);
  const DemandRegion region = made(DemandRegion::zero(runtime, 8 * page));
  const DemandRegion sent = made(DemandRegion::copy_of(runtime, content.data(), 3 * page));
  std::byte* const to = region.data() + 100;
  const std::byte* const from = sent.data();
  const Pair pipe;
  std::array<long, 3> counts{};
  launch(runtime, 1, 1, [&] {
    counts[0] = k2k::pread(k2k::work_item, file.fd, to, 3 * page, 0);
    counts[1] = k2k::write(k2k::work_item, pipe.out(), from, 3 * page);
    counts[2] = k2k::read(k2k::work_item, pipe.in(), to + 4 * page, 3 * page);
  });
  EXPECT_EQ(counts[0], static_cast<long>(3 * page));
  EXPECT_EQ(counts[1], static_cast<long>(3 * page));
  EXPECT_EQ(counts[2], static_cast<long>(3 * page));
  EXPECT_EQ(std::memcmp(to, content.data(), 3 * page), 0);
  EXPECT_EQ(std::memcmp(to + 4 * page, content.data(), 3 * page), 0);
}

TEST_P(Faults, a_path_may_lie_in_a_region) {
  Runtime runtime = start();
  TemporaryFile file("there");
  file.path.resize(page);
  const DemandRegion region = made(DemandRegion::copy_of(runtime, file.path.data(), page));
  const char* const path = region.as<const char>();
  std::atomic<long> answer{0};
  launch(runtime, 1, 1, [&] {
    const int fd = k2k::open(k2k::work_item, path, O_RDONLY).fd();
    answer = fd;
    if (fd >= 0) k2k::close(k2k::work_item, fd);
  });
  EXPECT_GE(answer.load(), 0);
  file.path.resize(std::strlen(file.path.c_str()));
}

TEST_P(Faults, a_kernel_may_ask_ahead_and_is_refused_foreign_memory) {
  Runtime runtime = start();
  const DemandRegion region = made(DemandRegion::zero(runtime, 200 * page));
  std::vector<char> foreign(page);
  std::array<long, 6> answers{};
  launch(runtime, 1, 1, [&] {
    answers[0] = k2k::fault_in(k2k::work_item, region.data(), 10 * page);
    answers[1] = k2k::fault_in(k2k::work_item, region.data() + 5 * page + 7, 9 * page);
    answers[2] = k2k::fault_in(k2k::work_item, region.data(), 1 << 30);
    answers[3] = k2k::fault_in(k2k::work_item, region.data() + 199 * page, 5 * page);
    answers[4] = k2k::fault_in(k2k::work_item, foreign.data(), page);
    answers[5] = k2k::syscall(k2k::work_item, k2k::strong, 0xfffd, foreign.data(), 1, 1);
  });
  EXPECT_EQ(answers[0], static_cast<long>(10 * page));
  EXPECT_EQ(answers[1], static_cast<long>(9 * page));
  EXPECT_EQ(answers[2], 256l << 10);
  EXPECT_EQ(answers[3], static_cast<long>(page));
  EXPECT_EQ(answers[4], -EFAULT);
  EXPECT_EQ(answers[5], -EFAULT);
}

TEST_P(Faults, a_region_may_resolve_its_faults_in_place) {
  Runtime runtime = start();
  const std::string content(4 * page, 'f');
  const TemporaryFile file(content);
  const DemandRegionOptions here{.handling = FaultHandling::in_place};
  const DemandRegion zeros = made(DemandRegion::zero(runtime, 16 * page, here));
  const DemandRegion pages = made(DemandRegion::file(runtime, file.fd, 0, 4 * page, here));
  std::atomic<int> wrong{0};
  launch(runtime, 1, 16, [&] {
    zeros.as<char>()[item_rank() * page] = 1;
    if (pages.as<char>()[item_rank() % 4 * page + 9] != 'f') ++wrong;
  });
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(zeros.counters().in_place, 16u);
  EXPECT_EQ(requests(runtime), 0u);
}

TEST_P(Faults, threads_of_the_program_may_touch_a_region_too) {
  Runtime runtime = start();
  const std::string content(4 * page, 'h');
  const TemporaryFile file(content);
  DemandRegion region = made(DemandRegion::file(runtime, file.fd, 0, 4 * page));
  EXPECT_EQ(region.as<char>()[2 * page], 'h');
  EXPECT_EQ(region.counters().in_place, 1u);
  const Pair pipe;
  EXPECT_EQ(::write(pipe.out(), region.data(), 1), -1);
  EXPECT_EQ(errno, EFAULT);
  ASSERT_TRUE(region.populate(0, 1).ok());
  EXPECT_EQ(::write(pipe.out(), region.data(), 1), 1);
  const Status outside = region.populate(3 * page, 2 * page);
  ASSERT_FALSE(outside.ok());
  EXPECT_EQ(outside.error().message,
            "bytes 12288 to 20480 are not inside a demand region of 16384 bytes");
}

TEST_P(Faults, two_runtimes_share_a_process_and_a_region) {
  Runtime first = start();
  std::optional<Runtime> second = start();
  const DemandRegion region = made(DemandRegion::zero(first, 64 * page));
  auto* const words = region.as<std::uint64_t>();
  // The second was not prepared, and yet its kernels may come by the address.
  launch(*second, 1, 16, [&] { words[item_rank() * words_a_page] += 1; });
  second.reset();
  launch(first, 1, 32, [&] { words[item_rank() * words_a_page] += 1; });
  EXPECT_EQ(words[15 * words_a_page], 2u);
  EXPECT_EQ(words[16 * words_a_page], 1u);
  EXPECT_EQ(requests(first), 16u);
}

TEST_P(Faults, a_region_that_was_destroyed_while_a_kernel_runs_is_an_error_with_its_name) {
  Runtime runtime = start();
  std::optional<DemandRegion> region =
      made(DemandRegion::zero(runtime, 4 * page, {.name = "short-lived"}));
  auto* const words = region->as<std::uint64_t>();
  std::uint32_t begun = 0;
  std::uint32_t gone = 0;
  std::thread destroyer([&] {
    while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) == 0) std::this_thread::yield();
    region.reset();
    __atomic_store_n(&gone, 1u, __ATOMIC_RELEASE);
  });
  const Result<LaunchReport> report = runtime.launch({1, 4}, [&] {
    words[item_rank()] = 1;
    __atomic_store_n(&begun, 1u, __ATOMIC_RELEASE);
    while (__atomic_load_n(&gone, __ATOMIC_ACQUIRE) == 0) k2k::yield();
    words[item_rank() * words_a_page] = 2;
  });
  destroyer.join();
  const std::string text = failure_of(report);
  EXPECT_NE(text.find("demand region 'short-lived'"), std::string::npos) << text;
  EXPECT_NE(text.find("the region was destroyed"), std::string::npos) << text;
  // Nothing is left of it: the place is free for others.
  for (int round = 0; round < 100; ++round) {
    const DemandRegion next = made(DemandRegion::zero(runtime, page));
    next.as<char>()[0] = 1;
  }
}

TEST_P(Faults, impossible_regions_are_refused_by_name) {
  Runtime runtime = start();
  const auto text = [](const Result<DemandRegion>& region) {
    return region.ok() ? "" : region.error().message;
  };
  EXPECT_EQ(
      text(DemandRegion::zero(runtime, 0)),
      "demand region 'region': 0 bytes; a region has whole pages of 4096 bytes, at least one");
  EXPECT_EQ(
      text(DemandRegion::zero(runtime, 5000, {.name = "grid"})),
      "demand region 'grid': 5000 bytes; a region has whole pages of 4096 bytes, at least one");
  EXPECT_EQ(text(DemandRegion::copy_of(runtime, nullptr, page)),
            "demand region 'region': no memory to copy from (a null pointer)");
  EXPECT_EQ(text(DemandRegion::file(runtime, 0, -1, page)),
            "demand region 'region': the offset in the file is -1; it must be at least 0");
  EXPECT_EQ(text(DemandRegion::file(runtime, -1, 0, page)),
            "demand region 'region': descriptor -1 cannot be used: Bad file descriptor");
  const auto huge = DemandRegion::zero(runtime, std::size_t{1} << 60);
  ASSERT_FALSE(huge.ok());
  EXPECT_EQ(huge.error().code, ENOMEM);
  std::vector<DemandRegion> many;
  Result<DemandRegion> next = DemandRegion::zero(runtime, page);
  for (; next; next = DemandRegion::zero(runtime, page)) many.push_back(std::move(next).value());
  EXPECT_EQ(many.size(), 64u);
  EXPECT_EQ(next.error().code, ENOSPC);
  EXPECT_NE(text(next).find("there are 64 regions already"), std::string::npos) << text(next);
}

TEST_P(Faults, small_stacks_are_refused) {
  Runtime runtime = start([](RuntimeConfig& config) { config.device.stack_bytes = 16384; });
  const auto region = DemandRegion::zero(runtime, page);
  ASSERT_FALSE(region.ok());
  EXPECT_EQ(region.error().code, EINVAL);
  EXPECT_NE(region.error().message.find("device.stack_bytes is 16384; a work-item that touches a "
                                        "demand-paged region needs "),
            std::string::npos)
      << region.error().message;
}

// --- What is not ours.

// A page of a file that ends before it: a touch is SIGBUS.
struct BeyondFile {
  BeyondFile() {
    memory =
        static_cast<char*>(::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0));
  }
  ~BeyondFile() { ::munmap(memory, page); }
  BeyondFile(const BeyondFile&) = delete;
  BeyondFile& operator=(const BeyondFile&) = delete;
  TemporaryFile file;
  char* memory;
};

std::atomic<int> foreign_faults{0};
void mend(int, siginfo_t* info, void*) {
  ++foreign_faults;
  void* const at =
      reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(info->si_addr) / page * page);
  ::mmap(at, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

TEST_P(Faults, outside_of_every_region_are_the_previous_handlers) {
  struct sigaction ours{};
  ours.sa_sigaction = &mend;
  ours.sa_flags = SA_SIGINFO;
  struct sigaction before{};
  ASSERT_EQ(::sigaction(SIGBUS, &ours, &before), 0);
  foreign_faults = 0;
  {
    Runtime runtime = start();
    const DemandRegion region = made(DemandRegion::zero(runtime, page));
    const BeyondFile here;
    const BeyondFile there;
    *here.memory = 1;
    EXPECT_EQ(foreign_faults.load(), 1);
    launch(runtime, 1, 2, [&] {
      if (item_rank() == 0) *there.memory = 1;
      if (item_rank() == 1) *region.as<char>() = 1;
    });
    EXPECT_EQ(foreign_faults.load(), 2);
    EXPECT_EQ(requests(runtime), 1u);
  }
  struct sigaction after{};
  ASSERT_EQ(::sigaction(SIGBUS, &before, &after), 0);
  EXPECT_EQ(after.sa_sigaction, &mend);  // With the last region our handler went.
}

TEST_P(Faults, outside_of_every_region_end_the_process_where_nobody_handles_them) {
  const int status = status_of_child([] {
    Runtime runtime = std::move(Runtime::create(config_of(GetParam())).value());
    const auto region = DemandRegion::zero(runtime, page);
    const BeyondFile file;
    static_cast<void>(runtime.launch({1, 1}, [&] { *file.memory = 1; }));
  });
#if defined(__SANITIZE_ADDRESS__) || defined(K2K_TSAN)
  EXPECT_NE(status, 0);  // The sanitizer's own handler reports it.
#else
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS) << status;
#endif
}

TEST_P(Faults, that_cannot_be_had_from_this_system_are_refused_with_the_setting) {
  const int status = status_of_child([] {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_userfaultfd, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{4, program};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
      ::_exit(77);
    }
    Runtime runtime = std::move(Runtime::create(config_of(GetParam())).value());
    const auto region = DemandRegion::zero(runtime, page);
    const bool told =
        !region.ok() && region.error().code == EPERM &&
        region.error().message ==
            "demand region 'region': userfaultfd is refused (Operation not permitted), on which "
            "demand-paged regions stand; set vm.unprivileged_userfaultfd = 1 with sysctl, or allow "
            "the system call in the container's seccomp profile";
    ::_exit(told ? 0 : 1);
  });
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "no seccomp filters here";
  EXPECT_EQ(status, 0);
}

TEST_P(Faults, show_in_the_statistics_with_the_parts_of_their_time) {
  Runtime runtime = start();
  const DemandRegion region = made(DemandRegion::zero(runtime, 16 * page));
  launch(runtime, 1, 16, [&] { region.as<char>()[item_rank() * page] = 1; });
  const server::Stats stats = runtime.stats();
  EXPECT_EQ(stats.faults.count(), 16u);
  EXPECT_GE(stats.fault_ranges, 1u);
  EXPECT_LE(stats.fault_ranges, 16u);
  const auto& sums = stats.faults.sum_cycles;
  EXPECT_GT(sums[2], 0u);
  EXPECT_LE(sums[0] + sums[1] + sums[2] + sums[3], sums[4] + sums[4] / 10 + 16 * 10'000);
}

}  // namespace
}  // namespace k2k::conformance
