// Goal: while calls keep every thread of the pool, the guard answers requests that need no thread,
// and queues the others.
// Method: the pool has no thread at all.

#include "server/core/guard.hpp"

#include <gtest/gtest.h>

#include <span>
#include <thread>
#include <vector>

#include "server/core/core_parts_fixture.hpp"

namespace k2k::server {
namespace {

using protocol::SlotState;
using Task = ThreadPool::Task;

class GuardTest : public CoreTest {
 protected:
  explicit GuardTest(const ServerConfig& config = {}) {
    parts->config = config;
    K2K_EXPECT(parts->admission.configure(config).ok());
    if (config.bottom_half == BottomHalfMode::split) {
      hold_role();
    } else {
      configure();
    }
  }
  ~GuardTest() override { end(); }
  void begin() {
    guarding = std::thread([this] { parts->guard.run(self); });
  }
  void end() {
    parts->pool.stop();
    if (guarding.joinable()) guarding.join();
  }

  ServiceThread& worker = parts->threads.add_unit();
  std::thread guarding;
};

TEST_F(GuardTest, answers_what_never_blocks) {
  publish(1, 0, calls::nop_number);
  parts->backend.plain.ring(1, 0b1);
  begin();
  EXPECT_TRUE(finishes(1, 0));
}

TEST_F(GuardTest, answers_page_faults_that_need_no_disk) {
  fake_resolution = [](std::span<services::Fault> faults, backend::Reading how) {
    EXPECT_EQ(how, backend::Reading::cached_only);
    for (services::Fault& fault : faults) fault.answer = {.value = 7};
    return faults.size();
  };
  publish(1, 0, calls::fault_in_number);
  parts->backend.plain.ring(1, 0b1);
  begin();
  ASSERT_TRUE(finishes(1, 0));
  EXPECT_EQ(answer(1, 0), 7);
}

TEST_F(GuardTest, accepts_other_calls_for_the_pool) {
  publish(1, 0, __NR_write, pipe[1], "a", 1);
  publish(1, 1, calls::nop_number);
  parts->backend.plain.ring(1, 0b11);
  begin();
  ASSERT_TRUE(finishes(1, 1)) << "of the same bundle";
  EXPECT_EQ(state(1, 0), SlotState::processing);
  end();  // Remaining work is taken first.
  const ThreadPool::Work work = parts->pool.next_work(worker);
  ASSERT_EQ(work.task, Task::call);
  EXPECT_EQ(work.call.request.lane, 0);
}

// --- Split halves: the test holds the role, so bundles wait for a thread of the pool.

class GuardOfSplitHalvesTest : public GuardTest {
 protected:
  explicit GuardOfSplitHalvesTest(const char* tenants = "") : GuardTest(split_with(tenants)) {
    fake_resolution = [](std::span<services::Fault> faults, backend::Reading) {
      for (services::Fault& fault : faults) fault.answer = {.value = 7};
      return faults.size();
    };
  }
  void hand_out_each_kind() {
    publish(1, 0, __NR_write, pipe[1], "a", 1);
    publish(1, 1, calls::nop_number);
    publish(1, 2, calls::fault_in_number);
    parts->split_service.hand_out(worker, {{1, 0b111}});
  }

 private:
  static ServerConfig split_with(const char* tenants) {
    ServerConfig config;
    config.bottom_half = BottomHalfMode::split;
    config.tenants = tenants;
    if (!config.tenants.empty()) config.cap_permille = 900;
    return config;
  }
};

class GuardOfTenantsTest : public GuardOfSplitHalvesTest {
 protected:
  GuardOfTenantsTest() : GuardOfSplitHalvesTest("1:weight=2") {}
};

TEST_F(GuardOfSplitHalvesTest, accepts_bundles_and_leaves_attempts_to_the_pool) {
  hand_out_each_kind();
  begin();
  EXPECT_TRUE(finishes(1, 1));
  ASSERT_TRUE(finishes(1, 2));
  EXPECT_EQ(answer(1, 2), 7);
  EXPECT_EQ(state(1, 0), SlotState::processing);
  end();
  EXPECT_EQ(parts->pool.next_work(worker).task, Task::attempt);
}

TEST_F(GuardOfTenantsTest, answers_what_needs_no_worker_whatever_the_budgets) {
  hand_out_each_kind();
  begin();
  EXPECT_TRUE(finishes(1, 1));
  ASSERT_TRUE(finishes(1, 2));
  EXPECT_EQ(answer(1, 2), 7);
  EXPECT_EQ(state(1, 0), SlotState::processing);
}

// A worker accepted the bundle and got stuck in its first attempt.
TEST_F(GuardOfTenantsTest, answers_what_needs_no_worker_among_the_attempts) {
  parts->split.add({});
  Bundle bundle;
  ASSERT_TRUE(parts->split.take_bundle(bundle));
  std::vector<Pending> accepted(3);
  accepted[0].request = parts->accept(0, __NR_write, pipe[1], "a", 1);
  accepted[1].request = parts->accept(1, calls::nop_number);
  accepted[2].request = parts->accept(2, calls::fault_in_number);
  parts->split.accept(accepted);
  begin();
  EXPECT_TRUE(finishes(1, 1));
  ASSERT_TRUE(finishes(1, 2));
  EXPECT_EQ(answer(1, 2), 7);
  EXPECT_EQ(state(1, 0), SlotState::processing);
}

}  // namespace
}  // namespace k2k::server
