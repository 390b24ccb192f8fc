#include "backend/cpu/simt/attention.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "base/asymmetric_barrier.hpp"
#include "base/clock.hpp"

namespace k2k::backend::cpu {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t first_row = 100;

class AttentionTest : public testing::Test {
 protected:
  AttentionTest() {
    register_asymmetric_barrier();
    EXPECT_TRUE(attention.usable());
  }

  Attention attention{first_row, 70};
};

TEST_F(AttentionTest, WithoutHaltedWorkItemsNoRowIsPosted) {
  EXPECT_FALSE(attention.resume_row(first_row));
  EXPECT_FALSE(attention.posted());
}

TEST_F(AttentionTest, ARowIsPostedOnceHaltingIsAnnounced) {
  attention.announce_halting();
  EXPECT_FALSE(attention.resume_row(first_row + 3));
  EXPECT_FALSE(attention.resume_row(first_row + 69));
  EXPECT_TRUE(attention.posted());
  EXPECT_TRUE(attention.take_posted());
  EXPECT_EQ(attention.take_rows(0), std::uint64_t{1} << 3);
  EXPECT_EQ(attention.take_rows(1), std::uint64_t{1} << 5);
}

TEST_F(AttentionTest, ATakenRowIsGone) {
  attention.announce_halting();
  EXPECT_FALSE(attention.resume_row(first_row));
  attention.resume_foreign();
  EXPECT_TRUE(attention.take_posted());
  EXPECT_EQ(attention.take_rows(0), 1u);
  EXPECT_TRUE(attention.take_foreign());
  EXPECT_FALSE(attention.take_posted());
  EXPECT_EQ(attention.take_rows(0), 0u);
  EXPECT_FALSE(attention.take_foreign());
}

TEST_F(AttentionTest, TheNextLaunchAnnouncesHaltingAnew) {
  attention.announce_halting();
  attention.begin_launch();
  EXPECT_FALSE(attention.resume_row(first_row));
  EXPECT_FALSE(attention.posted());
}

TEST_F(AttentionTest, OtherUnitsAreToldWhileOneOfTheirWorkItemsWaitsHere) {
  attention.foreigner_comes();
  attention.foreigner_comes();
  attention.foreigner_goes();
  EXPECT_TRUE(attention.resume_row(first_row));
  attention.foreigner_goes();
  EXPECT_FALSE(attention.resume_row(first_row));
}

TEST_F(AttentionTest, AWakeBeforeTheSleepEndsIt) {
  const Instant begin = now();
  attention.begin_sleep();
  attention.wake();
  attention.sleep(60s);
  attention.end_sleep();
  EXPECT_LT(now() - begin, 30s);
}

TEST_F(AttentionTest, ACompletedRowEndsASleep) {
  attention.begin_sleep();
  std::thread server([&] {
    std::this_thread::sleep_for(10ms);
    EXPECT_FALSE(attention.resume_row(first_row));
  });
  const Instant begin = now();
  attention.sleep(60s);
  EXPECT_LT(now() - begin, 30s);
  attention.end_sleep();
  server.join();
}

TEST_F(AttentionTest, ASleepWithoutAWakeEndsInTime) {
  attention.begin_sleep();
  attention.sleep(1ms);
  attention.end_sleep();
  EXPECT_FALSE(attention.posted());
}

}  // namespace
}  // namespace k2k::backend::cpu
