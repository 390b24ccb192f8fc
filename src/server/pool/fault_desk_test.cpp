// Goal: faults in memory are answered at once, the others by threads that may block.
// Method: a fake resolution. The first argument of a fault says whether its page is in memory.

#include "server/pool/fault_desk.hpp"

#include <asm/unistd.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "server/pool/server_parts_fixture.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;
using protocol::SlotState;
using protocol::TransportError;

constexpr std::uint64_t in_memory = 0;
constexpr std::uint64_t on_disk = 1;
constexpr std::uint64_t never_readable = 2;

std::atomic<bool> disk_answers{true};
std::atomic<std::uint32_t> reading{0};

std::size_t resolve(std::span<services::Fault> faults, backend::Reading how) {
  const bool blocking = how == backend::Reading::blocking;
  if (blocking) {
    ++reading;
    while (!disk_answers) std::this_thread::sleep_for(100us);
    --reading;
  }
  for (services::Fault& fault : faults) {
    const std::uint64_t place = fault.request.arguments[0];
    if (place == in_memory || (place == on_disk && blocking)) {
      fault.answer = {.value = blocking ? 2 : 1};
    } else {
      fault.answer = {.would_wait = true};
    }
  }
  return faults.size();
}

struct FaultParts : ServerParts {
  FaultDesk desk{{.backend = backend,
                  .answers = answers,
                  .admission = admission,
                  .threads = threads,
                  .places = places,
                  .pool = pool,
                  .resolve = resolve}};
};

class FaultDeskTest : public testing::Test {
 protected:
  void SetUp() override {
    disk_answers = true;
    parts->threads.keep_alive(parts);
    parts->pool.run({.work = [this](ServiceThread& other) { work(other); }, .guard = {}});
  }
  void TearDown() override {
    disk_answers = true;
    parts->desk.stop();
    parts->pool.stop();
    EXPECT_TRUE(parts->threads.wait_ended(10s));
    parts->threads.release();
  }
  void work(ServiceThread& other) {
    while (parts->pool.next_work(other).task == ThreadPool::Task::call) {
      ++calls_of_pool;
      parts->pool.finish_work();
    }
  }
  // A single fault that the test's thread serves.
  services::Request serve(std::uint8_t lane, std::uint64_t place) {
    Pending call;
    call.request = parts->accept(lane, calls::fault_in_number, place);
    std::vector<Pending> batch{call};
    EXPECT_TRUE(FaultDesk::take(self, batch));
    EXPECT_TRUE(parts->desk.serve(self, nullptr));
    return call.request;
  }
  bool is_answered(const services::Request& request) { return parts->is_answered(request); }

  std::shared_ptr<FaultParts> parts = std::make_shared<FaultParts>();
  ServiceThread& self = parts->threads.add_unit();
  std::atomic<int> calls_of_pool{0};
};

TEST_F(FaultDeskTest, takes_the_faults_out_of_a_batch) {
  std::vector<Pending> batch(3);
  batch[0].request.number = __NR_read;
  batch[1].request.number = calls::fault_in_number;
  batch[2].request.number = __NR_write;
  EXPECT_TRUE(FaultDesk::take(self, batch));
  EXPECT_EQ(self.faults.size(), 1u);
  ASSERT_EQ(batch.size(), 2u);
  EXPECT_EQ(batch[1].request.number, __NR_write);
  EXPECT_FALSE(FaultDesk::take(self, batch));
  EXPECT_TRUE(self.faults.empty());
}

TEST_F(FaultDeskTest, answers_a_page_in_memory_at_once) {
  const services::Request request = serve(0, in_memory);
  EXPECT_EQ(parts->control_of(request).state, SlotState::finished);
  EXPECT_EQ(parts->value_of(request), 1);
  Stats stats;
  parts->threads.add_to(stats);
  EXPECT_EQ(stats.threads, 0u) << "no thread was started for it";
}

TEST_F(FaultDeskTest, reads_a_page_on_disk_on_a_thread_of_its_own) {
  const services::Request request = serve(0, on_disk);
  ASSERT_TRUE(is_answered(request));
  EXPECT_EQ(parts->value_of(request), 2);
}

TEST_F(FaultDeskTest, gives_up_on_a_page_that_always_would_wait) {
  const services::Request request = serve(0, never_readable);
  ASSERT_TRUE(is_answered(request));
  EXPECT_EQ(parts->value_of(request), -EAGAIN);
}

TEST_F(FaultDeskTest, reads_on_a_few_threads_and_queues_the_rest) {
  disk_answers = false;
  std::vector<services::Request> requests;
  for (std::uint8_t lane = 0; lane < 2 * FaultDesk::threads_max; ++lane) {
    const std::uint32_t before = reading;
    requests.push_back(serve(lane, on_disk));
    const Instant patience = now() + 10s;
    while (before < FaultDesk::threads_max && reading == before && now() < patience) {
      std::this_thread::sleep_for(100us);
    }
  }
  EXPECT_EQ(reading, FaultDesk::threads_max);
  disk_answers = true;
  for (const services::Request& request : requests) EXPECT_TRUE(is_answered(request));
  Stats stats;
  parts->threads.add_to(stats);
  EXPECT_EQ(stats.threads, FaultDesk::threads_max);
}

TEST_F(FaultDeskTest, cancels_waiting_faults_when_it_is_stopped) {
  disk_answers = false;
  std::vector<services::Request> requests;
  for (std::uint8_t lane = 0; lane < FaultDesk::threads_max + 1; ++lane) {
    const std::uint32_t before = reading;
    requests.push_back(serve(lane, on_disk));
    const Instant patience = now() + 10s;
    while (before < FaultDesk::threads_max && reading == before && now() < patience) {
      std::this_thread::sleep_for(100us);
    }
  }
  parts->desk.stop();
  disk_answers = true;
  for (const services::Request& request : requests) ASSERT_TRUE(is_answered(request));
  EXPECT_EQ(parts->control_of(requests.front()).error, TransportError::none) << "it was being read";
  EXPECT_EQ(parts->control_of(requests.back()).error, TransportError::shutdown);
}

TEST_F(FaultDeskTest, leaves_faults_to_the_pool_where_no_thread_reads_files) {
  ServerConfig config;
  config.threads_max = 2;
  parts->pool.resume(config);
  parts->roles.pause();
  ASSERT_TRUE(parts->pool.add_workers(1));
  parts->desk.stop();
  const services::Request request = serve(0, on_disk);
  const Instant patience = now() + 10s;
  while (calls_of_pool == 0 && now() < patience) std::this_thread::sleep_for(100us);
  EXPECT_EQ(calls_of_pool, 1);
  EXPECT_EQ(parts->control_of(request).state, SlotState::processing);
}

}  // namespace
}  // namespace k2k::server
