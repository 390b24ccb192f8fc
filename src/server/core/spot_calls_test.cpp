// Goal: a call made on the spot is answered once, with its slot's arguments as they were read once;
// what is no such call stays untouched; and a holder that lost its role during a call answers late.
// Method: the test acts as the holder of a role, without a bundle.

#include "server/core/spot_calls.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/core_parts_fixture.hpp"
#include "services/functions/host_call_fixture.hpp"
#include "services/functions/host_callable.hpp"

namespace k2k::server {
namespace {

using Outcome = OnTheSpot::Outcome;
using protocol::SlotState;
using services::HostCallOf;

class SpotCallsTest : public CoreTest {
 protected:
  SpotCallsTest() : role(hold_role()) {
    provide("seven", HostClass::never_blocks, [] { return 7; });
    provide("inside", HostClass::never_blocks, [this] {
      inside();
      return 8;
    });
    provide("later", HostClass::may_block, [] { return 9; });
    char name[] = "/tmp/k2k-spot-XXXXXX";
    file = ::mkstemp(name);
    K2K_EXPECT(file >= 0 && ::unlink(name) == 0 && ::pwrite(file, "0123456789", 10, 0) == 10);
    self.clock = cycles();
  }
  ~SpotCallsTest() override { ::close(file); }

  template <class Function>
  void provide(const char* name, HostClass how, const Function& function) {
    K2K_EXPECT(
        parts->functions.add(services::HostCallable<int()>::function(name, function, how)).ok());
  }
  ReadySlot ready(std::uint8_t lane, std::uint16_t number) {
    protocol::Slot& slot = parts->backend.plain.view().slot(1, lane);
    attributes[lane] = protocol::unpack_attributes(slot.attributes);
    return {slot,
            1,
            lane,
            static_cast<std::int16_t>(calls::find(number)),
            number,
            0,
            attributes[lane],
            0,
            false};
  }
  ReadySlot publish_function(std::uint8_t lane, std::string_view name) {
    const HostCallOf call(name, "i32()");
    const auto& word = call.request.arguments;
    publish(1, lane, calls::host_call_number, word[0], word[1], word[2], word[3], word[4], word[5]);
    return ready(lane, calls::host_call_number);
  }
  ReadySlot publish_pread(std::uint8_t lane, std::uint64_t bytes, std::int64_t offset) {
    publish(1, lane, __NR_pread64, file, text, bytes, offset);
    return ready(lane, __NR_pread64);
  }
  // Reads until the file counts as cached.
  bool streak() {
    for (int read = 0; read < 1000 && !parts->files.reads_plainly(file, 4); ++read) {
      static_cast<void>(parts->files.try_pread(file, text, 4, 0));
    }
    return parts->files.reads_plainly(file, 4);
  }
  Outcome serve(SpotCalls& spot, const ReadySlot& slot) {
    self.stats.counting.begin();
    const Outcome outcome = spot.serve(slot, batch);
    if (outcome != Outcome::lost) self.stats.counting.end();
    return outcome;
  }
  bool resumed(std::uint32_t row) {
    const std::vector<std::uint32_t> rows = parts->backend.resumed();
    return std::find(rows.begin(), rows.end(), row) != rows.end();
  }

  const RoleService::Parts parts_of_service{.backend = parts->backend,
                                            .files = parts->files,
                                            .answers = parts->answers,
                                            .bottom_half = parts->bottom_half,
                                            .admission = parts->admission,
                                            .system_calls = parts->system_calls,
                                            .threads = parts->threads,
                                            .places = parts->places,
                                            .pool = parts->pool,
                                            .faults = parts->faults,
                                            .waiting = parts->waiting};
  Role& role;
  std::array<protocol::Attributes, 64> attributes{};
  std::function<void()> inside;
  std::vector<Pending> batch;
  int file = -1;
  char text[16] = {};
};

TEST_F(SpotCallsTest, a_short_function_is_answered_at_once) {
  SpotCalls spot(parts_of_service, self, role);
  EXPECT_EQ(serve(spot, publish_function(0, "seven")), Outcome::answered);
  EXPECT_EQ(state(1, 0), SlotState::finished);
  EXPECT_EQ(answer(1, 0), 7);
  EXPECT_TRUE(resumed(1));
  EXPECT_TRUE(role.walking) << "a thread that takes the role over serves the rest of the bundle";
}

TEST_F(SpotCallsTest, a_function_that_may_block_and_an_unknown_one_are_declined_untouched) {
  SpotCalls spot(parts_of_service, self, role);
  EXPECT_EQ(serve(spot, publish_function(0, "later")), Outcome::declined);
  EXPECT_EQ(serve(spot, publish_function(1, "nobody")), Outcome::declined);
  EXPECT_EQ(state(1, 0), SlotState::ready);
  EXPECT_EQ(state(1, 1), SlotState::ready);
  EXPECT_FALSE(role.walking);
  EXPECT_FALSE(resumed(1));
}

TEST_F(SpotCallsTest, a_read_is_made_only_while_its_file_is_expected_in_the_cache) {
  SpotCalls spot(parts_of_service, self, role);
  EXPECT_EQ(serve(spot, publish_pread(0, 4, 2)), Outcome::declined);
  EXPECT_EQ(state(1, 0), SlotState::ready);
  if (!streak()) GTEST_SKIP() << "this file system tells no cached reads";
  EXPECT_EQ(serve(spot, publish_pread(1, 4, 2)), Outcome::answered);
  EXPECT_EQ(answer(1, 1), 4);
  EXPECT_EQ(std::string_view(text, 4), "2345");
  EXPECT_EQ(serve(spot, publish_pread(2, 4, -1)), Outcome::answered);
  EXPECT_EQ(answer(1, 2), -EINVAL);
}

TEST_F(SpotCallsTest, a_holder_that_lost_its_role_in_a_call_answers_late_and_once) {
  const ServiceThread& taker = parts->threads.add_unit();
  inside = [&] {
    EXPECT_TRUE(role.word.take_over(self.index, self.call, self.call.view(), taker.index));
  };
  SpotCalls spot(parts_of_service, self, role);
  EXPECT_EQ(serve(spot, publish_function(0, "inside")), Outcome::lost);
  EXPECT_EQ(state(1, 0), SlotState::processing) << "not before its thread left the role";
  spot.answer_late();
  EXPECT_EQ(state(1, 0), SlotState::finished);
  EXPECT_EQ(answer(1, 0), 8);
}

TEST_F(SpotCallsTest, the_arguments_are_read_once) {
  // The device writes to the slot during the call: to the words of the request only.
  protocol::Slot& slot = parts->backend.plain.view().slot(1, 0);
  inside = [&] { std::fill(std::begin(slot.arguments), std::end(slot.arguments), 77); };
  SpotCalls spot(parts_of_service, self, role);
  EXPECT_EQ(serve(spot, publish_function(0, "inside")), Outcome::answered);
  EXPECT_EQ(answer(1, 0), 8);
}

TEST_F(SpotCallsTest, the_time_of_a_run_is_charged_once) {
  SpotCalls spot(parts_of_service, self, role);
  for (std::uint8_t lane = 0; lane < 3; ++lane) {
    EXPECT_EQ(serve(spot, publish_function(lane, "seven")), Outcome::answered);
  }
  std::uint64_t charged = 0;
  const std::uint64_t moment = spot.settle(charged);
  EXPECT_GT(charged, 0u);
  EXPECT_LE(charged, moment);
  std::uint64_t again = 0;
  const std::uint64_t later = spot.settle(again);
  EXPECT_EQ(again, later - moment) << "only what passed since";
}

TEST_F(SpotCallsTest, a_traced_role_makes_no_calls_on_the_spot) {
  EXPECT_TRUE(SpotCalls::permitted(parts->admission, role));
  role.trace = true;
  EXPECT_FALSE(SpotCalls::permitted(parts->admission, role));
}

}  // namespace
}  // namespace k2k::server
