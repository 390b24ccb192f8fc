#include "base/result.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

namespace k2k {
namespace {

Result<int> half_of(int number) {
  if (number % 2 != 0) return Error{EINVAL, "3 is odd; give an even number"};
  return number / 2;
}
Status check_even(int number) {
  if (number % 2 != 0) return Error{EINVAL, "odd"};
  return {};
}

TEST(Result, holds_a_value_or_an_error) {
  const Result<int> good = half_of(4);
  ASSERT_TRUE(good.ok());
  EXPECT_TRUE(static_cast<bool>(good));
  EXPECT_EQ(good.value(), 2);

  const Result<int> bad = half_of(3);
  EXPECT_FALSE(bad.ok());
  EXPECT_FALSE(static_cast<bool>(bad));
  EXPECT_EQ(bad.error().code, EINVAL);
  EXPECT_EQ(bad.error().message, "3 is odd; give an even number");
}

TEST(Result, moves_out_a_value_that_cannot_be_copied) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  EXPECT_EQ(**result.operator->(), 7);
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 7);
}

TEST(Result, is_read_as_a_pointer_is) {
  Result<std::vector<int>> three(std::vector<int>{1, 2, 3});
  (*three)[0] = 7;
  EXPECT_EQ((*std::as_const(three))[0], 7);
  EXPECT_EQ(std::as_const(three)->size(), 3u);
  EXPECT_EQ((*std::move(three)).size(), 3u);
}

TEST(Result, lets_a_loop_walk_over_the_value_of_a_temporary) {
  const auto three = [] { return Result<std::vector<int>>(std::vector<int>{1, 2, 3}); };
  int sum = 0;
  for (const int each : three().value()) sum += each;
  EXPECT_EQ(sum, 6);
}

TEST(Status, is_good_by_default_and_carries_its_error_otherwise) {
  EXPECT_TRUE(Status().ok());
  EXPECT_TRUE(check_even(2).ok());
  const Status bad = check_even(1);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().code, EINVAL);
}

TEST(ResultDeathTest, ends_the_process_when_the_missing_half_is_read) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(static_cast<void>(half_of(3).value()), "k2k: broken contract: ok\\(\\)");
  EXPECT_DEATH(static_cast<void>(half_of(4).error()), "k2k: broken contract: !ok\\(\\)");
  EXPECT_DEATH(static_cast<void>(check_even(2).error()), "k2k: broken contract: !ok\\(\\)");
}

}  // namespace
}  // namespace k2k
