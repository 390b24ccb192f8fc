#include "base/found_once.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace k2k {
namespace {

TEST(FoundOnce, is_searched_until_it_is_found) {
  FoundOnce<std::string> name;
  EXPECT_EQ(name.known(), nullptr);
  EXPECT_EQ(name.get([] { return std::string("first"); }), "first");
  EXPECT_EQ(name.get([] { return std::string("second"); }), "first");
  ASSERT_NE(name.known(), nullptr);
  EXPECT_EQ(*name.known(), "first");
  delete name.known();
}

TEST(FoundOnce, is_the_same_for_threads_that_search_at_once) {
  FoundOnce<int> number;
  std::atomic<int> next{0};
  std::vector<const int*> seen(8);
  std::vector<std::thread> threads;
  for (std::size_t index = 0; index < seen.size(); ++index) {
    threads.emplace_back([&, index] { seen[index] = &number.get([&] { return ++next; }); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int* const each : seen) EXPECT_EQ(each, number.known());
  delete number.known();
}

}  // namespace
}  // namespace k2k
