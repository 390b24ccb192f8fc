// Goal: rules are data that a user can extend; a wrong file names its fault.

#include "cli/watch/rules.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

namespace k2k::watch {
namespace {

std::string problem_of(const std::string& text) {
  const Result<Rules> rules = Rules::parse(text, "own.toml");
  return rules ? "" : rules.error().message;
}

constexpr const char* right_rule =
    "[[rule]]\nwhere='thread'\nmatch=['mine*']\npart='mine'\nkind='accelerator'\n";

TEST(WatchRules, built_in_ones_have_every_kind_of_device) {
  const Rules rules = Rules::built_in();
  std::set<std::string> parts;
  for (const Rule& rule : rules.list()) parts.insert(rule.part);
  for (const char* part :
       {"nvidia", "amdgpu", "xe", "iommu", "storage", "network", "virtio", "fuse"}) {
    EXPECT_TRUE(parts.contains(part)) << part;
  }
}

TEST(WatchRules, first_match_of_a_place_decides) {
  const Rules rules = Rules::built_in();
  const Rule* rule = rules.find(Where::driver, "nvidia");
  ASSERT_NE(rule, nullptr);
  EXPECT_EQ(rule->part, "nvidia");
  EXPECT_EQ(rules.find(Where::driver, "virtio_blk")->part, "storage");
  EXPECT_EQ(rules.find(Where::driver, "virtio_gpu")->part, "virtio");
  EXPECT_EQ(rules.find(Where::workqueue, "no such queue"), nullptr);
  EXPECT_EQ(rules.find(Where::driver, ""), nullptr);
}

TEST(WatchRules, threads_of_programs_match_only_rules_that_say_so) {
  const Rules rules = Rules::built_in();
  EXPECT_NE(rules.find(Where::thread, "nv_queue"), nullptr);
  EXPECT_EQ(rules.find(Where::thread, "nv_queue", true), nullptr);
  EXPECT_NE(rules.find(Where::thread, "vhost-12", true), nullptr);
}

TEST(WatchRules, own_file_precedes_the_built_in_ones) {
  const std::string path = testing::TempDir() + "k2k_watch_rules.toml";
  std::ofstream(path) << "[[rule]]\nwhere='driver'\nmatch=['nv*']\npart='mine'\nkind='storage'\n";
  const Result<Rules> rules = Rules::from_file(path);
  ASSERT_TRUE(rules.ok()) << rules.error().message;
  EXPECT_EQ(rules->find(Where::driver, "nvidia")->part, "mine");
  EXPECT_EQ(rules->find(Where::driver, "amdgpu")->part, "amdgpu");
  ASSERT_EQ(std::remove(path.c_str()), 0);
  const Result<Rules> missing = Rules::from_file(path);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message, "cannot open " + path + ": No such file or directory");
}

TEST(WatchRules, wrong_file_names_its_fault) {
  EXPECT_EQ(problem_of(right_rule), "");
  EXPECT_NE(problem_of("[[rule]\n").find("own.toml line 1: "), std::string::npos);
  EXPECT_EQ(problem_of("[other]\n"), "own.toml: 'other' is no [[rule]]");
  EXPECT_EQ(problem_of("[[rule]]\nwhere='moon'\n"),
            "own.toml: rule 1 has where = 'moon'; there are interrupt, driver, softirq, thread, "
            "workqueue, function");
  EXPECT_EQ(problem_of("[[rule]]\nwhere='thread'\n"),
            "own.toml: rule 1 lacks match, a list of patterns such as [\"irq/*-nvidia\"]");
  EXPECT_EQ(problem_of("[[rule]]\nwhere='thread'\nmatch=['']\n"),
            "own.toml: rule 1 lacks match, a list of patterns such as [\"irq/*-nvidia\"]");
  EXPECT_EQ(problem_of("[[rule]]\nwhere='thread'\nmatch=['x']\n"),
            "own.toml: rule 1 lacks part, the name of its row");
  EXPECT_EQ(problem_of(std::string(right_rule) + "colour='red'\n"),
            "own.toml: rule 1 has the key 'colour'; there are where, match, part, kind, programs");
  EXPECT_EQ(problem_of("[[rule]]\nwhere='thread'\nmatch=['x']\npart='p'\nkind='k'\n"),
            "own.toml: rule 1 has kind = 'k'; there are accelerator, storage, network, iommu, "
            "filesystem, interrupts, virtual, kernel");
}

}  // namespace
}  // namespace k2k::watch
