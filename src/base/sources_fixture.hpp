#pragma once
// For tests that read the sources: their folder is in K2K_SOURCE_DIR, which ctest sets. Never
// installed.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace k2k {

class SourcesTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* const root = std::getenv("K2K_SOURCE_DIR");
    if (root == nullptr) GTEST_SKIP() << "K2K_SOURCE_DIR names no sources";
    root_ = root;
  }

  std::filesystem::path root_;
};

}  // namespace k2k
