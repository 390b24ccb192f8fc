// Descriptor table: room is made before there are threads, and not afterwards.

#include "runtime/descriptor_table.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/single_threaded.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

namespace k2k {
namespace {

// The number of descriptors for which this process's table has room.
std::uint32_t room() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint32_t size = 0;
    if (word == "FDSize:" && status >> size) return size;
  }
  return 0;
}

// The highest number of an open descriptor.
int highest_open() {
  int highest = -1;
  for (int number = 0; number < 4096; ++number) {
    if (::fcntl(number, F_GETFD) >= 0) highest = number;
  }
  return highest;
}

// The C library remembers a second thread of an earlier test, and does not know of
// ThreadSanitizer's.
bool has_had_a_second_thread() {
#if defined(K2K_TSAN)
  return true;
#else
  return __libc_single_threaded == 0;
#endif
}

// A table never shrinks, and a child begins with the room that its open descriptors need.
template <class Work>
void in_child(Work work) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    work();
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(DescriptorTable, has_room_and_no_descriptor_more) {
  if (has_had_a_second_thread()) GTEST_SKIP() << "this process has had a second thread";
  in_child([] {
    ASSERT_LT(room(), descriptors_with_room);
    const int before = highest_open();
    make_room_for_descriptors(descriptors_with_room);
    EXPECT_GE(room(), descriptors_with_room);
    EXPECT_EQ(highest_open(), before);
  });
}

TEST(DescriptorTable, has_room_up_to_the_limit) {
  if (has_had_a_second_thread()) GTEST_SKIP() << "this process has had a second thread";
  in_child([] {
    const rlimit limit{500, 500};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    make_room_for_descriptors(100'000);
    EXPECT_GE(room(), 500u);
    EXPECT_LT(room(), descriptors_with_room);
  });
}

TEST(DescriptorTable, is_left_alone_in_a_process_with_threads) {
  in_child([] {
    std::thread([] {}).join();
    const std::uint32_t before = room();
    make_room_for_descriptors(descriptors_with_room);
    EXPECT_EQ(room(), before);
  });
}

}  // namespace
}  // namespace k2k
