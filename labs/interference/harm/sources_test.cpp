// Goal: each source has its trace, and a setting's words are those that a server can take.

#include "labs/interference/harm/sources.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace k2k::labs::harm {
namespace {

TEST(HarmSources, has_each_generator_as_a_trace) {
  const std::vector<std::string> names = source_names();
  for (const char* const name : {"ubench-recorded", "bpt", "xsbench", "bfs", "spmv", "sssp", "heap",
                                 "pages", "signals", "files"}) {
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
    const Result<Trace> trace = source_of(name, 1);
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    EXPECT_FALSE(trace->endless());
    EXPECT_GT(trace->events(), 100u) << name;
  }
}

TEST(HarmSources, refuse_a_file_that_is_no_trace_by_its_line) {
  const std::string path = testing::TempDir() + "k2k_source_" + std::to_string(::getpid());
  std::ofstream(path) << "# k2k trace 1\n+1 fault 4096\n+1 fault none\n";
  const Result<Trace> trace = source_of(path, 1);
  std::remove(path.c_str());
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.error().message,
            path + ": line 3: 'none' is no such amount; fault takes 1 to 131072 bytes");
}

TEST(HarmSettings, words_need_values_that_a_server_can_take) {
  const server::ServerConfig usual;
  const auto automatic = setting_of("default+loss=2%", usual);
  ASSERT_TRUE(automatic.ok());
  EXPECT_EQ(automatic.value().governor, k2k::governor::Policy::automatic);
  EXPECT_EQ(automatic.value().loss_max_permille, 20u);
  EXPECT_EQ(automatic.value().cap_permille, 1000u);
  EXPECT_EQ(crowd_of("staged+devices=4+limit=5%").value().devices, 4u);
  EXPECT_EQ(crowd_of("staged").value().devices, 1u);
  for (const char* wrong : {"devices=0", "devices=65", "devices=", "limit=", "limit=2",
                            "loss=", "loss=0.01%", "cap="}) {
    EXPECT_FALSE(setting_of(wrong, usual).ok()) << wrong;
  }
  EXPECT_EQ(setting_of("devices=65", usual).error().message,
            "devices is '65'; permitted are 1 to 64");
}

}  // namespace
}  // namespace k2k::labs::harm
