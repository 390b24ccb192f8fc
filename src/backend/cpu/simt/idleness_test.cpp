#include "backend/cpu/simt/idleness.hpp"

#include <gtest/gtest.h>

namespace k2k::backend::cpu {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t ages = std::uint64_t{1} << 60;  // Cycles.

class IdlenessTest : public testing::Test {
 protected:
  IdlenessTest() {
    plan.spin_cycles = ages;
    idleness.begin_launch();
  }

  UnitPlan plan;
  Idleness idleness{plan};
};

TEST_F(IdlenessTest, SpinsUntilTheTimeIsUp) {
  idleness.begin();
  EXPECT_TRUE(idleness.spins());
  plan.spin_cycles = 0;
  EXPECT_FALSE(idleness.spins());
}

TEST_F(IdlenessTest, IsEarlyInTheFirstQuarter) {
  idleness.begin_at(cycles() - ages / 8);
  EXPECT_TRUE(idleness.is_early());
  idleness.begin_at(cycles() - ages / 2);
  EXPECT_FALSE(idleness.is_early());
  EXPECT_TRUE(idleness.spins());
}

TEST_F(IdlenessTest, GoesOnFromWhereItBegan) {
  idleness.begin_at(cycles() - ages / 2);
  idleness.begin();
  EXPECT_FALSE(idleness.is_early());
  idleness.restart();
  EXPECT_TRUE(idleness.is_early());
}

TEST_F(IdlenessTest, BeginsAnewAfterWork) {
  idleness.begin_at(cycles() - ages / 2);
  idleness.end();
  idleness.begin();
  EXPECT_TRUE(idleness.is_early());
}

TEST_F(IdlenessTest, NapsDoubleUpToAMaximum) {
  EXPECT_EQ(idleness.nap(), 1ms);
  idleness.lengthen_nap();
  EXPECT_EQ(idleness.nap(), 2ms);
  for (int nap = 0; nap < 10; ++nap) idleness.lengthen_nap();
  EXPECT_EQ(idleness.nap(), 16ms);
}

TEST_F(IdlenessTest, NapsAreShortAgainAfterWork) {
  idleness.begin();
  idleness.lengthen_nap();
  idleness.begin();
  EXPECT_EQ(idleness.nap(), 2ms) << "the idle time goes on";
  idleness.end();
  idleness.begin();
  EXPECT_EQ(idleness.nap(), 1ms);
}

TEST_F(IdlenessTest, TellsWhereItLastWaited) {
  EXPECT_EQ(idleness.cpu(), -1);
  EXPECT_FALSE(idleness.is_beside_server(false));
  EXPECT_GE(idleness.cpu(), 0);
}

TEST_F(IdlenessTest, AUnitThatServesIsNeverBesideTheServer) {
  // A thread may move to another CPU between two checks.
  for (int tries = 0; tries < 1'000; ++tries) {
    plan.server_cpu.store(sched_getcpu());
    ASSERT_FALSE(idleness.is_beside_server(true));
    if (idleness.is_beside_server(false)) return;
  }
  FAIL() << "the unit never noticed a server on its own CPU";
}

}  // namespace
}  // namespace k2k::backend::cpu
