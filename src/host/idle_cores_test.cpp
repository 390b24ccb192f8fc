// Goal: more running or waiting threads than cores, without the thread that looks, is "all busy";
// an unreadable or unknown file is an error at first and "all busy" later.

#include "host/idle_cores.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "host/proc_fixture.hpp"

namespace k2k::host {
namespace {

using namespace std::chrono_literals;

TEST(RunnableOf, is_the_number_before_the_slash) {
  EXPECT_EQ(runnable_of("0.20 0.18 0.12 3/80 11206\n"), 3u);
  EXPECT_EQ(runnable_of("10.00 8.00 0.12 65536/99999 11206\n"), 65536u);
}

TEST(RunnableOf, is_nothing_in_other_lines) {
  for (const char* text :
       {"", "\n", "0.20", "0.20 0.18 0.12", "0.20 0.18 0.12 ", "0.20 0.18 0.12 3", "3/80",
        "0.20 0.18 0.12 -1/80 5", "0.20 0.18 0.12 x/80 5", "0.20 0.18 0.12 3 80 5",
        "0.20 0.18 0.12  3/80 5", "0.20 0.18 0.12 99999999999/80 5", "   3/80 5"}) {
    EXPECT_FALSE(runnable_of(text).has_value()) << text;
  }
}

TEST(IdleCores, are_there_while_no_thread_waits) {
  const PlantedProc proc;
  proc.plant("loadavg", "0.00 0.00 0.00 5/80 1\n");
  const auto cores = IdleCores::open(4, 4, proc.path());
  ASSERT_TRUE(cores.ok()) << cores.error().message;
  EXPECT_FALSE(cores->all_busy(1)) << "one core for each of the four beside the thread that looks";
  EXPECT_TRUE(cores->all_busy(0)) << "no core is left for a thread that would serve";
  proc.plant("loadavg", "0.00 0.00 0.00 6/80 1\n");
  EXPECT_TRUE(cores->all_busy(1));
  EXPECT_TRUE(cores->all_busy(3));
  proc.plant("loadavg", "0.00 0.00 0.00 4/80 1\n");
  EXPECT_FALSE(cores->all_busy(0));
}

TEST(IdleCores, are_none_when_the_file_is_spoilt) {
  const PlantedProc proc;
  proc.plant("loadavg", "0.00 0.00 0.00 1/80 1\n");
  const auto cores = IdleCores::open(4, 4, proc.path());
  ASSERT_TRUE(cores.ok());
  EXPECT_FALSE(cores->all_busy(1));
  proc.plant("loadavg", "what?");
  EXPECT_TRUE(cores->all_busy(1));
  proc.plant("loadavg", "");
  EXPECT_TRUE(cores->all_busy(1));
  proc.plant("loadavg", "0.00 0.00 0.00 1/80 1\n");
  EXPECT_FALSE(cores->all_busy(1));
}

TEST(IdleCores, without_their_file_are_an_error_with_the_reason) {
  const PlantedProc proc;
  const auto missing = IdleCores::open(4, 4, proc.path());
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ENOENT);
  EXPECT_EQ(missing.error().message,
            "cannot open " + proc.path() + "/loadavg: No such file or directory");

  proc.plant("loadavg", "nonsense\nand more");
  const auto spoilt = IdleCores::open(4, 4, proc.path());
  ASSERT_FALSE(spoilt.ok());
  EXPECT_EQ(spoilt.error().code, EBADMSG);
  EXPECT_EQ(spoilt.error().message, proc.path() +
                                        "/loadavg is 'nonsense', which is no line of load averages "
                                        "and running threads, such as '0.20 0.18 0.12 3/80 11206'");

  proc.plant("loadavg", "");
  EXPECT_EQ(IdleCores::open(4, 4, proc.path()).error().code, ENODATA);

  const auto part = IdleCores::open(2, 8, proc.path());
  ASSERT_FALSE(part.ok());
  EXPECT_EQ(part.error().code, ENOTSUP);
  EXPECT_EQ(
      part.error().message,
      "this process may use 2 of 8 cores, and which of them are idle cannot be seen; lift the "
      "restriction (taskset -p, cpuset)");
}

// The real file: as many busy threads as there are cores, and one more.
TEST(IdleCores, are_missed_by_a_thread_too_many) {
  const auto online = static_cast<std::uint32_t>(std::thread::hardware_concurrency());
  const auto cores = IdleCores::open(online, online);
  ASSERT_TRUE(cores.ok()) << cores.error().message;
  std::atomic<bool> stop{false};
  std::vector<std::thread> busy;
  for (std::uint32_t thread = 0; thread < online + 1; ++thread) {
    busy.emplace_back([&] {
      while (!stop) {
      }
    });
  }
  bool all_busy = false;
  for (int look = 0; look < 2000 && !all_busy; ++look) {
    std::this_thread::sleep_for(1ms);
    all_busy = cores->all_busy(1);
  }
  stop = true;
  for (std::thread& thread : busy) thread.join();
  EXPECT_TRUE(all_busy);
}

}  // namespace
}  // namespace k2k::host
