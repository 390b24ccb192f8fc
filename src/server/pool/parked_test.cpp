// Goal: each parked request is returned once, in order, and not before it is due.

#include "server/pool/parked.hpp"

#include <gtest/gtest.h>

#include <set>

namespace k2k::server {
namespace {

Pending call(std::uint32_t wave) {
  Pending pending;
  pending.request.wave = wave;
  return pending;
}

using Parking = ParkedRequests::Added;

void park(ParkedRequests& parked, const Pending& pending, std::size_t budget, std::uint64_t due) {
  EXPECT_EQ(parked.add(pending, budget, due), Parking::parked);
}

// Takes the due requests of a queue; all are admitted, or none.
std::vector<std::uint32_t> take(ParkedRequests& parked, std::uint64_t moment, std::size_t most,
                                bool admitted = true, std::uint64_t due = 0) {
  std::vector<Pending> batch;
  parked.take(
      moment, most, batch, [&](const services::Request&) { return admitted; },
      [&](const services::Request&) { return due; });
  std::vector<std::uint32_t> waves;
  for (const Pending& pending : batch) waves.push_back(pending.request.wave);
  return waves;
}

TEST(ParkedRequests, is_never_due_while_empty) {
  ParkedRequests parked;
  EXPECT_EQ(parked.count(), 0u);
  EXPECT_EQ(parked.due(), ParkedRequests::never);
  EXPECT_TRUE(take(parked, ~std::uint64_t{0} - 1, 8).empty());
}

TEST(ParkedRequests, gives_each_back_when_it_is_due_in_order) {
  ParkedRequests parked;
  park(parked, call(1), 0, 100);
  park(parked, call(2), 3, 50);
  park(parked, call(3), 0, 100);
  EXPECT_EQ(parked.count(), 3u);
  EXPECT_EQ(parked.due(), 50u);
  EXPECT_TRUE(take(parked, 49, 8).empty());
  EXPECT_EQ(parked.due(), 50u);
  EXPECT_EQ(take(parked, 60, 8), (std::vector<std::uint32_t>{2}));
  EXPECT_EQ(parked.due(), 100u);
  EXPECT_EQ(take(parked, 100, 8), (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(parked.due(), ParkedRequests::never);
  EXPECT_EQ(parked.count(), 0u);
}

TEST(ParkedRequests, gives_no_more_than_asked_for_and_the_rest_at_once) {
  ParkedRequests parked;
  for (std::uint32_t wave = 0; wave < 5; ++wave) park(parked, call(wave), 0, 10);
  EXPECT_EQ(take(parked, 10, 2), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(parked.due(), 10u) << "what is left is due, too";
  EXPECT_EQ(take(parked, 11, 8), (std::vector<std::uint32_t>{2, 3, 4}));
}

TEST(ParkedRequests, keeps_what_is_not_admitted_until_it_is_worth_asking) {
  ParkedRequests parked;
  park(parked, call(7), 1, 10);
  EXPECT_TRUE(take(parked, 20, 8, false, 500).empty());
  EXPECT_EQ(parked.count(), 1u);
  EXPECT_EQ(parked.due(), 500u);
  EXPECT_EQ(take(parked, 500, 8), (std::vector<std::uint32_t>{7}));
}

// A device that publishes a slot again while its request is parked must not exhaust the host's
// memory.
TEST(ParkedRequests, keeps_one_request_of_a_slot_until_it_is_taken) {
  ParkedRequests parked;
  EXPECT_EQ(parked.add(call(7), 1, 10), Parking::parked);
  for (int time = 0; time < 1000; ++time) EXPECT_EQ(parked.add(call(7), 1, 10), Parking::dropped);
  EXPECT_EQ(parked.count(), 1u);
  EXPECT_EQ(take(parked, 10, 8), (std::vector<std::uint32_t>{7}));
  EXPECT_EQ(parked.add(call(7), 1, 10), Parking::parked) << "its slot may be used again";
  EXPECT_EQ(parked.count(), 1u);
}

TEST(ParkedRequests, forgets_none_when_it_is_drained) {
  ParkedRequests parked;
  for (std::uint32_t wave = 0; wave < 10; ++wave) park(parked, call(wave), wave % 3, 1000);
  std::vector<Pending> all;
  parked.drain(all);
  std::set<std::uint32_t> waves;
  for (const Pending& pending : all) waves.insert(pending.request.wave);
  EXPECT_EQ(waves.size(), 10u);
  EXPECT_EQ(parked.count(), 0u);
  EXPECT_EQ(parked.due(), ParkedRequests::never);
}

}  // namespace
}  // namespace k2k::server
