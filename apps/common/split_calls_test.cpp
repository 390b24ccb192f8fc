// Goal: the host makes each call that a group left, once, before the next piece runs, for any
// number of threads; and an error of a call is the group's alone. Method: the pieces are ordinary
// functions, and the calls are real.

#include "apps/common/split_calls.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace k2k::apps {
namespace {

TEST(SplitCalls, are_made_once_each_between_two_pieces) {
  for (const std::uint32_t threads : {1u, 2u, 5u}) {
    constexpr std::uint32_t groups = 37;
    std::vector<SplitCall> calls(groups);
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const char letter = 'k';
    std::uint32_t piece = 0;
    // Group g writes one byte in each of its first g % 4 pieces.
    const auto report = split_launches(calls.data(), groups, threads, [&]() -> Status {
      for (std::uint32_t group = 0; group < groups; ++group) {
        if (piece != 0 && piece <= group % 4) {
          EXPECT_EQ(calls[group].result, 1) << group;
        }
        if (piece < group % 4) {
          calls[group].leave(SYS_write, ends[1], reinterpret_cast<std::uintptr_t>(&letter), 1);
        } else {
          calls[group].leave_none();
        }
      }
      ++piece;
      return {};
    });
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->calls, 9 * (1 + 2 + 3));
    EXPECT_EQ(report->launches, 4u);
    char text[256];
    EXPECT_EQ(::read(ends[0], text, sizeof(text)), 9 * (1 + 2 + 3));
    ::close(ends[0]);
    ::close(ends[1]);
  }
}

TEST(SplitCalls, answer_as_linux_does) {
  std::vector<SplitCall> calls(2);
  bool first = true;
  const auto report = split_launches(calls.data(), 2, 2, [&]() -> Status {
    if (first) {
      calls[0].leave(SYS_close, -1);
      calls[1].leave(SYS_getpid);
    } else {
      EXPECT_EQ(calls[0].result, -EBADF);
      EXPECT_EQ(calls[1].result, ::getpid());
      for (SplitCall& call : calls) call.leave_none();
    }
    first = false;
    return {};
  });
  ASSERT_TRUE(report);
  EXPECT_EQ(report->launches, 2u);
}

TEST(SplitCalls, end_with_the_error_of_a_launch) {
  SplitCall call;
  const auto report =
      split_launches(&call, 1, 2, [] { return Status(Error{ENOEXEC, "no such kernel"}); });
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().message, "no such kernel");
}

}  // namespace
}  // namespace k2k::apps
