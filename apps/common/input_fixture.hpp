#pragma once
// For tests of programs with input files: files in a folder of their own, bytes of them changed,
// children, and a small device.
//
// Threading: the test's.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "apps/common/input_memory.hpp"
#include "apps/common/resident.hpp"
#include "apps/common/small_device_fixture.hpp"
#include "base/descriptor.hpp"
#include "base/temporary_folder.hpp"

namespace k2k::apps {

// Mode::huge only where Linux gives huge pages now.
inline std::vector<Mode> modes_here() {
  std::vector<Mode> modes = {Mode::demand, Mode::pinned};
  const auto pages = Pages::zeros(1, true);
  if (!pages) return modes;
  *static_cast<volatile std::byte*>(pages->data()) = std::byte{1};
  if (huge_bytes_at(pages->data()) != 0) modes.push_back(Mode::huge);
  return modes;
}

struct Ended {
  int status = -1;   // As of waitpid(2).
  std::string said;  // On standard error.
};

// Runs the body in a child, whose exit status it returns. For limits, signals and what ends a
// process.
template <class Body>
Ended in_child(Body body) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::_exit(body());
  }
  ::close(ends[1]);
  Ended ended;
  char piece[4096];
  for (ssize_t got = 0; (got = ::read(ends[0], piece, sizeof(piece))) > 0;) {
    ended.said.append(piece, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  ::waitpid(child, &ended.status, 0);
  return ended;
}

// What work(256 threads) says, which fails, in a process whose address space has no room for their
// stacks. Skips the test where a sanitizer needs that space.
template <class Work>
void expect_too_few_threads(Work work) {
#if defined(K2K_TSAN) || defined(K2K_ASAN)
  GTEST_SKIP() << "sanitizers need more address space than the limit leaves";
#endif
  const Ended ended = in_child([&] {
    const rlimit limit{rlim_t{1} << 30, rlim_t{1} << 30};
    ::setrlimit(RLIMIT_AS, &limit);
    const std::string said = work(256u);
    std::fputs(said.c_str(), stderr);
    return 0;
  });
  EXPECT_EQ(ended.said.find("only "), 0u) << ended.said;
  EXPECT_NE(ended.said.find(" of 256 threads could be started (Resource temporarily unavailable); "
                            "take fewer --threads, or raise the limit of processes (ulimit -u)"),
            std::string::npos)
      << ended.said;
}

class InputTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return own_.path() + "/" + name; }
  template <class Value>
  static void put(const std::string& path, std::uint64_t at, const Value& value) {
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_EQ(::pwrite(file.number(), &value, sizeof(value), static_cast<off_t>(at)),
              static_cast<ssize_t>(sizeof(value)));
  }
  static void cut(const std::string& path, std::uint64_t bytes) {
    ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(bytes)), 0);
  }
  // The message of a result that is an error, without the path of its file.
  template <class Value>
  static std::string refusal(const std::string& path, const Result<Value>& result) {
    if (result) return "no error";
    const std::string& message = result.error().message;
    return message.rfind(path + ": ", 0) == 0 ? message.substr(path.size() + 2) : message;
  }

 private:
  const TemporaryFolder own_ = TemporaryFolder::create("k2k-inputs").value();
};

}  // namespace k2k::apps
