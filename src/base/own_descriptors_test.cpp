#include "base/own_descriptors.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <utility>

#include "base/descriptor.hpp"

namespace k2k {
namespace {

TEST(OwnDescriptors, are_found_in_order_from_any_number_on) {
  for (const int number : {5, 63, 64, 1000, own_numbers_max - 1}) set_own(number, true);
  EXPECT_EQ(next_own(-7), 5);
  EXPECT_EQ(next_own(5), 5);
  EXPECT_EQ(next_own(6), 63);
  EXPECT_EQ(next_own(64), 64);
  EXPECT_EQ(next_own(65), 1000);
  EXPECT_EQ(next_own(1001), own_numbers_max - 1);
  for (const int number : {5, 63, 64, 1000, own_numbers_max - 1}) set_own(number, false);
  EXPECT_EQ(next_own(0), own_numbers_max);
  EXPECT_EQ(next_own(own_numbers_max), own_numbers_max);
}

TEST(OwnDescriptors, beyond_the_table_have_no_owner) {
  for (const int number : {-1, own_numbers_max, 1 << 30}) {
    set_own(number, true);
    EXPECT_FALSE(is_own(number));
  }
}

TEST(OwnDescriptors, include_a_descriptors_number_while_it_lives) {
  Descriptor first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int number = first.number();
  EXPECT_TRUE(is_own(number));
  {
    const Descriptor second(std::move(first));
    EXPECT_TRUE(is_own(number));
  }
  EXPECT_FALSE(is_own(number));
  EXPECT_EQ(::fcntl(number, F_GETFD), -1);
}

}  // namespace
}  // namespace k2k
