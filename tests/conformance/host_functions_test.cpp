// Goal: a kernel calls functions of the host program: typed, from any memory and scope, under the
// rules of every call, and no function can keep a launch or the runtime from ending.

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <system_error>

#include "tests/conformance/device_under_test.hpp"

namespace k2k::conformance::host_functions_test {
namespace {

constexpr HostFunction<double(int, In<float>)> weigh{"weigh"};

struct Odd {
  std::array<char, 11> bytes;
};

// Holds its callers until it is opened.
class Door {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++inside_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --inside_;
    changed_.notify_all();
  }
  void wait_for(int inside) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return inside_ == inside; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;
  bool open_ = false;
};

class HostFunctions : public DeviceUnderTest {
 protected:
  static constexpr HostClass classes[] = {HostClass::may_block, HostClass::never_blocks};
  static void make_strict(RuntimeConfig& config) { config.device.strict = true; }
};
K2K_EVERY_DEVICE(HostFunctions);

TEST_P(HostFunctions, take_values_and_give_one) {
  Runtime runtime = start();
  for (const HostClass host_class : classes) {
    ASSERT_TRUE(
        runtime.provide("add", [](int a, std::int16_t b) { return a + b; }, host_class).ok());
    ASSERT_TRUE(runtime
                    .provide(
                        "big",
                        [](double a, Odd odd, std::uint64_t b, bool c) {
                          return a + static_cast<double>(b) + odd.bytes[10] + (c ? 0.5 : 0);
                        },
                        host_class)
                    .ok());
    std::atomic<std::uint32_t> right{0};
    launch(runtime, 4, 32, [&] {
      const auto me = static_cast<int>(global_rank());
      const auto sum = k2k::host_call<int>(k2k::work_item, "add", me, std::int16_t{-7});
      right += sum.ok() && sum.value() == me - 7;
      Odd odd{};
      odd.bytes[10] = 3;
      const auto big =
          k2k::host_call<double>(k2k::work_item, "big", 1.25, odd, std::uint64_t{40}, true);
      right += big.ok() && big.value() == 44.75;
    });
    EXPECT_EQ(right.load(), 256u);
    ASSERT_TRUE(runtime.withdraw("add").ok());
    ASSERT_TRUE(runtime.withdraw("big").ok());
  }
}

TEST_P(HostFunctions, take_buffers_of_every_direction_and_memory) {
  for (const bool strict : {false, true}) {
    Runtime runtime = start([&](RuntimeConfig& config) { config.device.strict = strict; });
    for (const HostClass host_class : classes) {
      const auto mix = [](In<std::uint32_t> in, Out<std::uint32_t> out, InOut<std::uint32_t> both,
                          std::uint32_t more) -> Status {
        if (in.size() != 4 || out.size() != 5 || both.size() != 4) return Error{ERANGE, "sizes"};
        if (out[4] != 0) return Error{EBADMSG, "an out-buffer is zeroed"};
        for (std::size_t index = 0; index < 4; ++index) {
          out[index] = in[index] + more;
          both[index] *= 2;
        }
        return {};
      };
      ASSERT_TRUE(runtime.provide("mix", mix, host_class).ok());
      auto* const device =
          static_cast<std::uint32_t*>(runtime.allocate(64 * 4 * sizeof(std::uint32_t)).value());
      std::atomic<std::uint32_t> right{0};
      launch(runtime, 2, 32, [&] {
        const auto me = static_cast<std::uint32_t>(global_rank());
        std::uint32_t in[4] = {me, me + 1, me + 2, me + 3};
        std::uint32_t out[5] = {9, 9, 9, 9, 9};
        std::uint32_t* const both = device + me * 4;
        for (std::uint32_t index = 0; index < 4; ++index) both[index] = me * index;
        const auto reply = k2k::host_call<void>(k2k::work_item, "mix", k2k::in(in, 4),
                                                k2k::out(out, 5), k2k::inout(both, 4), 100u);
        bool same = reply.error() == 0 && out[4] == 0;
        for (std::uint32_t index = 0; index < 4; ++index) {
          same = same && out[index] == me + index + 100 && both[index] == 2 * me * index;
        }
        right += same;
      });
      EXPECT_EQ(right.load(), 64u) << strict;
      runtime.free(device);
      ASSERT_TRUE(runtime.withdraw("mix").ok());
    }
  }
}

TEST_P(HostFunctions, take_buffers_in_local_memory_at_group_scope) {
  Runtime runtime = start(make_strict);
  std::atomic<int> ran{0};
  ASSERT_TRUE(runtime
                  .provide("sum",
                           [&](In<std::uint64_t> in) {
                             ++ran;
                             std::uint64_t sum = 0;
                             for (const std::uint64_t value : in) sum += value;
                             return sum;  // 8 bytes: comes in the frame.
                           })
                  .ok());
  std::atomic<std::uint32_t> right{0};
  launch(runtime, 4, 32, [&] {
    K2K_LOCAL(std::uint64_t[32], local);
    local[item_rank()] = group_rank() * 100 + item_rank();
    const auto sum = k2k::host_call<std::uint64_t>(k2k::work_group, "sum", k2k::in(&local[0], 32));
    right += sum.ok() && sum.value() == group_rank() * 3200 + 496;
  });
  EXPECT_EQ(right.load(), 128u);
  EXPECT_EQ(ran.load(), 4);
}

TEST_P(HostFunctions, run_once_a_launch_at_kernel_scope) {
  Runtime runtime = start();
  std::atomic<int> ran{0};
  ASSERT_TRUE(runtime
                  .provide("once",
                           [&](std::uint32_t value) {
                             ++ran;
                             return value + 1;
                           })
                  .ok());
  std::atomic<std::uint32_t> right{0};
  launch(runtime, 2, 8, [&] {
    const auto reply =
        k2k::host_call<std::uint32_t>(k2k::kernel(0), k2k::relaxed | k2k::as_producer, "once", 41u);
    right += reply.ok() && (global_rank() != 0 || reply.value() == 42);
  });
  EXPECT_EQ(ran.load(), 1);
  EXPECT_EQ(right.load(), 16u);
}

TEST_P(HostFunctions, are_declared_once_for_both_sides) {
  Runtime runtime = start();
  const auto body = [](int factor, In<float> values) {
    double sum = 0;
    for (const float value : values) sum += value;
    return sum * factor;
  };
  ASSERT_TRUE(runtime.provide(weigh, body).ok());
  std::atomic<int> right{0};
  launch(runtime, 1, 8, [&] {
    const float values[] = {1, 2, 3.5F};
    const auto weight = k2k::host_call(k2k::work_item, weigh, short{2}, k2k::in(values, 3));
    right += weight.ok() && weight.value() == 13;
  });
  EXPECT_EQ(right.load(), 8);
}

TEST_P(HostFunctions, that_are_unknown_or_have_another_type_are_clear_errors) {
  Runtime runtime = start();
  ASSERT_TRUE(runtime.provide("half", [](double value) { return value / 2; }).ok());
  std::array<int, 6> errors{};
  launch(runtime, 1, 1, [&] {
    errors[0] = k2k::host_call<double>(k2k::work_item, "third", 3.0).error();
    errors[1] = k2k::host_call<double>(k2k::work_item, "half", 3.0F).error();
    errors[2] = k2k::host_call<float>(k2k::work_item, "half", 3.0).error();
    errors[3] = k2k::host_call<double>(k2k::work_item, "half").error();
    errors[4] = k2k::host_call<double>(k2k::work_item, "half", 3.0, 4).error();
    errors[5] = k2k::host_call<double>(k2k::work_item, "half", 3.0).error();
  });
  EXPECT_EQ(errors, (std::array<int, 6>{ENOSYS, EPROTO, EPROTO, EPROTO, EPROTO, 0}));
}

TEST_P(HostFunctions, throw_and_the_caller_gets_an_errno_and_the_log_a_line) {
  Runtime runtime = start();
  for (const HostClass host_class : classes) {
    const auto failing = [](int which) {
      if (which == 0) throw std::runtime_error("planted");
      if (which == 1) throw std::system_error(std::make_error_code(std::errc::no_link), "planted");
      if (which == 2) throw std::bad_alloc();
      if (which == 3) throw 42;
    };
    ASSERT_TRUE(runtime.provide("failing", failing, host_class).ok());
    std::array<int, 5> errors{};
    testing::internal::CaptureStderr();
    launch(runtime, 1, 1, [&] {
      for (int which = 0; which < 5; ++which) {
        errors[static_cast<std::size_t>(which)] =
            k2k::host_call<void>(k2k::work_item, "failing", which).error();
      }
    });
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_EQ(errors, (std::array<int, 5>{EIO, ENOLINK, ENOMEM, EIO, 0}));
    EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 4) << log;
    EXPECT_NE(log.find("k2k: host function 'failing' threw: planted; its caller gets"),
              std::string::npos)
        << log;
    ASSERT_TRUE(runtime.withdraw("failing").ok());
  }
}

TEST_P(HostFunctions, are_refused_with_a_reason) {
  Runtime runtime = start();
  const auto nothing = [] {};
  const auto refusal = [&](const std::string& name) {
    const Status status = runtime.provide(name, nothing);
    return status.ok() ? std::string("none")
                       : std::to_string(status.error().code) + " " + status.error().message;
  };
  EXPECT_EQ(refusal(""), "22 a host function needs a name");
  EXPECT_NE(refusal(std::string(128, 'n')).find("has 128 bytes, at most 127 are possible"),
            std::string::npos);
  EXPECT_EQ(refusal(std::string(127, 'n')), "none");
  EXPECT_EQ(refusal(std::string("a\0b", 3)), "22 the name of a host function has a zero byte");
  EXPECT_NE(refusal("k2k.print").find("which is for functions of K2K"), std::string::npos);
  EXPECT_EQ(refusal("twice"), "none");
  EXPECT_EQ(refusal("twice"),
            "17 the host function 'twice' is provided already: withdraw it first");
  EXPECT_EQ(runtime.provide("null", static_cast<int (*)(int)>(nullptr)).error().message,
            "the host function 'null' is null");
  EXPECT_EQ(runtime
                .provide_function({"text", "i32(i33)", HostClass::may_block,
                                   [](const services::HostArguments&) { return 0; }})
                .error()
                .code,
            EINVAL);
  EXPECT_EQ(runtime.withdraw("absent").error().message, "no host function 'absent' is provided");
  EXPECT_EQ(runtime.withdraw("absent").error().code, ENOENT);
  int added = 0;
  while (refusal("more" + std::to_string(added)) == "none") ++added;
  EXPECT_EQ(added, 254);
  EXPECT_NE(refusal("more").find("256 host functions are provided"), std::string::npos);
}

TEST_P(HostFunctions, with_buffers_beyond_all_room_are_clear_errors) {
  Runtime runtime = start(make_strict);
  ASSERT_TRUE(
      runtime.provide("take", [](In<char> in) { return static_cast<int>(in.size()); }).ok());
  std::array<int, 4> errors{};
  launch(runtime, 1, 1, [&] {
    char local[9000] = {};
    errors[0] = k2k::host_call<int>(k2k::work_item, "take", k2k::in(local, 8000)).error();
    errors[1] = k2k::host_call<int>(k2k::work_item, "take", k2k::in(local, 9000)).error();
    errors[2] =
        k2k::host_call<int>(k2k::work_item, "take",
                            k2k::in(reinterpret_cast<const char*>(16), std::size_t{1} << 62))
            .error();
    errors[3] = k2k::host_call<int>(k2k::work_item, "take", k2k::in(local, 0)).error();
  });
  EXPECT_EQ(errors[0], 0);
  EXPECT_EQ(errors[1], EMSGSIZE);
  EXPECT_EQ(errors[2], EMSGSIZE) << "its bytes do not wrap to a few";
  EXPECT_EQ(errors[3], 0);
}

TEST_P(HostFunctions, with_wild_addresses_answer_efault) {
  Runtime runtime = start();
  for (const HostClass host_class : classes) {
    int ran = 0;
    ASSERT_TRUE(runtime.provide("take", [&](In<char>) { ++ran; }, host_class).ok());
    ASSERT_TRUE(runtime.provide("fill", [&](Out<char>) { ++ran; }, host_class).ok());
    static const char constant[8192] = {};
    std::array<int, 5> errors{};
    launch(runtime, 1, 1, [&] {
      auto* const nowhere = reinterpret_cast<char*>(16);
      auto* const end = reinterpret_cast<char*>(~std::uintptr_t{0} - 7);
      errors[0] = k2k::host_call<void>(k2k::work_item, "take", k2k::in(nowhere, 8)).error();
      errors[1] = k2k::host_call<void>(k2k::work_item, "take", k2k::in(end, 8)).error();
      errors[2] = k2k::host_call<void>(k2k::work_item, "fill", k2k::out(nowhere, 8)).error();
      errors[3] = k2k::host_call<void>(k2k::work_item, "fill",
                                       k2k::out(const_cast<char*>(&constant[4000]), 8))
                      .error();
      errors[4] = k2k::print("{}", k2k::in(nowhere, 8)).error();
    });
    EXPECT_EQ(errors, (std::array<int, 5>{EFAULT, EFAULT, EFAULT, EFAULT, EFAULT}));
    EXPECT_EQ(ran, 0);
    ASSERT_TRUE(runtime.withdraw("take").ok());
    ASSERT_TRUE(runtime.withdraw("fill").ok());
  }
}

TEST_P(HostFunctions, can_be_provided_and_withdrawn_while_kernels_call_them) {
  Runtime runtime = start();
  std::atomic<bool> stop{false};
  std::atomic<int> inside{0};
  std::thread changes([&] {
    for (int round = 0; round < 50; ++round) {
      auto alive = std::make_unique<std::atomic<int>>(7);
      const HostClass host_class = classes[round % 2];
      EXPECT_TRUE(runtime
                      .provide(
                          "now",
                          [&alive, &inside] {
                            ++inside;
                            const int value = alive->load();
                            --inside;
                            return value;
                          },
                          host_class)
                      .ok());
      std::this_thread::yield();
      EXPECT_TRUE(runtime.withdraw("now").ok());
      EXPECT_EQ(inside.load(), 0) << "no call runs any more";
    }
    stop = true;
  });
  std::atomic<std::uint32_t> wrong{0};
  while (!stop.load()) {
    launch(runtime, 2, 16, [&] {
      const auto reply = k2k::host_call<int>(k2k::work_item, "now");
      wrong += !(reply.error() == ENOSYS || reply.value() == 7);
    });
  }
  changes.join();
  EXPECT_EQ(wrong.load(), 0u);
}

TEST_P(HostFunctions, that_call_back_are_refused_where_they_would_wait_for_themselves) {
  Runtime runtime = start();
  for (const HostClass host_class : classes) {
    const auto back = [&runtime] {
      const bool right = runtime.launch({1, 1}, [] {}).error().code == EDEADLK &&
                         runtime.drain().error().code == EDEADLK &&
                         runtime.withdraw("back").error().code == EDEADLK &&
                         runtime.provide("other", [] {}).error().code == EDEADLK &&
                         runtime.reconfigure({}).error().code == EDEADLK;
      static_cast<void>(runtime.stats());
      return right ? runtime.reconfigure({}).error().message.size() : 0;
    };
    ASSERT_TRUE(runtime.provide("back", back, host_class).ok());
    std::atomic<int> right{0};
    launch(runtime, 1, 4,
           [&] { right += k2k::host_call<std::uint64_t>(k2k::work_item, "back").value() != 0; });
    EXPECT_EQ(right.load(), 4);
    ASSERT_TRUE(runtime.withdraw("back").ok());
  }
}

TEST_P(HostFunctions, are_called_detached_with_the_bytes_that_they_were_given) {
  Runtime runtime = start(make_strict);
  std::atomic<std::uint64_t> sum{0};
  ASSERT_TRUE(runtime
                  .provide("count",
                           [&](In<std::uint32_t> in, int factor) {
                             for (const std::uint32_t value : in) {
                               sum += value * static_cast<std::uint32_t>(factor);
                             }
                           })
                  .ok());
  ASSERT_TRUE(runtime.provide("fail", []() -> Status { return Error{EXDEV, "planted"}; }).ok());
  launch(runtime, 4, 32, [&] {
    std::uint32_t values[2] = {static_cast<std::uint32_t>(global_rank()), 1};
    k2k::host_call<void>(k2k::work_item, k2k::detached, "count", k2k::in(values, 2), 3);
    values[0] = values[1] = 1'000'000;
  });
  EXPECT_TRUE(runtime.drain().value().empty());
  EXPECT_EQ(sum.load(), 3u * (127 * 64 + 128));
  launch(runtime, 1, 1, [] { k2k::host_call<void>(k2k::work_item, k2k::detached, "fail"); });
  const auto errors = runtime.drain().value();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].name, "host_call");
  EXPECT_EQ(errors[0].error, EXDEV);
}

TEST_P(HostFunctions, that_break_their_promise_are_answered_and_hold_up_nobody_for_ever) {
  Runtime runtime = start();
  ASSERT_TRUE(runtime
                  .provide(
                      "slow",
                      [](In<char> in, int value) {
                        std::this_thread::sleep_for(std::chrono::milliseconds(20));
                        return value + static_cast<int>(in.size());
                      },
                      HostClass::never_blocks)
                  .ok());
  ASSERT_TRUE(runtime
                  .provide(
                      "slow_in_slot",
                      [](int value) {
                        std::this_thread::sleep_for(std::chrono::milliseconds(20));
                        return value + 1;
                      },
                      HostClass::never_blocks)
                  .ok());
  std::atomic<int> right{0};
  launch(runtime, 2, 16, [&] {
    const auto me = static_cast<int>(global_rank());
    const char text[2] = {};
    if (me == 3) right += k2k::host_call<int>(k2k::work_item, "slow_in_slot", me).value() == 4;
    if (me == 20) {
      right += k2k::host_call<int>(k2k::work_item, "slow", k2k::in(text, 2), me).value() == 22;
    }
    right += k2k::getpid(k2k::work_item) == ::getpid();
  });
  EXPECT_EQ(right.load(), 34);
}

TEST_P(HostFunctions, that_never_return_do_not_keep_a_cancelled_launch) {
  Door door;  // Outlives the runtime: its functions run on.
  Runtime runtime = start();
  ASSERT_TRUE(runtime.provide("stuck", [&] { door.pass(); }).ok());
  std::thread host([&] {
    door.wait_for(16);  // As many as there are threads; the others wait for one.
    runtime.cancel();
  });
  std::atomic<int> begun{0};
  const Result<LaunchReport> report = runtime.launch({2, 16}, [&] {
    ++begun;
    k2k::host_call<void>(k2k::work_item, "stuck");
  });
  host.join();
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ECANCELED);
  EXPECT_TRUE(runtime.drain().ok());
  // System calls are served although every thread for functions is taken.
  std::atomic<int> right{0};
  launch(runtime, 2, 16, [&] { right += k2k::getpid(k2k::work_item) == ::getpid(); });
  EXPECT_EQ(right.load(), 32);
  door.open();
  door.wait_for(0);
  ASSERT_TRUE(runtime.withdraw("stuck").ok());
}

TEST_P(HostFunctions, that_never_return_do_not_keep_the_runtime) {
  Door door;
  {
    Runtime runtime = start([](RuntimeConfig& config) { config.server.shutdown_ms = 50; });
    ASSERT_TRUE(runtime.provide("stuck", [&] { door.pass(); }).ok());
    launch(runtime, 1, 20, [] { k2k::host_call<void>(k2k::work_item, k2k::detached, "stuck"); });
    door.wait_for(16);
  }
  door.open();
  door.wait_for(0);
}

}  // namespace
}  // namespace k2k::conformance::host_functions_test
