// Goal: read-modify-writes of device memory have equal results in every device scope.

#include "protocol/words.hpp"

#include <gtest/gtest.h>

namespace k2k::protocol {
namespace {

class DeviceWords : public testing::TestWithParam<DeviceScope> {};
INSTANTIATE_TEST_SUITE_P(scopes, DeviceWords,
                         testing::Values(DeviceScope::many_threads, DeviceScope::one_thread),
                         [](const auto& instance) {
                           return instance.param == DeviceScope::one_thread ? "one_thread"
                                                                            : "many_threads";
                         });

TEST_P(DeviceWords, are_exchanged_only_if_they_have_the_expected_value) {
  std::uint64_t word = 7;
  EXPECT_FALSE(device_compare_exchange(GetParam(), &word, std::uint64_t{8}, std::uint64_t{9}));
  EXPECT_EQ(word, 7u);
  EXPECT_TRUE(device_compare_exchange(GetParam(), &word, std::uint64_t{7}, ~std::uint64_t{0}));
  EXPECT_EQ(word, ~std::uint64_t{0});
}

TEST_P(DeviceWords, are_added_to_and_wrap) {
  std::uint64_t word = ~std::uint64_t{0};
  EXPECT_EQ(device_add(GetParam(), &word, std::uint64_t{2}), ~std::uint64_t{0});
  EXPECT_EQ(word, 1u);
  std::uint32_t narrow = 5;
  EXPECT_EQ(device_add(GetParam(), &narrow, ~std::uint32_t{0}), 5u);
  EXPECT_EQ(narrow, 4u);
}

TEST_P(DeviceWords, set_bits_and_return_the_old_value) {
  std::uint64_t word = 5;
  EXPECT_EQ(device_or(GetParam(), &word, std::uint64_t{1} << 63 | 1), 5u);
  EXPECT_EQ(word, std::uint64_t{1} << 63 | 5);
  device_clear(GetParam(), &word, std::uint64_t{1} << 63 | 2 | 1);
  EXPECT_EQ(word, 4u);
}

}  // namespace
}  // namespace k2k::protocol
