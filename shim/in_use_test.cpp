#include "shim/in_use.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/ranges.hpp"
#include "k2k/io.h"

namespace k2k::shim {
namespace {

TEST(InUse, contains_the_memory_of_calls_until_they_end) {
  const auto in_use = std::make_unique<InUse>();
  EXPECT_FALSE(in_use->uses(0, UINTPTR_MAX));
  {
    const Using one(*in_use, 1000, 2000);
    const Using other(*in_use, 5000, 5001);
    EXPECT_TRUE(in_use->uses(1999, 3000));
    EXPECT_TRUE(in_use->uses(0, 1001));
    EXPECT_TRUE(in_use->uses(4000, 6000));
    EXPECT_FALSE(in_use->uses(2000, 5000));
    EXPECT_FALSE(in_use->uses(0, 1000));
  }
  EXPECT_FALSE(in_use->uses(0, UINTPTR_MAX));
}

TEST(InUse, a_call_too_many_is_not_waited_for) {
  const auto in_use = std::make_unique<InUse>();
  std::vector<std::size_t> slots;
  for (std::size_t at = 0; at < InUse::calls_max; ++at) slots.push_back(in_use->enter(10, 20));
  EXPECT_EQ(in_use->enter(30, 40), InUse::calls_max);
  in_use->leave(InUse::calls_max);
  EXPECT_FALSE(in_use->uses(30, 40));
  in_use->leave(slots[5]);
  EXPECT_EQ(in_use->enter(30, 40), slots[5]);
  in_use->clear();
  EXPECT_FALSE(in_use->uses(0, UINTPTR_MAX));
}

// Each freer takes the range back, waits, and "frees"; callers must never see freed memory.
TEST(InUse, no_call_that_saw_its_range_sees_it_freed) {
  const auto in_use = std::make_unique<InUse>();
  const auto ranges = std::make_unique<Ranges>();
  void* const memory = reinterpret_cast<void*>(4096);
  std::atomic<bool> is_freed = true;
  std::atomic<bool> is_over = false;
  std::atomic<int> wrong = 0;
  std::atomic<int> used = 0;
  std::vector<std::thread> callers;
  for (int number = 0; number < 3; ++number) {
    callers.emplace_back([&] {
      while (!is_over) {
        std::this_thread::sleep_for(std::chrono::microseconds(1));
        const Using call(*in_use, 4096, 8192);
        if (ranges->kind_of(memory, 100) != k2k_io_cuda) continue;
        for (int look = 0; look < 20; ++look) wrong += is_freed ? 1 : 0;
        ++used;
      }
    });
  }
  for (int round = 0; round < 50 || used < 100; ++round) {
    is_freed = false;
    ASSERT_EQ(ranges->add(memory, 4096, k2k_io_cuda), 0);
    std::this_thread::yield();
    ASSERT_EQ(ranges->remove(memory), 0);
    while (in_use->uses(4096, 8192)) {
    }
    is_freed = true;
  }
  is_over = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace k2k::shim
