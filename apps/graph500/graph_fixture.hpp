#pragma once
// For tests: files of graphs in a folder of their own, bytes of them changed, and children.
//
// Threading: none.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "apps/graph500/generate.hpp"
#include "apps/graph500/graph_file.hpp"
#include "base/temporary_folder.hpp"

namespace k2k::graph500 {

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

class GraphFiles : public testing::Test {
 protected:
  GraphFiles() : folder_(TemporaryFolder::create("k2k-graph500").value()) {}

  [[nodiscard]] std::string path(const std::string& name) const {
    return folder_.path() + "/" + name;
  }
  // A new file.
  std::string graph(const Recipe& recipe) {
    std::string made = path(std::to_string(count_++));
    const Status status = generate(made, recipe);
    EXPECT_TRUE(status) << status.error().message;
    return made;
  }
  static GraphFile open(const std::string& path) {
    auto file = GraphFile::open(path);
    EXPECT_TRUE(file) << file.error().message;
    return std::move(file).value();
  }
  template <class Value>
  static void put(const std::string& path, std::uint64_t at, const Value& value) {
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_EQ(::pwrite(file.number(), &value, sizeof(value), static_cast<off_t>(at)),
              static_cast<ssize_t>(sizeof(value)));
  }
  static void cut(const std::string& path, std::uint64_t bytes) {
    ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(bytes)), 0);
  }

 private:
  TemporaryFolder folder_;
  int count_ = 0;
};

}  // namespace k2k::graph500
