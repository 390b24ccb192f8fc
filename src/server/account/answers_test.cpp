// Goal: each request is answered once, by its owner or by refuse_the_rest().
// Method: an area in plain memory and a backend that only records calls; the test acts as the
// device.

#include "server/account/answers.hpp"

#include <asm/unistd.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <vector>

#include "protocol/area.hpp"
#include "services/fake_backend_fixture.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;
using protocol::Side;
using protocol::SlotState;
using protocol::TransportError;

class AnswersTest : public testing::Test {
 protected:
  services::FakeBackend backend;
  Answers answers{backend};
  std::unique_ptr<ThreadStats> stats = std::make_unique<ThreadStats>();
  std::vector<std::uint32_t> rows;

  // Publishes and accepts a request.
  services::Request accept(std::uint32_t wave, std::uint8_t lane, std::uint8_t flags = 0) {
    protocol::Slot& slot = backend.plain.publish(wave, lane, __NR_getpid, flags);
    protocol::move<SlotState::ready, SlotState::processing, Side::host>(slot, __NR_getpid);
    services::Request request;
    request.wave = wave;
    request.lane = lane;
    request.number = __NR_getpid;
    request.attributes = protocol::unpack_attributes(slot.attributes);
    return request;
  }
  protocol::Control control_of(const services::Request& request) {
    return backend.plain.control(request.wave, request.lane);
  }
  std::int64_t value_of(const services::Request& request) {
    return backend.plain.answer(request.wave, request.lane);
  }
};

TEST_F(AnswersTest, finish_the_slot_count_and_resume_the_row) {
  const services::Request request = accept(2, 7);
  answers.answer(*stats, request, 42, {1, 2});
  EXPECT_EQ(control_of(request).state, SlotState::finished);
  EXPECT_EQ(control_of(request).error, TransportError::none);
  EXPECT_EQ(value_of(request), 42);
  EXPECT_EQ(stats->answered.value(), 1u);
  EXPECT_EQ(backend.resumed(), std::vector<std::uint32_t>{2});
}

TEST_F(AnswersTest, note_the_errors_of_detached_calls) {
  const services::Request request = accept(0, 0, protocol::flag::detached);
  answers.answer(*stats, request, -EBADF, {1, 2});
  EXPECT_EQ(control_of(request).state, SlotState::free);
  const std::vector<DetachedError> errors = answers.errors().list();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].error, EBADF);
}

TEST_F(AnswersTest, that_are_late_tell_an_interrupted_wait_as_shutdown) {
  const services::Request ended = accept(0, 0);
  const services::Request interrupted = accept(0, 1);
  answers.answer_late(*stats, ended, -EINTR, {1, 2});
  answers.answer_late(*stats, interrupted, -ECANCELED, {1, 2});
  EXPECT_EQ(control_of(ended).error, TransportError::none);
  EXPECT_EQ(control_of(interrupted).error, TransportError::shutdown);
}

TEST_F(AnswersTest, of_faults_leave_out_faults_that_would_wait) {
  services::Fault waits{accept(1, 0), {}};
  waits.answer.would_wait = true;
  std::vector<services::Fault> faults{waits, {accept(1, 1), {}}, {accept(1, 2), {}}};
  answers.answer_faults(*stats, rows, faults, {1, 2});
  EXPECT_EQ(control_of(faults[0].request).state, SlotState::processing);
  EXPECT_EQ(control_of(faults[1].request).state, SlotState::finished);
  EXPECT_EQ(control_of(faults[2].request).state, SlotState::finished);
  EXPECT_EQ(stats->answered.value(), 2u);
  EXPECT_EQ(backend.resumed(), std::vector<std::uint32_t>{1}) << "once for the row";
}

TEST_F(AnswersTest, are_waited_for_until_no_request_is_open) {
  static_cast<void>(backend.plain.publish(3, 3, __NR_getpid));
  EXPECT_FALSE(answers.wait_for_all(1ms)) << "it is published";
  const services::Request other = accept(0, 0);
  protocol::move<SlotState::ready, SlotState::processing, Side::host>(answers.area().slot(3, 3),
                                                                      __NR_getpid);
  answers.answer(*stats, other, 0, {1, 2});
  EXPECT_FALSE(answers.wait_for_all(1ms)) << "it is accepted";
  services::Request first = other;
  first.wave = 3;
  first.lane = 3;
  answers.answer(*stats, first, 0, {1, 2});
  EXPECT_TRUE(answers.wait_for_all(1ms));
}

TEST_F(AnswersTest, refuse_published_and_accepted_requests_and_then_drop_late_answers) {
  const services::Request done = accept(0, 0);
  answers.answer(*stats, done, 5, {1, 2});
  const services::Request accepted = accept(0, 1);
  static_cast<void>(backend.plain.publish(2, 0, __NR_getpid));
  answers.refuse_the_rest();
  EXPECT_EQ(control_of(done).error, TransportError::none);
  EXPECT_EQ(control_of(accepted).error, TransportError::shutdown);
  EXPECT_EQ(observe(answers.area().slot(2, 0)).error, TransportError::shutdown);
  EXPECT_EQ(*answers.area().closed, 1u);
  EXPECT_TRUE(answers.wait_for_all(0ms));

  const std::size_t resumed = backend.resumed().size();
  answers.answer_late(*stats, accepted, 7, {1, 2});
  const std::vector<services::Fault> faults{{accepted, {}}};
  answers.answer_faults_late(*stats, rows, faults, {1, 2});
  EXPECT_EQ(value_of(accepted), -ECANCELED);
  EXPECT_EQ(stats->answered.value(), 1u);
  EXPECT_EQ(backend.resumed().size(), resumed);
}

}  // namespace
}  // namespace k2k::server
