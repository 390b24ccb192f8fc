// Goal: the checker accepts what a register may do, and finds each kind of wrong answer.
// Method: small histories by hand, and random ones of a real register, which are then falsified.

#include "apps/memcached/history.hpp"

#include <gtest/gtest.h>

#include <random>

namespace k2k::memcached {
namespace {

Operation set(std::int64_t begin, std::int64_t end, std::uint64_t version, std::string value) {
  return {true, begin, end, version, std::move(value)};
}
Operation get(std::int64_t begin, std::int64_t end, std::uint64_t version, std::string value) {
  return {false, begin, end, version, std::move(value)};
}

TEST(History, accepts_what_a_register_may_do) {
  EXPECT_EQ(contradiction_in({}), std::nullopt);
  EXPECT_EQ(contradiction_in({get(0, 1, 0, ""), set(2, 3, 1, "a"), get(4, 5, 1, "a")}),
            std::nullopt);
  // A GET during a SET has the old or the new value.
  EXPECT_EQ(contradiction_in({set(0, 1, 1, "a"), set(2, 9, 2, "b"), get(3, 4, 1, "a"),
                              get(5, 6, 2, "b"), get(7, 8, 2, "b")}),
            std::nullopt);
}

TEST(History, finds_each_wrong_answer) {
  const Operation first = set(0, 1, 1, "a");
  const Operation second = set(2, 3, 2, "b");
  EXPECT_EQ(contradiction_in({first, second, get(4, 5, 1, "a")}),
            "an operation has an older version than one before it");
  EXPECT_EQ(contradiction_in({first, get(4, 5, 0, "")}),
            "an operation has an older version than one before it");
  EXPECT_EQ(contradiction_in({first, set(2, 9, 2, "b"), get(3, 4, 2, "b"), get(5, 6, 1, "a")}),
            "an operation has an older version than one before it");
  EXPECT_EQ(contradiction_in({first, get(2, 3, 1, "b")}), "a GET has another value than its SET");
  EXPECT_EQ(contradiction_in({first, get(2, 3, 7, "a")}), "a GET has a version that no SET has");
  EXPECT_EQ(contradiction_in({get(0, 1, 2, "b"), set(2, 3, 2, "b")}),
            "a GET has a value from the future");
  EXPECT_EQ(contradiction_in({first, set(2, 3, 1, "b")}), "two SETs have one version");
  EXPECT_EQ(contradiction_in({set(0, 1, 2, "a"), set(2, 3, 1, "b")}),
            "an operation has an older version than one before it");
}

TEST(History, accepts_random_registers_and_finds_a_stale_read_in_them) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    // Each operation takes effect at its moment, within its interval.
    std::vector<Operation> history;
    std::uint64_t version = 0;
    std::string value;
    std::int64_t moment = 0;
    for (int step = 0; step < 60; ++step) {
      moment += 10;
      Operation operation;
      operation.is_set = random() % 2 == 0;
      operation.begin = moment - static_cast<std::int64_t>(random() % 40);
      operation.end = moment + static_cast<std::int64_t>(random() % 40);
      if (operation.is_set) value = std::to_string(++version);
      operation.version = version;
      operation.value = value;
      history.push_back(operation);
    }
    ASSERT_EQ(contradiction_in(history), std::nullopt);
    history.push_back(
        {false, moment + 100, moment + 101, version - 1, std::to_string(version - 1)});
    EXPECT_NE(contradiction_in(history), std::nullopt);
  }
}

}  // namespace
}  // namespace k2k::memcached
