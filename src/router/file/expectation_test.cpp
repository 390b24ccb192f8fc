// Goal: the choice of probed requests follows the table of expectation.hpp. Method: every state
// with every event against that table, and whole histories of a descriptor.

#include "router/file/expectation.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace k2k::router {
namespace {

using trust::Event;

constexpr Event events[] = {Event::all,    Event::some,    Event::none,
                            Event::fast,   Event::slow,    Event::slow_long,
                            Event::direct, Event::written, Event::evicted};

// The states, grouped by their action, and the next state after each event: the drawing as data.
// `up` and `down` are one step.
enum class Zone { last, absent, almost_absent, probed_absent, zero, probed_cached, cached, full };
enum class To { here, one, minus_one, zero, up, down, absent_from, down_four };

struct Row {
  Zone zone;
  std::int32_t first, last;
  To to[std::size(events)];
};

constexpr Row table[] = {
    // all, some, none, fast, slow, slow_long, direct, written, evicted
    {Zone::last,
     -79,
     -79,
     {To::one, To::zero, To::absent_from, To::one, To::zero, To::zero, To::here, To::zero,
      To::here}},
    {Zone::absent,
     -78,
     -64,
     {To::one, To::zero, To::absent_from, To::one, To::zero, To::zero, To::down, To::zero,
      To::here}},
    {Zone::probed_absent,
     -63,
     -1,
     {To::one, To::zero, To::down, To::one, To::zero, To::zero, To::here, To::zero, To::here}},
    {Zone::zero,
     0,
     0,
     {To::one, To::zero, To::minus_one, To::one, To::zero, To::zero, To::here, To::here, To::here}},
    {Zone::probed_cached,
     1,
     4,
     {To::up, To::zero, To::minus_one, To::up, To::zero, To::zero, To::here, To::here, To::zero}},
    {Zone::probed_cached,
     5,
     7,
     {To::up, To::zero, To::minus_one, To::up, To::down_four, To::zero, To::here, To::here,
      To::zero}},
    {Zone::cached,
     8,
     15,
     {To::up, To::zero, To::minus_one, To::up, To::down_four, To::zero, To::here, To::here,
      To::zero}},
    {Zone::full,
     16,
     16,
     {To::here, To::zero, To::minus_one, To::here, To::down_four, To::zero, To::here, To::here,
      To::zero}},
};

std::int32_t target(std::int32_t state, To to) {
  switch (to) {
    case To::here:
      return state;
    case To::one:
      return 1;
    case To::minus_one:
      return -1;
    case To::zero:
      return 0;
    case To::up:
      return state + 1;
    case To::down:
      return state - 1;
    case To::absent_from:
      return -64;
    case To::down_four:
      return state - 4;
  }
  return 99;
}

TEST(Trust, moves_as_the_table_says_from_every_state_by_every_event) {
  std::set<std::int32_t> seen;
  for (const Row& row : table) {
    for (std::int32_t state = row.first; state <= row.last; ++state) {
      EXPECT_TRUE(seen.insert(state).second) << state;
      EXPECT_EQ(trust::expects_cached(state), row.zone == Zone::cached || row.zone == Zone::full);
      EXPECT_EQ(trust::expects_absent(state), row.zone == Zone::absent || row.zone == Zone::last);
      for (std::size_t at = 0; at < std::size(events); ++at) {
        EXPECT_EQ(trust::after(state, events[at]), target(state, row.to[at]))
            << state << " by event " << at;
      }
    }
  }
  EXPECT_EQ(seen.size(), std::size_t{trust::cached_max - trust::absent_last + 1});
}

TEST(Trust, reaches_every_state_of_the_table_and_no_other) {
  std::set<std::int32_t> reached = {0};
  for (bool grows = true; grows;) {
    grows = false;
    for (const std::int32_t state : std::set(reached)) {
      for (const Event event : events) {
        grows = reached.insert(trust::after(state, event)).second || grows;
      }
    }
  }
  EXPECT_EQ(*reached.begin(), trust::absent_last);
  EXPECT_EQ(*reached.rbegin(), trust::cached_max);
  EXPECT_EQ(reached.size(), std::size_t{trust::cached_max - trust::absent_last + 1});
}

constexpr int descriptor = 5;
using Cached = Expectation::Cached;

// Notes one request as FileReader does. Returns true if it was expected to be absent.
bool request(Expectation& expectation, Cached cached) {
  const Expectation::Absent absent = expectation.expects_absent(descriptor);
  if (!absent.expected || absent.probe) expectation.note_probed(descriptor, cached);
  if (absent.expected && !absent.probe) expectation.note_direct(descriptor);
  return absent.expected;
}

TEST(Expectation, probes_once_in_sixteen_where_nothing_is_cached_and_stops_expecting_it_by_one) {
  Expectation expectation;
  for (int at = 0; at < 64; ++at) EXPECT_FALSE(request(expectation, Cached::none)) << at;
  for (int round = 0; round < 3; ++round) {
    for (int at = 0; at < 16; ++at) {
      EXPECT_EQ(expectation.expects_absent(descriptor).probe, at == 15);
      EXPECT_TRUE(request(expectation, Cached::none));
    }
  }
  EXPECT_FALSE(expectation.expects_absent(descriptor + 1).expected)
      << "each descriptor has its own expectation";
  int unneeded = 0;
  while (request(expectation, Cached::some)) ++unneeded;
  EXPECT_EQ(unneeded, 16);
  for (int at = 0; at < 64; ++at) EXPECT_FALSE(request(expectation, Cached::none)) << at;
  EXPECT_TRUE(request(expectation, Cached::none));
}

TEST(Expectation, ends_where_the_program_writes) {
  Expectation expectation;
  for (int at = 0; at < 70; ++at) request(expectation, Cached::none);
  ASSERT_TRUE(expectation.expects_absent(descriptor).expected);
  expectation.note_evicted(descriptor);
  EXPECT_TRUE(expectation.expects_absent(descriptor).expected)
      << "an eviction confirms the expectation";
  expectation.note_written(descriptor);
  EXPECT_FALSE(expectation.expects_absent(descriptor).expected);
}

// The permitted cost, for any share of cached requests, is cached requests that are read directly.
TEST(Expectation, reads_few_directly_that_are_cached_at_random) {
  for (const int permille : {5, 10, 20, 30, 50, 70, 100, 150, 250, 500}) {
    Expectation expectation;
    std::mt19937_64 random(static_cast<std::uint64_t>(permille));
    constexpr int requests = 200'000;
    int unneeded = 0;
    for (int at = 0; at < requests; ++at) {
      const bool cached = random() % 1000 < static_cast<std::uint64_t>(permille);
      unneeded += request(expectation, cached ? Cached::all : Cached::none) && cached ? 1 : 0;
    }
    EXPECT_LE(unneeded, requests / 40) << permille;
  }
}

TEST(Expectation, tells_for_each_descriptor_whether_its_file_was_entered) {
  Expectation expectation;
  constexpr int shared = Expectation::descriptors_max + 5;
  for (const int each : {5, 6, shared}) EXPECT_FALSE(expectation.is_entered(each));
  EXPECT_FALSE(expectation.may_be_entered(5));
  EXPECT_TRUE(expectation.may_be_entered(shared))
      << "a descriptor with a shared word may always be entered";
  EXPECT_TRUE(expectation.may_be_entered(-1));
  for (int read = 0; read < 20; ++read) expectation.note_fast(5);
  expectation.note_entered(5);
  EXPECT_TRUE(expectation.is_entered(5) && expectation.may_be_entered(5));
  EXPECT_FALSE(expectation.expects_cached(5)) << "a read saw absent pages";
  EXPECT_FALSE(expectation.is_entered(6));
  expectation.note_closed(shared);
  EXPECT_TRUE(expectation.may_be_entered(5)) << "the close of another descriptor changes nothing";
  expectation.note_closed(5);
  EXPECT_FALSE(expectation.is_entered(5) || expectation.may_be_entered(5));
}

TEST(Expectation, keeps_the_expectation_of_absent_pages_when_a_file_is_entered) {
  Expectation expectation;
  for (int read = 0; read < 80; ++read) expectation.note_probed(7, Expectation::Cached::none);
  ASSERT_TRUE(expectation.expects_absent(7).expected);
  expectation.note_entered(7);
  EXPECT_TRUE(expectation.expects_absent(7).expected);
}

}  // namespace
}  // namespace k2k::router
