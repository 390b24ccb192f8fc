// Goal: one launch gives the serial program's cells for any shape of launch and mesh, with and
// without returned memory; returned memory is less resident memory; within a memory limit a run
// ends with a watermark and is killed without one.

#include "apps/miniamr/amr.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "apps/common/small_device_fixture.hpp"
#include "apps/miniamr/memory_group.hpp"

namespace k2k::miniamr {
namespace {

Outcome run(const Settings& settings) {
  auto outcome = simulate(settings, apps::small_device());
  EXPECT_TRUE(outcome) << outcome.error().message;
  return outcome ? *outcome : Outcome();
}

std::uint64_t most_of(const Outcome& outcome) {
  return *std::max_element(outcome.resident.begin(), outcome.resident.end());
}

TEST(Mesh, has_a_place_of_its_own_for_every_cell_of_both_levels) {
  std::vector<std::uint8_t> fine(27);
  std::vector<Value> values(27 * root_bytes / sizeof(Value));
  const Mesh mesh{3, values.data(), fine.data()};
  std::set<const Value*> places;
  std::size_t cells = 0;
  for (std::uint32_t root = 0; root < mesh.roots(); ++root) {
    for (const std::uint32_t level : {0u, 1u}) {
      for (std::uint32_t number = 0; number < cells_of_root(level); ++number) {
        const Cell cell = cell_of_root(corner_of_root(mesh, root, level), level, number);
        ASSERT_EQ(mesh.root_of(level, cell), root);
        const Value* const place = &mesh.at(level, cell, 0);
        ASSERT_GE(place, values.data());
        ASSERT_LT(place + block_cells, values.data() + values.size());
        places.insert(place);
        ++cells;
      }
    }
  }
  EXPECT_EQ(places.size(), cells);
}

TEST(Mesh, is_fine_around_a_surface_that_moves_and_comes_back) {
  constexpr std::uint32_t side_roots = 6;
  std::set<std::uint32_t> ever;
  std::size_t most = 0;
  const auto fine_at = [](std::uint32_t step) {
    std::set<std::uint32_t> some;
    for (std::uint32_t root = 0; root < side_roots * side_roots * side_roots; ++root) {
      if (wants_fine(side_roots, root, step, 12)) some.insert(root);
    }
    return some;
  };
  for (std::uint32_t step = 0; step < 12; ++step) {
    const auto some = fine_at(step);
    EXPECT_FALSE(some.empty());
    most = std::max(most, some.size());
    ever.insert(some.begin(), some.end());
  }
  EXPECT_GT(ever.size(), most) << "other roots at other times";
  EXPECT_EQ(fine_at(0), fine_at(12));
  EXPECT_NE(fine_at(0), fine_at(6));
}

TEST(Mesh, changes_a_root_to_and_fro_without_a_change_of_its_values) {
  std::vector<std::uint8_t> fine(8);
  std::vector<Value> values(8 * root_bytes / sizeof(Value));
  const Mesh mesh{2, values.data(), fine.data()};
  const Cell corner = corner_of_root(mesh, 3, 0);
  for (std::uint32_t number = 0; number < block_cells; ++number) {
    mesh.at(0, cell_of_root(corner, 0, number), 1) = number * 7;
  }
  change_root(mesh, 3, true, 1);
  EXPECT_EQ(mesh.fine[3], 1);
  const Cell some = cell_of_root(corner, 0, 1'234);
  EXPECT_EQ(mesh.at(1, {2 * some.x + 1, 2 * some.y, 2 * some.z + 1}, 1), 1'234u * 7);
  EXPECT_EQ(sample(mesh, 0, some, 1), 1'234u * 7) << "the mean of eight equal cells";
  for (std::uint32_t number = 0; number < block_cells; ++number) {
    mesh.at(0, cell_of_root(corner, 0, number), 1) = 0;
  }
  change_root(mesh, 3, false, 1);
  for (std::uint32_t number = 0; number < block_cells; ++number) {
    ASSERT_EQ(mesh.at(0, cell_of_root(corner, 0, number), 1), number * 7);
  }
}

TEST(Amr, gives_the_serial_cells_for_each_shape) {
  for (const std::uint32_t roots : {2u, 3u}) {
    for (const std::uint32_t steps : {1u, 6u}) {
      const Settings settings{.roots_a_side = roots, .steps = steps, .period = 4};
      const std::uint64_t right = serial_checksum(settings);
      for (const std::uint32_t items : {1u, 7u, 64u}) {
        Settings one = settings;
        one.items = items;
        EXPECT_EQ(run(one).checksum, right) << roots << " roots, " << steps << " steps";
        one.watermark = 1;  // Always above: everything dead is returned at each step.
        const Outcome returned = run(one);
        EXPECT_EQ(returned.checksum, right) << "with returned memory";
        EXPECT_EQ(returned.failed, 0u);
        one.by = By::direct;
        const Outcome direct = run(one);
        EXPECT_EQ(direct.checksum, right) << "with calls of libc";
        EXPECT_EQ(direct.returned, returned.returned);
        EXPECT_EQ(direct.failed, 0u);
      }
    }
  }
}

TEST(Amr, the_checksum_depends_on_each_step_and_on_the_mesh) {
  const Settings settings{.roots_a_side = 2, .steps = 3, .period = 4};
  Settings longer = settings;
  longer.steps = 4;
  Settings slower = settings;
  slower.period = 8;
  EXPECT_NE(serial_checksum(settings), serial_checksum(longer));
  EXPECT_NE(serial_checksum(settings), serial_checksum(slower));
}

constexpr Settings moving{.roots_a_side = 8, .steps = 12, .period = 12};

TEST(Amr, returns_memory_above_the_watermark_and_none_below) {
  const Outcome never = run(moving);
  EXPECT_EQ(never.returned, 0u);
  ASSERT_EQ(never.resident.size(), moving.steps);
  EXPECT_GT(never.resident.front(), std::uint64_t{1} << 20) << "a process has pages";

  Settings low = moving;
  low.watermark = 1;
  const Outcome less = run(low);
  EXPECT_GT(less.returned, 0u);
  EXPECT_EQ(less.checksum, never.checksum);
  EXPECT_LT(most_of(less) + (std::uint64_t{4} << 20), most_of(never));

  Settings high = moving;
  high.watermark = std::uint64_t{1} << 40;
  EXPECT_EQ(run(high).returned, 0u);
}

TEST(Amr, is_killed_within_a_limit_and_ends_with_a_watermark) {
  // Linux charges the group with the pages that its process touches first: the mesh.
  const auto grown = [](const Settings& settings) {
    const Outcome outcome = run(settings);
    const std::uint64_t most = most_of(outcome);
    return most > outcome.resident_begin ? most - outcome.resident_begin : 0;
  };
  Settings low = moving;
  low.watermark = 1;
  const std::uint64_t with = grown(low);
  const std::uint64_t without = grown(moving);
  ASSERT_GT(without, with + (std::uint64_t{4} << 20));
  const std::uint64_t limit = (without + with) / 2;
  const auto ends = [&](const Settings& settings) -> int {
    const auto group = MemoryGroup::create(limit);
    if (!group) {
      EXPECT_NE(group.error().message.find("--limit needs a memory cgroup ("), std::string::npos);
      EXPECT_NE(group.error().message.find("systemd-run --user --scope"), std::string::npos);
      return -1;
    }
    const auto status = group->run([&] { return run(settings).failed == 0 ? 0 : 1; });
    EXPECT_TRUE(status);
    return *status;
  };
  const int killed = ends(moving);
  if (killed == -1) GTEST_SKIP() << "this process may not make a memory cgroup";
  EXPECT_TRUE(WIFSIGNALED(killed) && WTERMSIG(killed) == SIGKILL) << killed;
  const int finished = ends(low);
  EXPECT_TRUE(WIFEXITED(finished) && WEXITSTATUS(finished) == 0) << finished;
}

TEST(Amr, says_so_if_the_kernel_may_not_read_the_resident_memory) {
  RuntimeConfig config = apps::small_device();
  const std::string policy = testing::TempDir() + "k2k_miniamr_" + std::to_string(::getpid());
  std::ofstream(policy) << "[calls]\nrefuse = [\"open\", \"openat\"]\n";
  config.server.policy = server::CallPolicy::file;
  config.server.policy_file = policy;
  const auto refused = simulate({.roots_a_side = 2, .steps = 2, .period = 4}, config);
  ::unlink(policy.c_str());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("the kernel could not read /proc/self/statm ("),
            std::string::npos)
      << refused.error().message;
}

TEST(Amr, a_mesh_that_has_no_addresses_is_an_error_with_a_remedy) {
#if defined(K2K_TSAN) || defined(K2K_ASAN)
  GTEST_SKIP() << "sanitizers need more address space than the limit leaves";
#endif
  // In a child: the limit cannot be raised again.
  const auto told = [] {
    rlimit limit{};
    limit.rlim_cur = limit.rlim_max = rlim_t{6} << 30;
    ::setrlimit(RLIMIT_AS, &limit);
    const auto outcome = simulate({.roots_a_side = roots_a_side_most}, apps::small_device());
    return !outcome && outcome.error().code == ENOMEM &&
           outcome.error().message.find(
               "bytes for the mesh (Cannot allocate memory); take fewer "
               "--roots") != std::string::npos;
  };
  EXPECT_EXIT(::_exit(told() ? 0 : 1), testing::ExitedWithCode(0), "");
}

TEST(MemoryGroup, is_below_the_group_of_this_process) {
  EXPECT_EQ(folder_of_group("5:memory:/user/1\n0::/\n"), "/sys/fs/cgroup/memory/user/1");
  EXPECT_EQ(folder_of_group("7:cpu,memory:/\n"), "/sys/fs/cgroup/memory");
  EXPECT_EQ(folder_of_group("0::/user.slice/a\n"), "/sys/fs/cgroup/user.slice/a");
  EXPECT_EQ(folder_of_group("3:memory_other:/x\nnonsense\n"), "");
}

}  // namespace
}  // namespace k2k::miniamr
