// Goal: C can do all of it, every failure is a negative errno with a line of text, and the header
// is C11.

#include <gtest/gtest.h>
#include <k2k/k2k.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
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

TEST_F(CAbi, statistics_fit_or_say_what_they_need) {
  Answers answers{};
  ASSERT_EQ(k2k_launch(runtime_, 1, 1, ask, &answers, "ask"), 0);
  size_t needed = 0;
  EXPECT_EQ(k2k_stats_json(runtime_, nullptr, 0, &needed), -ERANGE);
  std::vector<char> buffer(needed + 64, 'x');  // Times may take a digit more the second time.
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
  EXPECT_EQ(k2k_cancel(runtime_), 0) << "nothing in progress";
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
