// Goal: a request that a bundle names is accepted once, whatever invalid data the bundle contains.
// Method: an area in plain memory and a backend that only records calls; the test acts as the
// device.

#include "server/poll/bottom_half.hpp"

#include <asm/unistd.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <barrier>
#include <cerrno>
#include <memory>
#include <thread>
#include <vector>

#include "router/door/files.hpp"
#include "services/fake_backend_fixture.hpp"

namespace k2k::server {
namespace {

using protocol::Side;
using protocol::SlotState;

class BottomHalfTest : public testing::Test {
 protected:
  services::FakeBackend backend;
  DetachedErrors detached_errors;
  router::Files files;
  BottomHalf half{backend.area(), backend, files, detached_errors};
  std::unique_ptr<ThreadStats> stats = std::make_unique<ThreadStats>();
  std::vector<Pending> batch;
  std::vector<std::uint32_t> answered;

  void process(const Bundle& bundle, services::Openness openness = services::Openness::any) {
    batch.clear();
    answered.clear();
    half.process(bundle, {.openness = openness}, batch, answered, *stats);
  }
  SlotState state_of(const protocol::Slot& slot) { return observe(slot).state; }
};

TEST_F(BottomHalfTest, answers_from_memory_at_once_and_keeps_the_rest_for_execution) {
  protocol::Slot& pid = backend.plain.publish(1, 0, __NR_getpid);
  protocol::Slot& read = backend.plain.publish(1, 5, __NR_read);
  read.arguments[0] = 42;
  process({{1, 1u | 1u << 5}});
  EXPECT_EQ(state_of(pid), SlotState::finished);
  EXPECT_EQ(static_cast<pid_t>(pid.arguments[0]), ::getpid());
  EXPECT_EQ(state_of(read), SlotState::processing);
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(batch[0].request.number, __NR_read);
  EXPECT_EQ(batch[0].request.arguments[0], 42u);
  EXPECT_EQ(batch[0].request.wave, 1u);
  EXPECT_EQ(batch[0].request.lane, 5);
  EXPECT_EQ(answered, std::vector<std::uint32_t>{1});
  EXPECT_EQ(stats->accepted.value(), 2u);
  EXPECT_EQ(stats->answered.value(), 1u);
}

TEST_F(BottomHalfTest, passes_over_every_slot_that_is_not_ready) {
  const protocol::AreaView& area = backend.area();
  ASSERT_TRUE(protocol::try_claim(area, 0, 2));  // Populating.
  protocol::Slot& taken = backend.plain.publish(0, 2, __NR_getpid);
  protocol::move<SlotState::ready, SlotState::processing, Side::host>(taken, __NR_getpid);
  protocol::Slot& done = backend.plain.publish(0, 3, __NR_getpid);
  protocol::move<SlotState::ready, SlotState::processing, Side::host>(done, __NR_getpid);
  protocol::move<SlotState::processing, SlotState::finished, Side::host>(done, __NR_getpid);
  process({{0, 0xff}});
  EXPECT_TRUE(batch.empty());
  EXPECT_TRUE(answered.empty());
  EXPECT_EQ(stats->accepted.value(), 0u);
  EXPECT_EQ(state_of(area.slot(0, 1)), SlotState::populating);
  EXPECT_EQ(state_of(taken), SlotState::processing);
  EXPECT_EQ(state_of(done), SlotState::finished);
}

TEST_F(BottomHalfTest, ignores_lanes_beyond_the_row) {
  static_cast<void>(
      backend.plain.publish(1, 0, __NR_getpid));  // The slot that a lane 32 of row 0 would have.
  process({{0, ~std::uint64_t{0}}});
  EXPECT_EQ(stats->accepted.value(), 0u);
  EXPECT_EQ(state_of(backend.area().slot(1, 0)), SlotState::ready);
}

TEST_F(BottomHalfTest, accepts_a_doubled_doorbell_once) {
  static_cast<void>(backend.plain.publish(2, 7, __NR_read));
  process({{2, 1u << 7}, {2, 1u << 7}, {2, 0xffffffff}});
  EXPECT_EQ(batch.size(), 1u);
  process({{2, 1u << 7}});
  EXPECT_TRUE(batch.empty());
}

TEST_F(BottomHalfTest, refuses_without_executing) {
  protocol::Slot& unknown = backend.plain.publish(0, 0, 5000);
  protocol::Slot& forbidden = backend.plain.publish(0, 1, __NR_exit_group);
  protocol::Slot& closed = backend.plain.publish(0, 2, __NR_getitimer);
  process({{0, 7}}, services::Openness::known_only);
  EXPECT_TRUE(batch.empty());
  for (const protocol::Slot* slot : {&unknown, &forbidden, &closed}) {
    EXPECT_EQ(static_cast<std::int64_t>(slot->arguments[0]), -ENOSYS);
    EXPECT_EQ(observe(*slot).error, protocol::TransportError::none);
  }
  EXPECT_EQ(stats->refused.value(), 3u);

  protocol::Slot& again = backend.plain.publish(1, 0, __NR_exit_group);
  process({{1, 1}}, services::Openness::any);
  EXPECT_EQ(static_cast<std::int64_t>(again.arguments[0]), -EPERM);
}

TEST_F(BottomHalfTest, permits_a_call_that_is_not_basic_only_where_all_are_open) {
  const int row = calls::find(__NR_sched_get_priority_max);
  ASSERT_GE(row, calls::basic_count);
  protocol::Slot& refused = backend.plain.publish(0, 0, __NR_sched_get_priority_max);
  process({{0, 1}}, services::Openness::known_only);
  EXPECT_EQ(static_cast<std::int64_t>(refused.arguments[0]), -ENOSYS);
  protocol::Slot& answered_at_once = backend.plain.publish(1, 0, __NR_sched_get_priority_max);
  process({{1, 1}}, services::Openness::any);
  EXPECT_EQ(static_cast<std::int64_t>(answered_at_once.arguments[0]), 0);
  EXPECT_EQ(stats->calls[call_places - 1].count.value(), 2u) << "it has no place of its own";
  EXPECT_EQ(stats->calls.size(), static_cast<std::size_t>(calls::basic_count) + 1);
}

TEST_F(BottomHalfTest, looks_at_the_arguments_that_decide_though_it_checks_no_memory) {
  protocol::Slot& slot = backend.plain.publish(0, 0, __NR_getrusage);
  rusage usage{};
  slot.arguments[0] = static_cast<std::uint64_t>(RUSAGE_THREAD);
  slot.arguments[1] = reinterpret_cast<std::uint64_t>(&usage);
  process({{0, 1}});
  EXPECT_EQ(static_cast<std::int64_t>(slot.arguments[0]), -EPERM);
}

TEST_F(BottomHalfTest, answers_efault_for_memory_the_host_cannot_reach) {
  char buffer[16];
  backend.hidden_begin = reinterpret_cast<std::uintptr_t>(buffer);
  backend.hidden_end = backend.hidden_begin + sizeof(buffer);
  protocol::Slot& slot = backend.plain.publish(0, 0, __NR_read);
  slot.arguments[1] = backend.hidden_begin;
  slot.arguments[2] = 16;
  process({{0, 1}});
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(static_cast<std::int64_t>(slot.arguments[0]), -EFAULT);
}

TEST_F(BottomHalfTest, retires_a_detached_call_itself_and_books_its_error) {
  protocol::Slot& slot = backend.plain.publish(0, 0, 5000, protocol::flag::detached);
  process({{0, 1}});
  EXPECT_EQ(state_of(slot), SlotState::free);
  const std::vector<DetachedError> errors = detached_errors.list();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].error, ENOSYS);
  EXPECT_EQ(errors[0].name, "call 5000");
}

TEST_F(BottomHalfTest, holds_a_copy_that_later_scribbling_cannot_change) {
  protocol::Slot& slot = backend.plain.publish(0, 0, __NR_write);
  slot.arguments[2] = 4;
  process({{0, 1}});
  slot.arguments[2] = ~std::uint64_t{0};
  slot.attributes = ~0u;
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(batch[0].request.arguments[2], 4u);
  EXPECT_EQ(batch[0].request.attributes.flags, 0);
}

TEST_F(BottomHalfTest, survives_any_scribbled_attributes) {
  protocol::Slot& slot = backend.plain.publish(0, 0, __NR_getpid);
  slot.attributes = 0xfffffffdu & ~(std::uint32_t{protocol::flag::detached} << 2);
  slot.stamp = 12345;
  process({{0, 1}});
  EXPECT_EQ(state_of(slot), SlotState::finished);
}

TEST_F(BottomHalfTest, enters_the_times_of_a_sampled_request_for_all_it_stands_for) {
  const auto scheduling = [this] {
    return stats->times.requests(telemetry::RequestPart::scheduling);
  };
  static_cast<void>(backend.plain.publish(0, 0, calls::nop_number, protocol::flag::sampled));
  process({{0, 1}});
  EXPECT_EQ(scheduling(), 0u) << "another one stands for it";
  backend.plain.publish(1, 0, calls::nop_number, protocol::flag::sampled).stamp = 12345;
  process({{1, 1}});
  EXPECT_EQ(scheduling(), protocol::sample_stride);
  backend.plain.publish(2, 0, calls::nop_number).stamp = 12345;
  process({{2, 1}});
  EXPECT_EQ(scheduling(), protocol::sample_stride + 1);
  EXPECT_EQ(stats->answered.value(), 3u) << "counted one by one";
  EXPECT_EQ(stats->calls[call_place(static_cast<std::int16_t>(calls::find(calls::nop_number)))]
                .count.value(),
            3u);
}

TEST_F(BottomHalfTest, answers_no_ops_on_the_spot_whatever_their_outcome_is_for) {
  protocol::Slot& blocking = backend.plain.publish(0, 0, calls::nop_number);
  blocking.arguments[0] = 7;
  protocol::Slot& detached =
      backend.plain.publish(0, 1, calls::nop_number, protocol::flag::detached);
  process({{0, 3}});
  EXPECT_EQ(state_of(blocking), SlotState::finished);
  EXPECT_EQ(blocking.arguments[0], 0u);
  EXPECT_EQ(state_of(detached), SlotState::free);
  EXPECT_TRUE(batch.empty());
  EXPECT_TRUE(detached_errors.take().empty());
}

TEST_F(BottomHalfTest, records_requests_that_it_accepts_and_answers_if_events_are_on) {
  stats->events.turn(true);
  protocol::Slot& pid = backend.plain.publish(1, 3, __NR_getpid);
  pid.arguments[0] = 42;
  static_cast<void>(backend.plain.publish(1, 4, __NR_read));
  batch.clear();
  answered.clear();
  half.process({{1, 1u << 3 | 1u << 4}}, {.trace = true}, batch, answered, *stats);
  std::vector<telemetry::EventKind> of_pid;
  std::vector<telemetry::EventKind> of_read;
  for (const telemetry::Event& event : stats->events.copy()) {
    (event.lane == 3 ? of_pid : of_read).push_back(event.kind);
    EXPECT_EQ(event.wave, 1u);
    EXPECT_EQ(event.number, event.lane == 3 ? __NR_getpid : __NR_read);
    if (event.lane == 3 && event.kind == telemetry::EventKind::accepted) {
      EXPECT_EQ(event.argument, 42u);
    }
  }
  using telemetry::EventKind;
  EXPECT_EQ(of_pid, (std::vector{EventKind::accepted, EventKind::started, EventKind::completed}));
  EXPECT_EQ(of_read, std::vector{EventKind::accepted}) << "it is answered later, by the worker";
}

// In split mode several threads process bundles, and a rescan and a queued bundle may name the same
// request. The thread that begins later passes over accepted slots, which takes less time than
// accepting them: so it reaches the other, and they meet in many slots of a round. Rounds are few:
// on a busy machine each costs a wait for a core.
TEST(BottomHalfOfThreads, accepts_a_slot_once_between_them) {
#if defined(K2K_TSAN)
  constexpr std::uint32_t rounds = 10;
#else
  constexpr std::uint32_t rounds = 100;
#endif
  constexpr std::uint32_t waves = 64;
  constexpr std::uint32_t lanes = 32;
  constexpr std::uint64_t all = (std::uint64_t{1} << lanes) - 1;
  services::FakeBackend backend({.waves = waves, .lanes = lanes});
  DetachedErrors detached_errors;
  router::Files files;
  BottomHalf half{backend.area(), backend, files, detached_errors};
  std::barrier<> meeting(2);
  const auto process_all = [&](ThreadStats& stats) {
    std::vector<Pending> batch;
    std::vector<std::uint32_t> answered;
    meeting.arrive_and_wait();
    for (std::uint32_t wave = 0; wave < waves; ++wave) {
      half.process({{wave, all}}, {.shared = true}, batch, answered, stats);
    }
    meeting.arrive_and_wait();
  };
  auto first_stats = std::make_unique<ThreadStats>();
  auto second_stats = std::make_unique<ThreadStats>();
  std::thread second([&] {
    for (std::uint32_t round = 0; round < rounds; ++round) process_all(*second_stats);
  });
  for (std::uint32_t round = 0; round < rounds; ++round) {
    for (std::uint32_t wave = 0; wave < waves; ++wave) {
      for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        static_cast<void>(backend.plain.publish(wave, lane, __NR_getpid));
      }
    }
    process_all(*first_stats);
    for (std::uint32_t wave = 0; wave < waves; ++wave) {
      for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        protocol::move<SlotState::finished, SlotState::free, Side::device>(
            backend.area().slot(wave, lane));
      }
      protocol::unlock(backend.area(), wave, all);
    }
  }
  second.join();
  EXPECT_EQ(first_stats->accepted.value() + second_stats->accepted.value(), lanes * waves * rounds);
}

TEST(DetachedErrors, are_counted_by_call_and_errno_and_handed_over_once) {
  DetachedErrors errors;
  errors.add(__NR_write, EPIPE);
  errors.add(__NR_write, EPIPE);
  errors.add(__NR_write, EBADF);
  errors.add(900, EPIPE);
  const std::vector<DetachedError> taken = errors.take();
  ASSERT_EQ(taken.size(), 3u);
  std::uint64_t sum = 0;
  for (const DetachedError& error : taken) {
    sum += error.count;
    EXPECT_EQ(error.count, error.name == "write" && error.error == EPIPE ? 2u : 1u);
  }
  EXPECT_EQ(sum, 4u);
  EXPECT_TRUE(errors.take().empty());
}

TEST(DetachedErrors, lose_no_error_that_comes_while_errors_are_taken) {
  DetachedErrors errors;
  constexpr std::uint64_t count = 20'000;
  std::thread server([&] {
    for (std::uint64_t each = 0; each < count; ++each)
      errors.add(1, 1 + static_cast<int>(each % 9));
  });
  std::uint64_t sum = 0;
  while (sum < count / 2) {
    for (const DetachedError& error : errors.take()) sum += error.count;
  }
  server.join();
  for (const DetachedError& error : errors.take()) sum += error.count;
  EXPECT_EQ(sum, count);
}

}  // namespace
}  // namespace k2k::server
