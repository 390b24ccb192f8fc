// Goal: a device on which no other library launches kernels says so, and wrong uses are errors with
// a line of text. The real thing runs on the emulated driver (python/k2k_tests/cuda).

#include <gtest/gtest.h>
#include <k2k/k2k.h>

#include <cerrno>
#include <cstdint>
#include <string>

namespace {

class ServingInC : public testing::Test {
 protected:
  ServingInC() { EXPECT_EQ(k2k_runtime_create(nullptr, &runtime_), 0) << k2k_last_error(); }
  ~ServingInC() override { k2k_runtime_destroy(runtime_); }
  k2k_runtime* runtime_ = nullptr;
};

TEST_F(ServingInC, needs_a_device_that_other_libraries_use) {
  std::uint64_t context = 1;
  EXPECT_EQ(k2k_serve(runtime_), -ENOTSUP);
  EXPECT_NE(std::string(k2k_last_error()).find("set backend = \"cuda\""), std::string::npos)
      << k2k_last_error();
  EXPECT_EQ(k2k_serve_context(runtime_, &context), -ENOTSUP);
  EXPECT_EQ(context, 0u);
  EXPECT_EQ(k2k_serve_end(runtime_), -ENOTSUP);
}

TEST_F(ServingInC, refuses_null) {
  std::uint64_t context = 1;
  EXPECT_EQ(k2k_serve(nullptr), -EINVAL);
  EXPECT_EQ(k2k_serve_context(nullptr, &context), -EINVAL);
  EXPECT_EQ(context, 0u);
  EXPECT_EQ(k2k_serve_context(runtime_, nullptr), -EINVAL);
  EXPECT_EQ(std::string(k2k_last_error()), "context is null; pass one");
  EXPECT_EQ(k2k_serve_end(nullptr), -EINVAL);
}

extern "C" int begin_in_a_host_function(void* context, const k2k_buffer*, const void*,
                                        void* reply) {
  *static_cast<std::int32_t*>(reply) = k2k_serve(static_cast<k2k_runtime*>(context));
  return 0;
}

extern "C" void call_it(void* answer) {
  k2k_dev_host_call("begin", "i32()", nullptr, nullptr, answer);
}

TEST_F(ServingInC, is_no_work_for_a_host_function) {
  ASSERT_EQ(
      k2k_provide(runtime_, "begin", "i32()", k2k_may_block, begin_in_a_host_function, runtime_),
      0);
  std::int32_t answer = 0;
  ASSERT_EQ(k2k_launch(runtime_, 1, 1, call_it, &answer, nullptr), 0) << k2k_last_error();
  EXPECT_EQ(answer, -EDEADLK);
}

}  // namespace
