// Goal: modules that name each other's functions become one; names that a module keeps to itself do
// not meet, equal weak definitions stay one, and what cannot be linked is refused.

#include "emulator/cuda/ptx/link.hpp"

#include <gtest/gtest.h>

#include "emulator/cuda/tests/kernels_fixture.hpp"

namespace k2k::emulator {
namespace {

// A kernel that stores the sum of a function of another module and of its own variable `own`.
const std::string caller = ptx_head + R"(
.extern .func (.param .b32 value) other(.param .b32 number);
.file 1 "caller.cu"
.global .align 4 .u32 own = 1000;
.visible .entry kernel(.param .u64 to) {
  .reg .u64 %rd<2>;
  .reg .u32 %r<4>;
  .param .b32 argument;
  .param .b32 answer;
  .loc 1 7 0
  ld.param.u64 %rd1, [to];
  mov.u32 %r1, 5;
  st.param.b32 [argument], %r1;
  call.uni (answer), other, (argument);
  ld.param.b32 %r2, [answer];
  ld.global.u32 %r3, [own];
  add.u32 %r2, %r2, %r3;
  st.global.u32 [%rd1], %r2;
  ret;
}
)";

// number + `own`, by a weak function that the second callee has, too.
std::string callee(const std::string& own, const std::string& name) {
  return ".version 8.0\n.target sm_75\n.address_size 64\n.global .align 4 .u32 own = " + own +
         ";\n" + R"(
.weak .func (.param .b32 value) sum(.param .b32 left, .param .b32 right) {
  .reg .u32 %r<3>;
  ld.param.u32 %r0, [left];
  ld.param.u32 %r1, [right];
  add.u32 %r2, %r0, %r1;
  st.param.b32 [value], %r2;
  ret;
}
.visible .func (.param .b32 value) )" +
         name + R"((.param .b32 number) {
  .reg .u32 %r<3>;
  .param .b32 left;
  .param .b32 right;
  .param .b32 answer;
  ld.param.u32 %r0, [number];
  ld.global.u32 %r1, [own];
  st.param.b32 [left], %r0;
  st.param.b32 [right], %r1;
  call.uni (answer), sum, (left, right);
  ld.param.b32 %r2, [answer];
  st.param.b32 [value], %r2;
  ret;
}
)";
}

std::uint32_t answer_of(const std::vector<std::string>& texts) {
  Kernels kernels = Kernels::of_module(ptx::linked(texts), "linked.ptx");
  std::vector<std::uint32_t> word(1);
  kernels.share(word);
  const Outcome outcome = kernels.run("kernel", {}, {address_of(word)});
  EXPECT_EQ(outcome.fault, exec::Fault::none) << outcome.report;
  return word[0];
}

std::string refusal_of_link(const std::vector<std::string>& texts) {
  try {
    return refusal_of(ptx::linked(texts));
  } catch (const ptx::Refusal& refusal) {
    return refusal.what();
  }
}

TEST(EmulatedLink, lets_modules_call_each_other_in_any_order) {
  const std::string other = callee("30", "other");
  EXPECT_EQ(answer_of({caller, other}), 1035u);
  EXPECT_EQ(answer_of({other, caller}), 1035u);
  EXPECT_EQ(answer_of({caller, other, callee("7", "another")}), 1035u);
}

TEST(EmulatedLink, has_the_newest_version_and_target) {
  const std::string text = ptx::linked({callee("1", "other"), caller});
  EXPECT_TRUE(text.starts_with(".version 9.0\n.target sm_90\n.address_size 64\n")) << text;
  EXPECT_EQ(text.find(".version", 1), std::string::npos);
}

TEST(EmulatedLink, refuses_what_is_missing_or_there_twice) {
  EXPECT_NE(refusal_of_link({caller}), "");
  const std::string other = callee("1", "other");
  EXPECT_NE(refusal_of_link({caller, other, other}).find("other is defined twice"),
            std::string::npos);
  EXPECT_NE(refusal_of_link({caller, "no ptx"}), "");
}

}  // namespace
}  // namespace k2k::emulator
