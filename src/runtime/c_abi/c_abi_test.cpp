// Goal: C has every function, every failure is a negative errno with a line of text, and the header
// is C11.

#include <gtest/gtest.h>
#include <k2k/k2k.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

namespace {

class CAbi : public testing::Test {
 protected:
  CAbi() {
    EXPECT_EQ(k2k_options_create(&options_), 0);
    EXPECT_EQ(k2k_options_set(options_, "device.compute_units", "1"), 0);
    EXPECT_EQ(k2k_options_set(options_, "device.resident_waves", "4"), 0);
    EXPECT_EQ(k2k_runtime_create(options_, &runtime_), 0) << k2k_last_error();
  }
  ~CAbi() override {
    k2k_runtime_destroy(runtime_);
    k2k_options_destroy(options_);
  }
  k2k_options* options_ = nullptr;
  k2k_runtime* runtime_ = nullptr;
};

struct Answers {
  long process[64];
  unsigned long long rank[64];
};

extern "C" void ask(void* argument) {
  auto* const answers = static_cast<Answers*>(argument);
  const auto rank = k2k_dev_global_rank();
  answers->rank[rank] = rank + k2k_dev_global_size() * 1000;
  k2k_dev_barrier();
  answers->process[rank] = k2k_dev_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

extern "C" void ask_as_group(void* argument) {
  auto* const answers = static_cast<Answers*>(argument);
  const long answer = k2k_dev_group_syscall(SYS_close, -1, 0, 0, 0, 0, 0);
  answers->process[k2k_dev_group_rank() * k2k_dev_group_size() + k2k_dev_item_rank()] = answer;
}

TEST_F(CAbi, every_work_item_makes_a_call) {
  Answers answers{};
  ASSERT_EQ(k2k_launch(runtime_, 2, 32, ask, &answers, "ask"), 0) << k2k_last_error();
  for (unsigned rank = 0; rank < 64; ++rank) {
    EXPECT_EQ(answers.process[rank], getpid());
    EXPECT_EQ(answers.rank[rank], rank + 64'000);
  }
  EXPECT_EQ(k2k_drain(runtime_), 0) << k2k_last_error();
}

TEST_F(CAbi, a_group_call_gives_its_answer_to_all) {
  Answers answers{};
  ASSERT_EQ(k2k_launch(runtime_, 2, 32, ask_as_group, &answers, nullptr), 0) << k2k_last_error();
  for (const long answer : answers.process) EXPECT_EQ(answer, -EBADF);
}

// Functions of the host, and kernels that call them.

extern "C" int add(void* context, const k2k_buffer*, const void* values, void* reply) {
  const auto* const words = static_cast<const std::int64_t*>(values);
  const auto sum = static_cast<std::int32_t>(words[0] + words[1]);
  if (sum < 0) return -ERANGE;
  *static_cast<std::int32_t*>(reply) = sum;
  ++*static_cast<std::atomic<int>*>(context);
  return 0;
}

extern "C" int scale(void*, const k2k_buffer* buffers, const void* values, void* reply) {
  const double factor = *static_cast<const double*>(values);
  const auto* const from = static_cast<const float*>(buffers[0].data);
  auto* const to = static_cast<float*>(buffers[1].data);
  double sum = 0;
  for (std::size_t index = 0; index < buffers[0].bytes / sizeof(float); ++index) {
    to[index] = from[index] * static_cast<float>(factor);
    sum += to[index];
  }
  *static_cast<double*>(reply) = sum;
  return 0;
}

struct Calls {
  long results[6];
  std::int32_t sum;
  double scaled_sum;
  float scaled[3];
};

extern "C" void call_functions(void* argument) {
  auto* const calls = static_cast<Calls*>(argument);
  const std::int64_t words[2] = {40, 2};
  const std::int64_t negative[2] = {-40, 2};
  calls->results[0] = k2k_dev_host_call("add", "i32(i64, i64)", nullptr, words, &calls->sum);
  calls->results[1] = k2k_dev_host_call("add", "i32(i64,i64)", nullptr, negative, &calls->sum);
  calls->results[2] = k2k_dev_host_call("add", "i32(i64)", nullptr, words, &calls->sum);
  calls->results[3] = k2k_dev_host_call("add", "i32(i64", nullptr, words, &calls->sum);
  calls->results[4] = k2k_dev_host_call("add", "i32(i64,i64)", nullptr, words, nullptr);
  float from[3] = {1, 2, 3};
  float to[3] = {};
  const k2k_buffer buffers[2] = {{from, sizeof(from)}, {to, sizeof(to)}};
  const double factor = 2;
  double reply = 0;
  calls->results[5] =
      k2k_dev_host_call("scale", "f64(in f32,out f32,f64)", buffers, &factor, &reply);
  calls->scaled_sum = reply;
  for (int index = 0; index < 3; ++index) calls->scaled[index] = to[index];
}

TEST_F(CAbi, kernels_call_functions_of_the_program) {
  for (const int host_class : {k2k_may_block, k2k_never_blocks}) {
    std::atomic<int> added{0};
    ASSERT_EQ(k2k_provide(runtime_, "add", "i32(i64,i64)", host_class, add, &added), 0)
        << k2k_last_error();
    ASSERT_EQ(
        k2k_provide(runtime_, "scale", "f64(in f32, out f32, f64)", host_class, scale, nullptr), 0)
        << k2k_last_error();
    Calls calls{};
    testing::internal::CaptureStderr();
    ASSERT_EQ(k2k_launch(runtime_, 1, 1, call_functions, &calls, "calls"), 0) << k2k_last_error();
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_NE(log.find("'add' with another signature than \"i32(i64,i64)\""), std::string::npos);
    const std::vector<long> results(std::begin(calls.results), std::end(calls.results));
    EXPECT_EQ(results, (std::vector<long>{0, -ERANGE, -EPROTO, -EINVAL, -EINVAL, 0}));
    EXPECT_EQ(calls.sum, 42);
    EXPECT_EQ(calls.scaled_sum, 12);
    EXPECT_EQ(calls.scaled[2], 6);
    EXPECT_EQ(added.load(), 1);
    EXPECT_EQ(k2k_withdraw(runtime_, "add"), 0) << k2k_last_error();
    EXPECT_EQ(k2k_withdraw(runtime_, "scale"), 0) << k2k_last_error();
  }
  EXPECT_EQ(k2k_withdraw(runtime_, "add"), -ENOENT);
  EXPECT_STREQ(k2k_last_error(), "no host function 'add' is provided");
}

TEST_F(CAbi, kernels_call_functions_from_memory_that_the_host_cannot_reach) {
  ASSERT_EQ(k2k_options_set(options_, "device.strict", "true"), 0);
  k2k_runtime* strict = nullptr;
  ASSERT_EQ(k2k_runtime_create(options_, &strict), 0) << k2k_last_error();
  ASSERT_EQ(k2k_provide(strict, "scale", "f64(in f32,out f32,f64)", k2k_may_block, scale, nullptr),
            0);
  Calls calls{};
  ASSERT_EQ(k2k_launch(strict, 1, 1, call_functions, &calls, "calls"), 0) << k2k_last_error();
  EXPECT_EQ(calls.results[0], -ENOSYS);
  EXPECT_EQ(calls.results[5], 0);
  EXPECT_EQ(calls.scaled_sum, 12);
  EXPECT_EQ(calls.scaled[1], 4);
  k2k_runtime_destroy(strict);
}

TEST_F(CAbi, functions_are_refused_with_a_reason) {
  const auto refusal = [&](const char* name, const char* signature, int host_class) {
    const int code = k2k_provide(runtime_, name, signature, host_class, add, nullptr);
    return std::to_string(code) + " " + k2k_last_error();
  };
  EXPECT_EQ(refusal(nullptr, "void()", 0), "-22 name is null; pass one");
  EXPECT_EQ(refusal("name", nullptr, 0), "-22 signature is null; pass one");
  EXPECT_EQ(refusal("name", "void()", 2),
            "-22 2 is no class of host functions; expected: k2k_may_block (0) or k2k_never_blocks "
            "(1)");
  EXPECT_EQ(refusal("name", "void(", 0),
            "-22 the signature \"void(\" has an error at character 6: expected a type such as i32, "
            "u8, f64 or s24, or in, out, inout");
  EXPECT_EQ(refusal("k2k.x", "void()", 0).substr(0, 34), "-22 the name 'k2k.x' begins with \"");
  EXPECT_EQ(k2k_provide(runtime_, "name", "void()", 0, nullptr, nullptr), -EINVAL);
  EXPECT_EQ(k2k_provide(nullptr, "name", "void()", 0, add, nullptr), -EINVAL);
  EXPECT_EQ(k2k_withdraw(nullptr, "name"), -EINVAL);
  EXPECT_EQ(k2k_withdraw(runtime_, nullptr), -EINVAL);
}

TEST_F(CAbi, statistics_fit_or_return_the_needed_size) {
  Answers answers{};
  ASSERT_EQ(k2k_launch(runtime_, 1, 1, ask, &answers, "ask"), 0);
  size_t needed = 0;
  EXPECT_EQ(k2k_stats_json(runtime_, nullptr, 0, &needed), -ERANGE);
  std::vector<char> buffer(needed + 64, 'x');  // Times may have another digit the second time.
  ASSERT_EQ(k2k_stats_json(runtime_, buffer.data(), buffer.size(), nullptr), 0);
  EXPECT_NE(std::string(buffer.data()).find("\"getpid\""), std::string::npos) << buffer.data();
  char small[4] = "abc";
  EXPECT_EQ(k2k_stats_json(runtime_, small, sizeof(small), nullptr), -ERANGE);
  EXPECT_STREQ(small, "");
  EXPECT_STREQ(k2k_last_error(), "the buffer is too small; pass one of *needed bytes");
}

TEST_F(CAbi, device_memory_is_zeroed_and_given_back) {
  void* address = nullptr;
  ASSERT_EQ(k2k_allocate(runtime_, 4096, &address), 0);
  for (int index = 0; index < 4096; ++index) EXPECT_EQ(static_cast<char*>(address)[index], 0);
  EXPECT_EQ(k2k_free(runtime_, address), 0);
  EXPECT_EQ(k2k_free(runtime_, nullptr), 0);
  address = this;
  EXPECT_EQ(k2k_allocate(runtime_, std::size_t{1} << 60, &address), -ENOMEM);
  EXPECT_EQ(address, nullptr);
}

TEST_F(CAbi, refuses_a_shape_beyond_the_device) {
  Answers answers{};
  EXPECT_EQ(k2k_launch(runtime_, 0, 1, ask, &answers, "ask"), -EINVAL);
  EXPECT_STRNE(k2k_last_error(), "");
  EXPECT_EQ(k2k_launch(runtime_, 1, 1u << 30, ask, &answers, "ask"), -EINVAL);
  EXPECT_EQ(k2k_launch(runtime_, 1, 1, nullptr, nullptr, "ask"), -EINVAL);
  EXPECT_STREQ(k2k_last_error(), "kernel is null; pass one");
}

TEST_F(CAbi, options_are_checked_when_they_are_set) {
  EXPECT_EQ(k2k_options_set(options_, "device.wave_lane", "32"), -EINVAL);
  EXPECT_STREQ(k2k_last_error(),
               "k2k_options_set: unknown key 'device.wave_lane' = '32'; did you mean "
               "'device.wave_lanes'? 'k2k config show' lists every key");
  EXPECT_EQ(k2k_options_set(options_, "device.wave_lanes", "33"), -EINVAL);
  EXPECT_EQ(k2k_options_set(options_, nullptr, "33"), -EINVAL);
  EXPECT_EQ(k2k_options_load(options_, "/nonexistent.toml"), -ENOENT);
  EXPECT_EQ(k2k_options_set(options_, "backend", "abacus"), 0);
  auto* runtime = reinterpret_cast<k2k_runtime*>(this);
  EXPECT_EQ(k2k_runtime_create(options_, &runtime), -ENODEV);
  EXPECT_EQ(runtime, nullptr);
}

TEST_F(CAbi, null_is_an_error_and_not_a_crash) {
  EXPECT_EQ(k2k_options_create(nullptr), -EINVAL);
  EXPECT_EQ(k2k_options_load(nullptr, nullptr), -EINVAL);
  EXPECT_EQ(k2k_runtime_create(nullptr, nullptr), -EINVAL);
  EXPECT_EQ(k2k_launch(nullptr, 1, 1, ask, nullptr, nullptr), -EINVAL);
  EXPECT_EQ(k2k_drain(nullptr), -EINVAL);
  EXPECT_EQ(k2k_cancel(nullptr), -EINVAL);
  EXPECT_EQ(k2k_allocate(runtime_, 1, nullptr), -EINVAL);
  EXPECT_EQ(k2k_allocate(nullptr, 1, nullptr), -EINVAL);
  EXPECT_EQ(k2k_free(nullptr, nullptr), -EINVAL);
  EXPECT_EQ(k2k_stats_json(nullptr, nullptr, 0, nullptr), -EINVAL);
  EXPECT_EQ(k2k_stats_json(runtime_, nullptr, 1, nullptr), -EINVAL);
  k2k_runtime_destroy(nullptr);
  k2k_options_destroy(nullptr);
  EXPECT_EQ(k2k_cancel(runtime_), 0) << "no launch is in progress";
}

TEST(CAbiRuntime, without_options_reads_no_environment) {
  ::setenv("K2K_SERVER_CAP_PERMILLE", "much", 1);
  k2k_runtime* runtime = nullptr;
  EXPECT_EQ(k2k_runtime_create(nullptr, &runtime), 0) << k2k_last_error();
  ::unsetenv("K2K_SERVER_CAP_PERMILLE");
  k2k_runtime_destroy(runtime);
}

TEST(CAbiHeader, compiles_as_strict_c11) {
  const char* const source = std::getenv("K2K_SOURCE_DIR");
  if (source == nullptr || std::system("command -v gcc >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "needs gcc and K2K_SOURCE_DIR (set by ctest)";
  }
  const std::string command =
      "gcc -std=c11 -Wall -Wextra -Werror -pedantic -Wstrict-prototypes -fsyntax-only -x c '" +
      std::string(source) + "/include/k2k/k2k.h'";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

TEST(CAbiHeader, tells_the_version) { EXPECT_STREQ(k2k_version(), K2K_VERSION); }

}  // namespace
