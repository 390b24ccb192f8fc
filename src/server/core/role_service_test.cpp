// Goal: the holder of a role answers each request that it found, once; calls that would wait leave
// it.
// Method: the test acts as the holder. A fake resolution of faults takes the role over in between.

#include "server/core/role_service.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "server/core/core_parts_fixture.hpp"

namespace k2k::server {
namespace {

using protocol::SlotState;

using RoleServiceTest = CoreTest;

TEST_F(RoleServiceTest, answers_the_requests_of_a_bundle_in_order) {
  Role& role = hold_role();
  publish_write(1, 0, "a");
  publish_write(1, 1, "bc");
  publish_write(2, 0, "d");
  role.bundle = {{1, 0b11}, {2, 0b1}};
  EXPECT_TRUE(parts->service.serve(self, role));
  EXPECT_EQ(piped(), "abcd");
  EXPECT_EQ(state(2, 0), SlotState::finished);
  EXPECT_EQ(answer(1, 0), 1);
  EXPECT_EQ(answer(1, 1), 2);
  EXPECT_TRUE(role.word.still_held_by(self.index));
  const std::vector<std::uint32_t> resumed = parts->backend.resumed();
  EXPECT_NE(std::find(resumed.begin(), resumed.end(), 1u), resumed.end());
  EXPECT_NE(std::find(resumed.begin(), resumed.end(), 2u), resumed.end());
}

TEST_F(RoleServiceTest, answers_from_memory_what_needs_no_call) {
  Role& role = hold_role();
  publish(1, 0, calls::nop_number);
  role.bundle = {{1, 0b1}};
  EXPECT_TRUE(parts->service.serve(self, role));
  EXPECT_EQ(state(1, 0), SlotState::finished);
  EXPECT_TRUE(role.batch.empty());
}

TEST_F(RoleServiceTest, a_call_that_waits_for_a_descriptor_does_not_keep_the_others) {
  watch_descriptors();
  Role& role = hold_role();
  publish_read(1, 0);
  publish(1, 1, __NR_close, -1);
  role.bundle = {{1, 0b11}};
  EXPECT_TRUE(parts->service.serve(self, role));
  EXPECT_EQ(state(1, 0), SlotState::processing);
  EXPECT_EQ(state(1, 1), SlotState::finished);
  EXPECT_TRUE(role.waiting.empty());
  ASSERT_EQ(::write(pipe[1], "12", 2), 2);
  ASSERT_TRUE(finishes(1, 0));
  EXPECT_EQ(answer(1, 0), 2);
}

TEST_F(RoleServiceTest, serves_what_a_predecessor_left) {
  Role& role = hold_role();
  role.batch.resize(2);
  role.batch[0].request = parts->accept(0, __NR_write, pipe[1], "a", 1);
  role.batch[1].request = parts->accept(1, __NR_write, pipe[1], "b", 1);
  role.batch_next = 1;
  EXPECT_TRUE(parts->service.serve_rest(self, role));
  EXPECT_EQ(piped(), "b");
  EXPECT_EQ(state(1, 0), SlotState::processing) << "its predecessor is in this call";
  EXPECT_EQ(state(1, 1), SlotState::finished);
}

TEST_F(RoleServiceTest, a_holder_that_lost_the_role_in_a_call_leaves_the_rest_to_the_taker) {
  Role& role = hold_role();
  const ServiceThread& taker = parts->threads.add_unit();
  fake_resolution = [&](std::span<services::Fault> faults, backend::Reading) {
    EXPECT_TRUE(role.word.take_over(self.index, self.call, self.call.view(), taker.index));
    for (services::Fault& fault : faults) fault.answer = {.value = 7};
    return faults.size();
  };
  publish(1, 0, calls::fault_in_number);
  publish_write(1, 1, "not by this thread");
  role.bundle = {{1, 0b11}};
  EXPECT_FALSE(parts->service.serve(self, role));
  EXPECT_EQ(state(1, 0), SlotState::finished);
  EXPECT_EQ(answer(1, 0), 7);
  EXPECT_EQ(state(1, 1), SlotState::processing);
  EXPECT_EQ(role.word.view().holder, taker.index);
}

// drain() waits until as many requests are answered or dropped as were accepted.
TEST_F(RoleServiceTest, a_parked_request_that_is_published_again_is_dropped_and_ends_no_drain) {
  ServerConfig config;
  config.cap_permille = 1;
  config.tenants = "1:weight=1";  // The requests are those of all other tenants.
  ASSERT_TRUE(parts->admission.configure(config).ok());
  Role& role = hold_role();
  const int file = ::memfd_create("k2k-test", MFD_CLOEXEC);
  const std::vector<char> pages(std::size_t{16} << 20);  // Some milliseconds: a debt.
  publish(1, 0, __NR_pwrite64, file, pages.data(), pages.size(), 0);
  publish_write(1, 1, "a");
  publish_write(1, 2, "b");
  role.bundle = {{1, 0b111}};
  ASSERT_TRUE(parts->service.serve(self, role));
  ASSERT_EQ(role.parked.count(), 2u);
  EXPECT_FALSE(parts->threads.at_rest(parts->places.dropped()).has_value());
  // A device that forges the state of its slot.
  protocol::store_release(&parts->backend.plain.view().slot(1, 2).control,
                          protocol::pack(protocol::Control{
                              SlotState::ready, protocol::TransportError::none, __NR_write}));
  role.bundle = {{1, 0b100}};
  ASSERT_TRUE(parts->service.serve(self, role));
  EXPECT_EQ(role.parked.count(), 2u);
  EXPECT_EQ(parts->places.dropped(), 1u);
  EXPECT_FALSE(parts->threads.at_rest(parts->places.dropped()).has_value()) << "two are parked";
  ASSERT_TRUE(parts->admission.configure({}).ok());
  while (role.parked.count() != 0) ASSERT_TRUE(parts->service.serve_parked(self, role));
  EXPECT_EQ(piped(), "ab") << "the slot gets the answer of its first request";
  EXPECT_TRUE(parts->threads.at_rest(parts->places.dropped()).has_value());
  ::close(file);
}

TEST_F(RoleServiceTest, units_serve_a_role_that_was_given_to_them) {
  configure();
  EXPECT_FALSE(parts->service.units_serve(parts->roles.at(0)));
  parts->roles.pause();
  parts->config.bottom_half = BottomHalfMode::on_unit;
  configure();
  EXPECT_TRUE(parts->service.units_serve(parts->roles.at(0)));
}

}  // namespace
}  // namespace k2k::server
