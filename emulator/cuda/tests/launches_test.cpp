// Launches as a program asks for them: shapes that do not fit, clusters, cooperative grids.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "emulator/cuda/tests/driver_fixture.hpp"

namespace k2k::emulator::driver {

namespace {

TEST_F(EmulatedDriver, refuses_launches_that_do_not_fit) {
  const CUdeviceptr words = memory(8192);
  EXPECT_EQ(launch("add", words, 1025), invalid_value);
  EXPECT_EQ(launch("add", words, 0), invalid_value);
  EXPECT_EQ(launch("small", words, 65), invalid_value);
  EXPECT_EQ(launch("small", words, 64), success);
  EXPECT_EQ(launch("add", words, 1, nullptr, 48 * 1024), success);
  EXPECT_EQ(launch("add", words, 1, nullptr, 48 * 1024 + 1), invalid_value);
  constexpr int dynamic_shared = 8;
  EXPECT_EQ(api().cuFuncSetAttribute(function("add"), dynamic_shared, 300 * 1024), invalid_value);
  EXPECT_EQ(api().cuFuncSetAttribute(function("add"), dynamic_shared, 200 * 1024), success);
  EXPECT_EQ(launch("add", words, 1, nullptr, 200 * 1024), success);
  EXPECT_EQ(launch("add", words, 1, nullptr, 227 * 1024), invalid_value);
  std::uint32_t amount = 1;
  CUdeviceptr address = words;
  void* parameters[] = {&address, &amount};
  EXPECT_EQ(api().cuLaunchKernel(function("add"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
            invalid_value);
  EXPECT_EQ(
      api().cuLaunchKernel(function("add"), 0, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr),
      invalid_value);
  EXPECT_EQ(api().cuLaunchCooperativeKernel(function("add"), 100'000, 1, 1, 1024, 1, 1, 0, nullptr,
                                            parameters),
            cooperative_launch_too_large);
  CUlaunchConfig config{};
  CUlaunchAttribute attribute{};
  std::fill_n(config.blocks, 3, 1u);
  std::fill_n(config.threads, 3, 1u);
  config.attributes = &attribute;
  config.attribute_count = 1;
  attribute.id = 11;  // A preferred size of clusters.
  EXPECT_EQ(api().cuLaunchKernelEx(&config, function("add"), parameters, nullptr), not_supported);
  attribute.id = 8;
  EXPECT_EQ(api().cuLaunchKernelEx(&config, function("add"), parameters, nullptr), success);
  // One buffer instead of pointers.
  struct {
    CUdeviceptr words;
    std::uint32_t amount;
    std::uint32_t unused;
  } packed{words, 3, 0};
  std::size_t bytes = 12;
  void* extra[] = {reinterpret_cast<void*>(1), &packed, reinterpret_cast<void*>(2), &bytes,
                   nullptr};
  EXPECT_EQ(api().cuLaunchKernel(function("add"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra),
            success);
  EXPECT_EQ(api().cuCtxSynchronize(), success);
}

// Each block writes its rank and its cluster's number, of a grid of 4 x 6 x 2.
TEST_F(EmulatedDriver, launches_clusters) {
  const std::string body =
      "{ .reg .b32 %r<9>; .reg .b64 %l<3>; ld.param.u64 %l1, [words];\n"
      "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z; mad.lo.u32 %r2, %r3, "
      "6, "
      "%r2; mad.lo.u32 %r1, %r2, 4, %r1; mul.wide.u32 %l2, %r1, 4; add.u64 %l1, %l1, %l2;\n"
      "mov.u32 %r1, %clusterid.x; mov.u32 %r2, %clusterid.y; mov.u32 %r3, %clusterid.z; mov.u32 "
      "%r4, %cluster_ctarank; mad.lo.u32 %r2, %r3, 10, %r2; mad.lo.u32 %r1, %r2, 10, %r1; "
      "mad.lo.u32 %r4, %r4, 1000, %r1; st.global.u32 [%l1], %r4;\n"
      "barrier.cluster.arrive; barrier.cluster.wait; ret; }\n";
  const auto kernel = [&](const std::string& name, const std::string& directives) {
    return ".visible .entry " + name + "(.param .u64 words) " + directives + body;
  };
  const std::string text = ".version 9.0\n.target sm_90\n.address_size 64\n" + kernel("any", "") +
                           kernel("fixed", ".explicitcluster .reqnctapercluster 2, 3, 1\n") +
                           kernel("open", ".explicitcluster\n") +
                           kernel("few", ".maxclusterrank 2\n");
  CUmodule module = nullptr;
  ASSERT_EQ(api().cuModuleLoadData(&module, text.c_str()), success);
  CUdeviceptr words = memory(4 * 48);
  void* parameters[] = {&words};
  CUlaunchAttribute cluster{};
  cluster.id = 4;
  CUlaunchConfig config{};
  config.blocks[0] = 4, config.blocks[1] = 6, config.blocks[2] = 2;
  std::fill_n(config.threads, 3, 1u);
  config.attributes = &cluster;
  CUfunction of = nullptr;
  const auto launched = [&](const char* name, std::array<std::uint32_t, 3> size) {
    std::copy_n(size.begin(), 3, cluster.value.words);
    config.attribute_count = size[0] == 0 ? 0 : 1;
    EXPECT_EQ(api().cuModuleGetFunction(&of, module, name), success);
    const CUresult answer = api().cuLaunchKernelEx(&config, of, parameters, nullptr);
    EXPECT_EQ(api().cuCtxSynchronize(), success);
    return answer;
  };
  const auto expect_numbers = [&](std::uint32_t across, std::uint32_t down) {
    const auto* const got = reinterpret_cast<const std::uint32_t*>(words);
    for (std::uint32_t block = 0; block < 48; ++block) {
      const std::uint32_t x = block % 4;
      const std::uint32_t y = block / 4 % 6;
      const std::uint32_t rank = x % across + y % down * across;
      EXPECT_EQ(got[block], rank * 1000 + x / across + y / down * 10 + block / 24 * 100) << block;
    }
  };
  EXPECT_EQ(launched("any", {2, 2, 1}), success);
  expect_numbers(2, 2);
  EXPECT_EQ(launched("fixed", {}), success);
  expect_numbers(2, 3);
  EXPECT_EQ(launched("any", {}), success);
  expect_numbers(1, 1);
  EXPECT_EQ(launched("fixed", {2, 3, 1}), success);
  EXPECT_EQ(launched("open", {4, 1, 1}), success);
  expect_numbers(4, 1);
  EXPECT_EQ(launched("few", {2, 1, 1}), success);
  EXPECT_EQ(launched("fixed", {2, 2, 1}), invalid_cluster_size);
  EXPECT_EQ(launched("open", {}), invalid_cluster_size);
  EXPECT_EQ(launched("any", {3, 1, 1}), invalid_cluster_size) << "4 blocks are not in threes";
  EXPECT_EQ(launched("any", {4, 6, 1}), invalid_cluster_size) << "24 blocks are too many";
  EXPECT_EQ(launched("few", {4, 1, 1}), invalid_cluster_size);
  const auto attribute = [&](const char* name, int number) {
    int value = -1;
    EXPECT_EQ(api().cuModuleGetFunction(&of, module, name), success);
    EXPECT_EQ(api().cuFuncGetAttribute(&value, number, of), success);
    return value;
  };
  EXPECT_EQ(attribute("open", 10), 1);
  EXPECT_EQ(attribute("fixed", 10), 0);
  EXPECT_EQ(attribute("fixed", 11), 2);
  EXPECT_EQ(attribute("fixed", 12), 3);
  EXPECT_EQ(attribute("any", 13), 0);
  int value = 0;
  EXPECT_EQ(api().cuDeviceGetAttribute(&value, 120, 0), success);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(api().cuLaunchCooperativeKernel(of, 100'000, 1, 1, 1, 1, 1, 0, nullptr, parameters),
            cooperative_launch_too_large);
}

TEST_F(EmulatedDriver, gives_cooperative_launches_a_workspace) {
  const CUdeviceptr words = memory(128);
  ASSERT_EQ(api().cuMemsetD32_v2(words, 0, 32), success);
  CUdeviceptr address = words;
  void* parameters[] = {&address};
  const auto* const back = reinterpret_cast<const std::uint32_t*>(words);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(api().cuLaunchCooperativeKernel(function("together"), 16, 1, 1, 1, 1, 1, 0, nullptr,
                                              parameters),
              success);
    ASSERT_EQ(api().cuCtxSynchronize(), success);
    for (int block = 0; block < 16; ++block) EXPECT_EQ(back[16 + block], 5u);
  }
  EXPECT_EQ(launch("together", words), success);
  EXPECT_EQ(api().cuCtxSynchronize(), success);
  EXPECT_EQ(back[0], 9u);
  EXPECT_EQ(api().cuMemFree_v2(words), success);
}

}  // namespace

}  // namespace k2k::emulator::driver
