// Goal: a device of cores takes the cores that the program may use, and leaves one to the server.

#include "backend/cpu/config.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

#include "base/cores.hpp"

namespace k2k::backend::cpu {
namespace {

TEST(CpuConfig, has_a_unit_for_each_usable_core_but_one) {
  const std::uint32_t cores = usable_cores();
  EXPECT_EQ(complete({}).value().compute_units, cores > 1 ? cores - 1 : 1);
}

TEST(CpuConfig, has_one_unit_where_one_core_is_usable) {
  std::thread([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
    EXPECT_EQ(complete({}).value().compute_units, 1u);
  }).join();
}

}  // namespace
}  // namespace k2k::backend::cpu
