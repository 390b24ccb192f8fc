// Goal: while calls keep every thread of the pool, the guard answers requests that need no thread,
// and queues the others.
// Method: the pool has no thread at all.

#include "server/core/guard.hpp"

#include <gtest/gtest.h>

#include <span>
#include <thread>

#include "server/core/core_parts_fixture.hpp"

namespace k2k::server {
namespace {

using protocol::SlotState;
using Task = ThreadPool::Task;

class GuardTest : public CoreTest {
 protected:
  GuardTest() {
    configure();
    guarding = std::thread([this] { parts->guard.run(self); });
  }
  ~GuardTest() override { end(); }
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
  ASSERT_TRUE(finishes(1, 0));
  EXPECT_EQ(answer(1, 0), 7);
}

TEST_F(GuardTest, accepts_other_calls_for_the_pool) {
  publish(1, 0, __NR_write, pipe[1], "a", 1);
  publish(1, 1, calls::nop_number);
  parts->backend.plain.ring(1, 0b11);
  ASSERT_TRUE(finishes(1, 1)) << "of the same bundle";
  EXPECT_EQ(state(1, 0), SlotState::processing);
  end();  // Remaining work is taken first.
  const ThreadPool::Work work = parts->pool.next_work(worker);
  ASSERT_EQ(work.task, Task::call);
  EXPECT_EQ(work.call.request.lane, 0);
}

}  // namespace
}  // namespace k2k::server
