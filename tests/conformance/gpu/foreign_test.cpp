// Goal: kernels that the program launches by CUDA itself make calls while the runtime serves them,
// and the runtime's own launches are refused meanwhile.

#include <k2k/foreign.hpp>
#include <k2k/runtime.hpp>

#include "runtime/serving.hpp"
#include "tests/conformance/device_under_test.hpp"

namespace k2k::conformance {
namespace {

constexpr long no_such_descriptor = -1;

// Ranks along three dimensions, calls of both scopes, and local memory of each launch.
__global__ void call_everywhere(std::uint64_t context, long* answers) {
  k2k::begin(context);
  K2K_LOCAL(std::uint32_t, arrived);
  k2k::AtomicRef(arrived).fetch_add(1, k2k::memory_order_relaxed, k2k::memory_scope_work_group);
  const long own = k2k::close(k2k::work_item, static_cast<int>(no_such_descriptor));
  const long of_all = k2k::write(k2k::work_group, static_cast<int>(no_such_descriptor), "x", 1);
  k2k::barrier();
  answers[k2k::global_rank()] = own + 1000 * of_all + 1'000'000 * static_cast<long>(arrived);
}

struct NothingKernel {
  K2K_DEVICE void operator()() const {}
};

class ForeignKernels : public testing::Test {
 protected:
  ForeignKernels() : runtime_(Runtime::create({.backend = K2K_CONFORMANCE_GPU}).value()) {}

  Status launch_own() {
    const Result<LaunchReport> report = runtime_.launch({1, 1}, NothingKernel{});
    return report ? Status() : report.error();
  }

  Runtime runtime_;
};

TEST_F(ForeignKernels, are_served_until_the_end) {
  constexpr dim3 blocks(2, 3, 2);
  constexpr dim3 items(8, 4, 2);
  constexpr std::size_t count = 12 * 64;
  ASSERT_TRUE(Serving::begin(runtime_).ok());
  auto* const answers = static_cast<long*>(runtime_.allocate_shared(count * sizeof(long)).value());
  for (int launch = 0; launch < 3; ++launch) {
    const Result<std::uint64_t> context = Serving::context(runtime_);
    ASSERT_TRUE(context.ok()) << context.error().message;
    for (std::size_t at = 0; at < count; ++at) answers[at] = 0;
    call_everywhere<<<blocks, items>>>(context.value(), answers);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    for (std::size_t at = 0; at < count; ++at) {
      ASSERT_EQ(answers[at], -EBADF + 1000 * -EBADF + 1'000'000 * 64) << at;
    }
  }
  call_everywhere<<<blocks, items>>>(Serving::context(runtime_).value(), answers);
  EXPECT_TRUE(Serving::end(runtime_).ok()) << "it waits for the kernels";
  EXPECT_EQ(answers[count - 1], -EBADF + 1000 * -EBADF + 1'000'000 * 64);
  runtime_.free_shared(answers);
}

TEST_F(ForeignKernels, and_launches_of_the_runtime_take_turns) {
  EXPECT_EQ(Serving::context(runtime_).error().code, EINVAL);
  EXPECT_EQ(Serving::end(runtime_).error().code, EINVAL);
  EXPECT_TRUE(launch_own().ok());
  ASSERT_TRUE(Serving::begin(runtime_).ok());
  EXPECT_EQ(Serving::begin(runtime_).error().code, EBUSY);
  const Status refused = launch_own();
  EXPECT_EQ(refused.error().code, EBUSY);
  EXPECT_NE(refused.error().message.find("launch by another runtime"), std::string::npos);
  EXPECT_TRUE(Serving::end(runtime_).ok());
  EXPECT_TRUE(launch_own().ok());
  ASSERT_TRUE(Serving::begin(runtime_).ok()) << "again";
  EXPECT_TRUE(Serving::end(runtime_).ok());
}

}  // namespace
}  // namespace k2k::conformance
