// Goal: a call finds its function and no other, whatever the device forges; a function that is
// taken out runs no more; no address and no size of the device makes the host touch other memory.

#include "services/functions/host_functions.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "router/door/files.hpp"
#include "services/fake_backend_fixture.hpp"
#include "services/functions/host_call_fixture.hpp"
#include "services/functions/host_callable.hpp"
#include "services/functions/host_frame.hpp"

namespace k2k::services {
namespace {

using calls::Direction;

class HostFunctionsTest : public testing::Test {
 protected:
  static constexpr HostClass classes[] = {HostClass::may_block, HostClass::never_blocks};

  template <class Callable>
  Status provide(const std::string& name, Callable callable,
                 HostClass host_class = HostClass::never_blocks) {
    using Type = typename HostTypeOf<Callable>::Type;
    return functions->add(HostCallable<Type>::function(name, std::move(callable), host_class));
  }
  // As the server calls: at once if it can be.
  std::int64_t call(const Request& request) {
    const Answer answer = functions->attempt(request);
    return answer.would_wait ? run(request) : answer.value;
  }
  std::int64_t run(const Request& request) { return functions->run(request, {}, files, host_run); }

  FakeBackend backend;
  router::Files files;
  CountingRun host_run;
  std::unique_ptr<HostFunctions> functions = std::make_unique<HostFunctions>(backend);
};

TEST_F(HostFunctionsTest, run_in_place_if_they_never_block_and_else_behind_the_gate) {
  for (const HostClass host_class : classes) {
    ASSERT_TRUE(provide("add", [](int a, int b) { return a + b; }, host_class));
    HostCallOf add("add", "i32(i32,i32)");
    add.word(calls::host_arguments_word) = 40;
    add.word(calls::host_arguments_word + 1) = 2;
    const Answer answer = functions->attempt(add.request);
    EXPECT_EQ(answer.would_wait, host_class == HostClass::may_block);
    EXPECT_EQ(answer.value, answer.would_wait ? 0 : 42);
    EXPECT_EQ(run(add.request), 42);
    ASSERT_TRUE(functions->remove("add"));
    EXPECT_EQ(call(add.request), -ENOSYS);
  }
  EXPECT_EQ(host_run.begun, 2);
  EXPECT_EQ(host_run.ended, 2);
}

TEST_F(HostFunctionsTest, do_not_run_where_the_gate_is_closed_and_write_nothing_behind_it) {
  int ran = 0;
  std::array<std::uint32_t, 4> memory{};
  ASSERT_TRUE(provide(
      "fill",
      [&ran](Out<std::uint32_t> out) {
        ++ran;
        out[0] = 7;
      },
      HostClass::may_block));
  HostCallOf fill("fill", "void(out u32)");
  fill.with_buffer(0, memory.data(), sizeof(memory), Direction::out);
  host_run.opens = false;
  EXPECT_EQ(run(fill.request), -ECANCELED);
  EXPECT_EQ(ran, 0);
  host_run.opens = true;
  host_run.stays = false;
  EXPECT_EQ(run(fill.request), -ECANCELED);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(memory[0], 0u);
  host_run.stays = true;
  EXPECT_EQ(run(fill.request), 0);
  EXPECT_EQ(memory[0], 7u);
}

TEST_F(HostFunctionsTest, with_forged_words_are_refused_before_memory_is_touched) {
  int ran = 0;
  for (const HostClass host_class : classes) {
    ASSERT_TRUE(provide("take", [&ran](In<std::uint32_t>, std::uint64_t) { ++ran; }, host_class));
    testing::internal::CaptureStderr();
    std::array<std::uint32_t, 4> memory{};
    const auto answer = [&](auto forge) {
      HostCallOf take("take", "void(in u32,u64)");
      take.with_buffer(0, memory.data(), sizeof(memory), Direction::in);
      forge(take);
      return call(take.request);
    };
    EXPECT_EQ(answer([](HostCallOf&) {}), 0);
    EXPECT_EQ(answer([](HostCallOf& take) { ++take.word(calls::host_id_word); }), -ENOSYS);
    EXPECT_EQ(answer([](HostCallOf& take) { take.word(calls::host_id_word) = 0; }), -ENOSYS);
    EXPECT_EQ(answer([](HostCallOf& take) { ++take.word(calls::host_signature_word); }), -EPROTO);
    EXPECT_EQ(answer([](HostCallOf& take) { take.word(calls::host_shape_word) = 0; }), -EPROTO);
    EXPECT_EQ(answer([](HostCallOf& take) { ++take.word(calls::host_shape_word); }), -EPROTO);
    EXPECT_EQ(answer([](HostCallOf& take) { take.word(calls::host_frame_bytes_word) -= 8; }),
              -EPROTO);
    EXPECT_EQ(answer([](HostCallOf& take) {
                take.word(calls::host_frame_bytes_word) = ~std::uint64_t{0};
              }),
              -EPROTO);
    EXPECT_EQ(answer([&](HostCallOf& take) {
                take.with_buffer(0, memory.data(), sizeof(memory), Direction::out);
              }),
              -EPROTO);
    EXPECT_EQ(answer([](HostCallOf& take) { take.frame[1] |= 3; }), -EPROTO);
    EXPECT_EQ(
        answer([&](HostCallOf& take) { take.with_buffer(0, memory.data(), 6, Direction::in); }),
        -EPROTO);
    EXPECT_EQ(ran, 1);
    ran = 0;
    testing::internal::GetCapturedStderr();
    ASSERT_TRUE(functions->remove("take"));
  }
}

TEST_F(HostFunctionsTest, touch_no_memory_that_is_hidden_unmapped_or_read_only) {
  int ran = 0;
  const auto page = std::size_t{4096};
  auto* const pages = static_cast<std::byte*>(
      ::mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(::mprotect(pages + page, page, PROT_READ), 0);
  ASSERT_EQ(::munmap(pages + 2 * page, page), 0);
  std::array<std::uint64_t, 8> hidden{};
  backend.hidden_begin = reinterpret_cast<std::uintptr_t>(hidden.data());
  backend.hidden_end = backend.hidden_begin + sizeof(hidden);
  for (const HostClass host_class : classes) {
    ASSERT_TRUE(provide("read", [&ran](In<std::uint64_t>) { ++ran; }, host_class));
    ASSERT_TRUE(provide("fill", [&ran](Out<std::uint64_t>) { ++ran; }, host_class));
    const auto reads = [&](const void* memory, std::uint64_t bytes) {
      HostCallOf read("read", "void(in u64)");
      return call(read.with_buffer(0, memory, bytes, Direction::in).request);
    };
    const auto fills = [&](const void* memory, std::uint64_t bytes) {
      HostCallOf fill("fill", "void(out u64)");
      return call(fill.with_buffer(0, memory, bytes, Direction::out).request);
    };
    EXPECT_EQ(reads(pages, 2 * page), 0);
    EXPECT_EQ(fills(pages, page), 0);
    EXPECT_EQ(ran, 2);
    EXPECT_EQ(reads(pages + page, page + 8), -EFAULT) << "its end is not mapped";
    EXPECT_EQ(fills(pages + page - 8, 16), -EFAULT) << "its end is read-only";
    EXPECT_EQ(reads(pages + 2 * page, 8), -EFAULT);
    EXPECT_EQ(reads(nullptr, 8), -EFAULT);
    EXPECT_EQ(reads(nullptr, 0), 0);
    EXPECT_EQ(fills(pages + 2 * page, 0), 0) << "nothing is touched";
    ran = 0;
    EXPECT_EQ(reads(hidden.data(), 8), -EFAULT);
    EXPECT_EQ(reads(reinterpret_cast<void*>(~std::uintptr_t{15}), 8), -EFAULT);
    EXPECT_EQ(reads(reinterpret_cast<void*>(~std::uintptr_t{4095} - 4096), 16'384), -EFAULT);
    EXPECT_LT(reads(pages, calls::HostBuffer::bytes_max & ~std::uint64_t{7}), 0);
    HostCallOf wild("read", "void(in u64)");
    for (const void* frame :
         {static_cast<const void*>(nullptr), static_cast<const void*>(pages + 2 * page),
          static_cast<const void*>(hidden.data()),
          reinterpret_cast<const void*>(~std::uintptr_t{7})}) {
      wild.word(calls::host_frame_word) = reinterpret_cast<std::uint64_t>(frame);
      EXPECT_EQ(call(wild.request), -EFAULT) << frame;
    }
    EXPECT_EQ(ran, 0);
    ASSERT_TRUE(functions->remove("read"));
    ASSERT_TRUE(functions->remove("fill"));
  }
  ::munmap(pages, 4 * page);
}

TEST_F(HostFunctionsTest, that_take_their_caller_s_memory_away_get_an_error_not_a_fault) {
  auto* const page =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  ASSERT_TRUE(
      provide("away", [page](Out<std::uint64_t>) { ::munmap(page, 4096); }, HostClass::may_block));
  HostCallOf away("away", "void(out u64)");
  EXPECT_EQ(run(away.with_buffer(0, page, 64, Direction::out).request), -EFAULT);
}

// A device that writes to the frame while the function runs.
TEST_F(HostFunctionsTest, read_each_word_of_a_frame_once) {
  for (const HostClass host_class : classes) {
    std::array<std::uint64_t, 2> meant{};
    std::array<std::uint64_t, 2> other{};
    HostCallOf fill("fill", "u64(out u64,u64)");
    ASSERT_TRUE(provide(
        "fill",
        [&](Out<std::uint64_t> out, std::uint64_t value) {
          fill.with_buffer(0, other.data(), sizeof(other), Direction::out);
          fill.frame[2] = 99;
          out[1] = value;
          return value + 1;
        },
        host_class));
    fill.with_buffer(0, meant.data(), sizeof(meant), Direction::out);
    fill.frame[2] = 5;
    EXPECT_EQ(call(fill.request), 0);
    EXPECT_EQ(meant[1], 5u);
    EXPECT_EQ(other[1], 0u);
    EXPECT_EQ(fill.frame[3], 6u) << "the reply";
    ASSERT_TRUE(functions->remove("fill"));
  }
}

TEST_F(HostFunctionsTest, that_are_served_in_place_get_aligned_buffers) {
  alignas(64) std::array<std::byte, 64> memory{};
  const std::uint64_t value = 7;
  std::memcpy(&memory[3], &value, sizeof(value));
  bool aligned = false;
  ASSERT_TRUE(provide("look", [&](In<std::uint64_t> in) {
    aligned = reinterpret_cast<std::uintptr_t>(in.data) % alignof(std::uint64_t) == 0;
    return static_cast<int>(in[0]);
  }));
  HostCallOf look("look", "i32(in u64)");
  look.with_buffer(0, &memory[3], 8, Direction::in);
  EXPECT_TRUE(functions->attempt(look.request).would_wait) << "it has to be copied";
  EXPECT_EQ(run(look.request), 7);
  EXPECT_TRUE(aligned);
  look.with_buffer(0, memory.data(), 8, Direction::in);
  EXPECT_FALSE(functions->attempt(look.request).would_wait);
}

TEST_F(HostFunctionsTest, take_buffers_up_to_a_limit_of_copies) {
  std::uint64_t bytes = 0;
  ASSERT_TRUE(provide(
      "two", [&](In<char> one, In<char> two) { bytes = one.size() + two.size(); },
      HostClass::may_block));
  const std::size_t whole = host_copies_bytes_max;
  void* const reserved =
      ::mmap(nullptr, whole, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(reserved, MAP_FAILED);
  HostCallOf two("two", "void(in i8,in i8)");
  two.with_buffer(0, reserved, 4096, Direction::in);
  two.with_buffer(1, reserved, whole - 4095, Direction::in);
  EXPECT_EQ(run(two.request), -EMSGSIZE);
  two.with_buffer(1, reserved, 100, Direction::in);
  EXPECT_EQ(run(two.request), 0);
  EXPECT_EQ(bytes, 4196u);
  ::munmap(reserved, whole);
}

TEST_F(HostFunctionsTest, that_return_no_errno_give_one) {
  std::int64_t returned = 0;
  ASSERT_TRUE(functions->add(
      {"raw", "void()", HostClass::never_blocks, [&](const HostArguments&) { return returned; }}));
  const HostCallOf raw("raw", "void()");
  const auto answer = [&](std::int64_t value) {
    returned = value;
    return call(raw.request);
  };
  EXPECT_EQ(answer(0), 0);
  EXPECT_EQ(answer(17), 0) << "what it returns is no reply";
  EXPECT_EQ(answer(-ERANGE), -ERANGE);
  EXPECT_EQ(answer(-4096), -EIO);
  EXPECT_EQ(answer(INT64_MIN), -EIO);
}

TEST_F(HostFunctionsTest, are_taken_out_once_their_last_call_has_ended) {
  std::atomic<bool> inside{false};
  std::atomic<bool> may_end{false};
  const auto alive = std::make_shared<int>(1);
  ASSERT_TRUE(provide("stay", [&inside, &may_end, alive] {
    inside = true;
    while (!may_end) std::this_thread::yield();
    return *alive;
  }));
  std::thread caller([&] { EXPECT_EQ(call(HostCallOf("stay", "i32()").request), 1); });
  while (!inside) std::this_thread::yield();
  std::atomic<bool> removed{false};
  std::thread remover([&] {
    EXPECT_TRUE(functions->remove("stay"));
    removed = true;
  });
  // Its name is free long before it is gone.
  while (!provide("stay", [] { return 2; })) std::this_thread::yield();
  EXPECT_EQ(call(HostCallOf("stay", "i32()").request), 2);
  EXPECT_FALSE(removed);
  EXPECT_EQ(alive.use_count(), 2);
  may_end = true;
  remover.join();
  caller.join();
  EXPECT_EQ(alive.use_count(), 1) << "the function is destroyed";
  EXPECT_EQ(call(HostCallOf("stay", "i32()").request), 2);
}

TEST_F(HostFunctionsTest, that_are_called_in_their_slot_are_taken_out_behind_the_call) {
  register_asymmetric_barrier();
  HostCallOf touch("touch", "void()");
  const std::uint64_t* const words = touch.request.arguments;
  std::atomic<bool> provided{false};
  std::atomic<int> late{0};
  std::atomic<int> calls{0};
  std::atomic<bool> over{false};
  std::vector<std::thread> servers;
  for (std::size_t index = 1; index <= 2; ++index) {
    servers.emplace_back([&, index] {
      while (!over) {
        const HostFunctions::InSlot function(*functions, words, index);
        if (function && function.call() == 0) ++calls;
      }
    });
  }
  const Instant patience = now() + std::chrono::seconds(20);
  for (int round = 0; (round < 100 || calls < 100) && now() < patience; ++round) {
    provided = true;
    ASSERT_TRUE(provide("touch", [&] { late += provided ? 0 : 1; }));
    std::this_thread::yield();
    ASSERT_TRUE(functions->remove("touch"));
    provided = false;
  }
  over = true;
  for (std::thread& server : servers) server.join();
  EXPECT_EQ(late.load(), 0) << "no call runs once remove() has returned";
  EXPECT_GE(calls.load(), 100);
}

TEST_F(HostFunctionsTest, are_called_in_their_slot_only_if_nothing_else_is_needed) {
  const auto fits = [&](const HostCallOf& call, std::size_t index = 1) {
    return static_cast<bool>(HostFunctions::InSlot(*functions, call.request.arguments, index));
  };
  HostCallOf add("add", "i32(i32,i32)");
  EXPECT_FALSE(fits(add)) << "it is not provided";
  ASSERT_TRUE(provide("add", [](int a, int b) { return a + b; }));
  EXPECT_TRUE(fits(add));
  EXPECT_FALSE(fits(add, 100'000)) << "a thread beyond those that have a place";
  EXPECT_FALSE(fits(HostCallOf("add", "i32(i32)"))) << "another signature";
  ASSERT_TRUE(functions->remove("add"));
  EXPECT_FALSE(fits(add));
  ASSERT_TRUE(provide("add", [](int a, int b) { return a + b; }, HostClass::may_block));
  EXPECT_FALSE(fits(add));
}

TEST_F(HostFunctionsTest, know_their_own_thread) {
  HostFunctions other(backend);
  bool mine = false;
  bool others = true;
  int error = 0;
  ASSERT_TRUE(provide("look", [&] {
    mine = functions->runs_here();
    others = other.runs_here();
    error = functions->remove("look").error().code;
  }));
  EXPECT_FALSE(functions->runs_here());
  EXPECT_EQ(call(HostCallOf("look", "void()").request), 0);
  EXPECT_TRUE(mine);
  EXPECT_FALSE(others);
  EXPECT_EQ(error, EDEADLK);
  EXPECT_FALSE(functions->runs_here());
}

}  // namespace
}  // namespace k2k::services
