#include "shim/open_numbers.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <climits>
#include <vector>

namespace k2k::shim {
namespace {

std::vector<int> open_numbers(int first, int last) {
  std::vector<int> found;
  any_open_number(first, last, [&](int number) {
    found.push_back(number);
    return false;
  });
  std::sort(found.begin(), found.end());
  return found;
}

TEST(OpenNumbers, are_the_kernels_without_the_folders_own) {
  const std::vector<int> before = open_numbers(0, INT_MAX);
  for (const int number : before) EXPECT_GE(fcntl(number, F_GETFD), 0) << number;
  std::vector<int> copies;
  for (int i = 0; i < 300; ++i) copies.push_back(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 400));
  EXPECT_EQ(open_numbers(400, INT_MAX), copies);  // More than one piece of the folder.
  EXPECT_EQ(open_numbers(450, 451), (std::vector<int>{450, 451}));
  for (const int copy : copies) close(copy);
  EXPECT_EQ(open_numbers(0, INT_MAX), before);
}

TEST(OpenNumbers, visiting_ends_with_the_first_true) {
  int visits = 0;
  EXPECT_TRUE(any_open_number(0, 2, [&](int) { return ++visits == 2; }));
  EXPECT_EQ(visits, 2);
  EXPECT_FALSE(any_open_number(0, 2, [](int) { return false; }));
}

TEST(OpenNumbers, are_found_one_by_one_where_the_folder_cannot_be_opened) {
  const int copy = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 300);
  const std::vector<int> before = open_numbers(0, INT_MAX);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{0, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::vector<int> found = open_numbers(0, INT_MAX);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(found, before);
  close(copy);
}

}  // namespace
}  // namespace k2k::shim
