// Goal: a named load has its documented properties, and is the same for the same seed; and reads
// cost as much as measured.

#include "backend/trace/loads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "backend/trace/cost.hpp"

namespace k2k::backend::trace {
namespace {

constexpr int draws = 20'000;

std::vector<Event> drawn(const std::string& name, std::uint64_t seed, std::uint32_t outstanding) {
  auto source = create_load(name, seed, outstanding);
  EXPECT_TRUE(source.ok()) << source.error().message;
  EXPECT_TRUE(source.value()->endless());
  EXPECT_TRUE(source.value()->uses(Operation::cost));
  EXPECT_FALSE(source.value()->uses(Operation::nop));
  std::vector<Event> events(draws);
  for (Event& event : events) {
    EXPECT_TRUE(source.value()->next(event));
    EXPECT_EQ(event.operation, Operation::cost);
  }
  return events;
}

double mean_us(const std::vector<Event>& events) {
  double sum = 0;
  for (const Event& event : events) sum += static_cast<double>(event.amount);
  return sum / 1e3 / static_cast<double>(events.size());
}

double median_us(const std::vector<Event>& events) {
  std::vector<std::uint64_t> amounts;
  for (const Event& event : events) amounts.push_back(event.amount);
  std::nth_element(amounts.begin(), amounts.begin() + draws / 2, amounts.end());
  return static_cast<double>(amounts[draws / 2]) / 1e3;
}

void expect_between(const std::vector<Event>& events, double least_us, double most_us) {
  for (const Event& event : events) {
    ASSERT_GE(static_cast<double>(event.amount), least_us * 1e3);
    ASSERT_LE(static_cast<double>(event.amount), most_us * 1e3);
  }
}

TEST(TraceLoads, uniform_is_the_study_load) {
  const std::vector<Event> events = drawn("uniform", 1, 64);
  for (int index = 0; index < 64; ++index) {
    EXPECT_EQ(events[static_cast<std::size_t>(index)].since, Since::begin);
    EXPECT_EQ(events[static_cast<std::size_t>(index)].after_ns, 0);
  }
  EXPECT_EQ(events[64].since, Since::answer);
  EXPECT_EQ(events[64].after_ns, 1'000);
  EXPECT_EQ(events.back().since, Since::answer);
  expect_between(events, 2, 50);
  EXPECT_NEAR(mean_us(events), 26, 0.5);
  EXPECT_NEAR(median_us(events), 26, 0.7);
}

TEST(TraceLoads, burst_is_silent_first) {
  const std::vector<Event> events = drawn("burst", 1, 3);
  EXPECT_EQ(events[2].since, Since::begin);
  EXPECT_EQ(events[2].after_ns, 1'000'000'000);
  EXPECT_EQ(events[3].since, Since::answer);
}

TEST(TraceLoads, lognormal_has_its_median_and_its_bounds) {
  const std::vector<Event> events = drawn("lognormal", 1, 64);
  expect_between(events, 2, 50);
  EXPECT_NEAR(median_us(events), 8, 0.3);
  EXPECT_NEAR(mean_us(events), 10.8, 0.3) << "exp(0.32) x 8, less the truncated tail";
}

TEST(TraceLoads, poisson_arrives_independently_of_the_host) {
  const std::vector<Event> events = drawn("poisson:20000", 1, 64);
  std::int64_t last = 0;
  for (const Event& event : events) {
    ASSERT_EQ(event.since, Since::begin);
    ASSERT_GE(event.after_ns, last);
    last = event.after_ns;
  }
  EXPECT_NEAR(static_cast<double>(last) / draws, 50'000, 1'000);
}

TEST(TraceLoads, are_the_same_for_the_same_seed) {
  const auto same = [](const std::vector<Event>& one, const std::vector<Event>& other) {
    return std::equal(one.begin(), one.end(), other.begin(), [](const Event& a, const Event& b) {
      return a.amount == b.amount && a.after_ns == b.after_ns;
    });
  };
  for (const char* name : {"uniform", "lognormal", "poisson:5"}) {
    EXPECT_TRUE(same(drawn(name, 3, 64), drawn(name, 3, 64))) << name;
    EXPECT_FALSE(same(drawn(name, 3, 64), drawn(name, 4, 64))) << name;
  }
}

TEST(TraceLoads, refuse_unknown_names_and_list_the_known_ones) {
  for (const char* name : {"", "unifor", "poisson", "poisson:", "poisson:0.5", "poisson:1e8",
                           "poisson:nan", "poisson:5x"}) {
    const auto source = create_load(name, 1, 1);
    ASSERT_FALSE(source.ok()) << name;
    EXPECT_EQ(source.error().message,
              "there is no load '" + std::string(name) +
                  "'; loads are uniform, burst, lognormal, poisson:RATE (requests a second, 1 to "
                  "10000000)");
  }
}

TEST(ReadCosts, give_the_size_for_a_duration) {
  const std::vector<ReadCost> costs = {{64, 1}, {1024, 3}, {4096, 3}, {8192, 11}};
  EXPECT_EQ(size_taking(0.5, costs), 64u);
  EXPECT_EQ(size_taking(1, costs), 64u);
  EXPECT_EQ(size_taking(2, costs), 544u);
  EXPECT_EQ(size_taking(3, costs), 1024u) << "the smallest where more costs no more";
  EXPECT_EQ(size_taking(7, costs), 6144u);
  EXPECT_EQ(size_taking(50, costs), 8192u);
  EXPECT_EQ(size_taking(50, std::vector<ReadCost>{{64, 1}}), 64u);
}

TEST(ReadCosts, are_measured_once_in_a_process) {
  const auto measured = measured_reads();
  ASSERT_TRUE(measured.ok()) << measured.error().message;
  const std::vector<ReadCost>& costs = measured.value();
  ASSERT_GE(costs.size(), 2u);
  EXPECT_EQ(costs.front().bytes, read_bytes_min);
  for (std::size_t index = 1; index < costs.size(); ++index) {
    EXPECT_EQ(costs[index].bytes, 2 * costs[index - 1].bytes);
    EXPECT_GE(costs[index].time_us, costs[index - 1].time_us);
  }
  const auto again = measured_reads();
  ASSERT_TRUE(again.ok()) << again.error().message;
  ASSERT_EQ(again.value().size(), costs.size());
  for (std::size_t index = 0; index < costs.size(); ++index) {
    EXPECT_EQ(again.value()[index].time_us, costs[index].time_us) << index;
  }
}

TEST(ReadCosts, are_an_error_where_nothing_can_be_read) {
  std::vector<std::byte> buffer(1024);
  const auto costs = measure_reads(-1, buffer, 50);
  ASSERT_FALSE(costs.ok());
  EXPECT_EQ(costs.error().code, EIO);
  EXPECT_EQ(costs.error().message, "cannot read /dev/urandom: Bad file descriptor");
}

}  // namespace
}  // namespace k2k::backend::trace
