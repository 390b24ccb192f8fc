#pragma once
// For tests: files of graphs in a folder of their own.
//
// Threading: the test's.

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "apps/common/input_fixture.hpp"
#include "apps/graph500/generate.hpp"
#include "apps/graph500/graph_file.hpp"

namespace k2k::graph500 {

using apps::Ended;
using apps::in_child;

inline constexpr const char* anew = "; make the file anew with --generate";

class GraphFiles : public apps::InputTest {
 protected:
  // A new file.
  std::string graph(const Recipe& recipe) {
    std::string made = path(std::to_string(count_++));
    const Status status = generate(made, recipe);
    EXPECT_TRUE(status) << status.error().message;
    return made;
  }
  static GraphFile open(const std::string& path) {
    auto file = open_graph(path);
    EXPECT_TRUE(file) << file.error().message;
    return std::move(file).value();
  }

 private:
  int count_ = 0;
};

}  // namespace k2k::graph500
