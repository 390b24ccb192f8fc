// Goal: what the machine's files count is read, and a visit to all cores leaves nothing behind.

#include "labs/interference/harm/machine.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace k2k::labs::harm {
namespace {

TEST(HarmMachine, counts_idle_stolen_and_interrupts) {
  const Counters counters = counters_of("cpu  100 0 50 800 50 0 0 25 0 0\ncpu0 1 2 3\n",
                                        "           CPU0 CPU1\n 24: 5 5 x\nRES: 10 20 text\n"
                                        "CAL: 1 2 Function call interrupts\nLOC: 9 9\n");
  const double tick = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  EXPECT_NEAR(counters.busy_s, 150 * tick, 1e-9);
  EXPECT_NEAR(counters.idle_s, 850 * tick, 1e-9);
  EXPECT_NEAR(counters.stolen_s, 25 * tick, 1e-9);
  EXPECT_EQ(counters.interrupts, 33);
  EXPECT_EQ(counters_of("", "").interrupts, 0);
  EXPECT_GT(machine()["cores"].get<int>(), 0);
}

TEST(HarmMachine, adds_the_sleep_of_all_cores_without_polling) {
  const std::string root = testing::TempDir() + "k2k_cores_" + std::to_string(::getpid());
  const auto put = [&](int core, int state, const char* name, const char* time) {
    const std::string folder =
        root + "/cpu" + std::to_string(core) + "/cpuidle/state" + std::to_string(state);
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/name") << name << "\n";
    std::ofstream(folder + "/time") << time << "\n";
  };
  EXPECT_EQ(idle_seconds(root).asleep, -1) << "no core shows a state";
  put(0, 0, "POLL", "9000000");
  EXPECT_EQ(idle_seconds(root).asleep, -1) << "polling is no sleep";
  put(0, 1, "C1", "1000000");
  put(0, 2, "C6", "2000000");
  put(1, 1, "C1", "500000");
  EXPECT_DOUBLE_EQ(idle_seconds(root).asleep, 3.5);
  put(13, 1, "C1", "250000");
  EXPECT_DOUBLE_EQ(idle_seconds(root).asleep, 3.75) << "cores between are missing";
  EXPECT_DOUBLE_EQ(idle_seconds(root).polling, 9);
  EXPECT_EQ(idle_seconds(root + "/cpu9").polling, -1);
  std::filesystem::remove_all(root);
}

TEST(HarmMachine, visits_cores_and_returns_to_where_it_may_run) {
  cpu_set_t before;
  cpu_set_t after;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
  visit_cores();
  ASSERT_EQ(::sched_getaffinity(0, sizeof(after), &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

}  // namespace
}  // namespace k2k::labs::harm
