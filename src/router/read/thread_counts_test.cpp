#include "router/read/thread_counts.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace k2k::router {
namespace {

TEST(ThreadCounts, loses_nothing_with_any_number_of_threads) {
  constexpr std::uint64_t threads = 2 * ThreadCounts::shared;
  constexpr std::uint64_t reads = 2'000;
  ThreadCounts counts;
  ThreadCounts others;
  std::vector<std::thread> running;
  for (std::uint64_t thread = 0; thread < threads; ++thread) {
    running.emplace_back([&] {
      for (std::uint64_t read = 0; read < reads; ++read) counts.add(3);
      others.add(1);
    });
  }
  for (std::thread& thread : running) thread.join();
  EXPECT_EQ(counts.reads(), threads * reads);
  EXPECT_EQ(counts.bytes(), threads * reads * 3);
  EXPECT_EQ(others.reads(), threads);
}

}  // namespace
}  // namespace k2k::router
