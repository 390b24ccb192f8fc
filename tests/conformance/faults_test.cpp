// Goal: device code may touch missing pages: it then sees the right data, and only the faulting
// work-item waits.

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <optional>
#include <thread>

#include "tests/conformance/faults_fixture.hpp"

namespace k2k::conformance::faults_test {
namespace {

using namespace std::chrono_literals;

K2K_EVERY_DEVICE(Faults);

TEST_P(Faults, untouched_pages_read_as_zero_and_keep_writes) {
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

TEST_P(Faults, of_a_wave_on_one_page_are_one_request) {
  Runtime runtime = start();
  constexpr std::size_t pages = 8;
  const std::uint32_t lanes = runtime.device().wave_lanes;
  const DemandRegion region = made(DemandRegion::zero(runtime, pages * page));
  auto* const words = region.as<std::uint64_t>();
  launch(runtime, 1, lanes, [&] {
    for (std::size_t at = 0; at < pages; ++at) words[at * words_a_page + item_rank()] += 3;
  });
  for (std::uint32_t item = 0; item < pages * lanes; ++item) {
    ASSERT_EQ(words[item / lanes * words_a_page + item % lanes], 3u) << item;
  }
  EXPECT_EQ(requests(runtime), pages);  // pages x lanes touches.
}

TEST_P(Faults, of_a_wave_wait_together_for_a_page_that_comes_late) {
  StuckMemory memory(1);
  if (!memory.ok()) GTEST_SKIP() << StuckMemory::needs;
  Runtime runtime = start([](RuntimeConfig& config) { config.device.compute_units = 1; });
  const std::uint32_t lanes = runtime.device().wave_lanes;
  const DemandRegion region = made(DemandRegion::copy_of(runtime, memory.data(), memory.bytes()));
  const auto* const bytes = region.as<const char>();
  std::uint32_t free = 0;
  std::vector<char> seen(lanes);
  std::thread fetcher([&] {
    // The page comes once the wave's neighbour on this unit has run beside all the waiting lanes.
    while (!memory.awaited() || __atomic_load_n(&free, __ATOMIC_ACQUIRE) == 0) {
      std::this_thread::sleep_for(100us);
    }
    memory.release('w');
  });
  launch(runtime, 1, lanes + 1, [&] {
    if (item_rank() < lanes) {
      seen[item_rank()] = bytes[item_rank()];
    } else {
      __atomic_store_n(&free, 1u, __ATOMIC_RELEASE);
    }
  });
  fetcher.join();
  EXPECT_EQ(seen, std::vector<char>(lanes, 'w'));
  EXPECT_EQ(requests(runtime), 1u);
}

TEST_P(Faults, of_a_wave_on_a_page_that_cannot_be_filled_end_the_launch_once) {
  Runtime runtime = start();
  const std::uint32_t lanes = runtime.device().wave_lanes;
  const TemporaryFile file(std::string(page, 'x'));
  const DemandRegion region = made(DemandRegion::file(runtime, file.fd, 0, 2 * page));
  const char* const bytes = region.as<const char>();
  std::vector<char> seen(lanes);
  for (int round = 0; round < 3; ++round) {  // A launch that failed leaves nothing to wait for.
    const std::string text = failure_of(runtime.launch(
        {1, lanes}, [&] { seen[item_rank()] = bytes[page + item_rank()]; }, "reader"));
    EXPECT_NE(text.find("the file ends before this page"), std::string::npos) << text;
    launch(runtime, 1, lanes, [&] { seen[item_rank()] = bytes[item_rank()]; });
    EXPECT_EQ(seen, std::vector<char>(lanes, 'x'));
  }
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

// One unit, hence one OS thread: if that thread waited, no thread could release the page.
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

TEST_P(Faults, a_query_waits_for_the_page_that_its_answer_goes_to) {
  StuckMemory memory(1);
  if (!memory.ok()) GTEST_SKIP() << StuckMemory::needs;
  Runtime runtime = start();
  const DemandRegion region = made(DemandRegion::copy_of(runtime, memory.data(), memory.bytes()));
  auto* const time = region.as<timespec>();
  std::thread fetcher([&] {
    while (!memory.awaited()) std::this_thread::sleep_for(100us);
    memory.release('q');
  });
  timespec before{};
  ::clock_gettime(CLOCK_REALTIME, &before);
  std::atomic<long> answer{-1};
  launch(runtime, 1, 1, [&] { answer = k2k::clock_gettime(k2k::work_item, CLOCK_REALTIME, time); });
  fetcher.join();
  EXPECT_EQ(answer.load(), 0);
  EXPECT_GE(time->tv_sec, before.tv_sec);
  EXPECT_LE(time->tv_sec, before.tv_sec + 3600) << "the call was made, not only answered";
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

TEST_P(Faults, a_stuck_page_delays_no_other_page) {
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
class FaultsOfAStuckPool : public Faults {
 protected:
  void are_served(const std::function<void(RuntimeConfig&)>& adjust);
};

void FaultsOfAStuckPool::are_served(const std::function<void(RuntimeConfig&)>& adjust) {
  constexpr std::uint32_t stuck = 6;
  constexpr std::uint32_t others = 8;
  Runtime runtime = start([&](RuntimeConfig& config) {
    config.server.threads_max = threads_least();
    config.server.takeover_us = 200;
    adjust(config);
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
      if (fd >= 0 && k2k::close(k2k::work_item, fd) == 0) ++opened;
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

TEST_P(FaultsOfAStuckPool, are_served) {
  are_served([](RuntimeConfig&) {});
}
TEST_P(FaultsOfAStuckPool, are_served_behind_split_halves) {
  are_served(
      [](RuntimeConfig& config) { config.server.bottom_half = server::BottomHalfMode::split; });
}
TEST_P(FaultsOfAStuckPool, are_served_behind_split_halves_with_budgets_of_tenants) {
  are_served([](RuntimeConfig& config) {
    config.server.bottom_half = server::BottomHalfMode::split;
    config.server.cap_permille = 900;
    config.server.tenants = "1:weight=2";
  });
}
TEST_P(FaultsOfAStuckPool, are_served_behind_a_stage_with_budgets_of_tenants) {
  are_served([](RuntimeConfig& config) {
    config.server.bottom_half = server::BottomHalfMode::staged;
    config.server.threads_max = 4;
    config.server.cap_permille = 900;
    config.server.tenants = "1:weight=2";
  });
}
K2K_EVERY_DEVICE(FaultsOfAStuckPool);

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

}  // namespace
}  // namespace k2k::conformance::faults_test
