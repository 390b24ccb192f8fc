// What is refused when a module is loaded, and what ends a launch: each with its sentence.

#include <gtest/gtest.h>

#include "emulator/cuda/tests/kernels_fixture.hpp"

namespace k2k::emulator {

namespace {

std::string refused_instruction(const std::string& code) {
  return refusal_of(ptx_head +
                    ".visible .entry k(.param .u64 a) {\n.reg .pred %p<4>; .reg .b32 %r<9>; "
                    ".reg .b64 %l<9>; .reg .f32 %f<4>;\n" +
                    code + "\nret; }\n");
}

#define EXPECT_SAYS(sentence, words)                                       \
  do {                                                                     \
    const std::string said = (sentence);                                   \
    EXPECT_NE(said.find(words), std::string::npos) << "it says: " << said; \
  } while (false)

TEST(EmulatorRefuses, text_that_is_no_ptx) {
  EXPECT_SAYS(refusal_of(""), "the text ends where .version is needed");
  EXPECT_SAYS(refusal_of("int main() {}"), "'int' stands where .version is needed");
  EXPECT_SAYS(refusal_of(".version x"), ".version needs a number");
  EXPECT_SAYS(refusal_of(".version 9.0\n.target gfx90a\n"), "the target 'gfx90a'");
  EXPECT_SAYS(refusal_of(".version 9.0\n.target sm_90\n.address_size 32\n"), "64 bits");
  EXPECT_SAYS(refusal_of(ptx_head + "/* no end"), "4: a comment has no end");
  EXPECT_SAYS(refusal_of(ptx_head + ".file 1 \"a"), "a string has no end");
  EXPECT_SAYS(refusal_of(ptx_head + ".global .u32 x = 0x;\n"), "begins no number");
  EXPECT_SAYS(refusal_of(ptx_head + ".global .u32 x = 12ab;\n"), "begins no number");
  EXPECT_SAYS(refusal_of(ptx_head + "hello;\n"), "'hello' stands where a directive is needed");
}

// Each prefix of a module is refused, or is a module by itself: never a crash.
TEST(EmulatorRefuses, ptx_cut_short) {
  const std::string text = ptx_head + R"(
.global .align 4 .b8 text[4] = {1, 2, 3, 4};
.func (.param .b32 r) f(.param .b32 a) { .reg .b32 %r<2>; ld.param.u32 %r1, [a];
  st.param.b32 [r], %r1; ret; }
.visible .entry k(.param .u64 a) {
  .reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %l<3>; .local .align 8 .b8 own[16];
  ld.param.u64 %l1, [a];
  setp.eq.u64 %p1, %l1, 0;
  @!%p1 bra END;
  { .param .b32 x; .param .b32 y; st.param.b32 [x], 3; call.uni (y), f, (x);
    ld.param.b32 %r1, [y]; }
END:
  st.global.v2.u32 [%l1+8], {%r1, 7};
  ret;
}
)";
  ASSERT_EQ(refusal_of(text), "");
  int refused = 0;
  for (std::size_t length = 0; length < text.size(); ++length) {
    refused += refusal_of(text.substr(0, length)).empty() ? 0 : 1;
  }
  EXPECT_GT(refused, static_cast<int>(text.size()) / 2);
}

TEST(EmulatorRefuses, newer_versions_and_other_targets) {
  EXPECT_SAYS(refusal_of(".version 9.1\n.target sm_90\n"), "PTX ISA 9.1 is newer than 9.0");
  EXPECT_SAYS(refusal_of(".version 9.0\n.target sm_100\n"), "sm_100 is not of this device, sm_90");
  EXPECT_SAYS(refusal_of(".version 9.0\n.target sm_80a\n"), "not of this device");
  EXPECT_EQ(refusal_of(".version 8.5\n.target sm_70\n.address_size 64\n"), "");
  EXPECT_EQ(refusal_of(".version 9.0\n.target sm_90a\n.address_size 64\n"), "");
}

TEST(EmulatorRefuses, instructions_that_it_does_not_know) {
  EXPECT_SAYS(refused_instruction("wgmma.fence.sync.aligned;"),
              "6: `wgmma.fence.sync.aligned`: this instruction is not known");
  EXPECT_SAYS(refused_instruction("add.u32.magic %r1, %r2, %r3;"), "the modifier .magic");
  EXPECT_SAYS(refused_instruction("ld.global.L3::keep.u32 %r1, [%l1];"), "L3::keep");
  EXPECT_SAYS(refused_instruction("add.sat.u32 %r1, %r2, %r3;"), "only s32 saturates");
  EXPECT_SAYS(refused_instruction("vote.ballot.b32 %r1, %p1;"), "vote has 2 operands");
  EXPECT_SAYS(refused_instruction("shfl.idx.b32 %r1, %r2, 0, 31, 0;"), "not known");
  EXPECT_SAYS(refused_instruction("mov.u32 %r1, %envreg3;"), "'%envreg3' is neither declared nor");
  EXPECT_SAYS(refused_instruction("add.u32 %r1, %r2;"), "add has 2 operands");
  EXPECT_SAYS(refused_instruction("add.u32 3, %r2, %r1;"), "a result that is no register");
  EXPECT_SAYS(refused_instruction("bra NOWHERE;"), "the label 'NOWHERE'");
  EXPECT_SAYS(refused_instruction("A: A: ret;"), "stands twice");
  EXPECT_SAYS(refused_instruction("@%r1 ret;"), "'%r1' is no predicate");
  EXPECT_SAYS(refused_instruction(".reg .b32 %r;\n.reg .b32 %r;"), "declared twice");
  EXPECT_SAYS(refused_instruction(".reg .b128 %q;\nmov.b64 %l1, %q;"),
              "7: `mov.b64 %l1, %q`: a register of 128 bits does not belong here");
  EXPECT_SAYS(refused_instruction(".reg .b128 %q; add.u64 %q, %l1, %l2;"), "of 128 bits does not");
  EXPECT_SAYS(refused_instruction("ld.global.b128 %l1, [%l2];"), "no register of 128 bits");
  EXPECT_SAYS(refused_instruction(".reg .b128 %q; ld.global.v2.b128 {%q, %q}, [%l2];"), "128 bits");
  EXPECT_SAYS(refused_instruction(".reg .b128 %q; mov.b128 %q, {%r1, %r2, %r3};"), "not known");
  EXPECT_SAYS(refused_instruction(".reg .b128 %q; atom.global.add.b128 %q, [%l1], %q;"),
              "not known");
  EXPECT_SAYS(refused_instruction(".reg .b128 %q; red.global.add.b128 [%l1], %q;"), "not known");
  EXPECT_SAYS(refused_instruction("ld.shared.u32 %r1, %r2;"), "an operand that is no address");
  EXPECT_SAYS(refused_instruction("fence.acq_rel;"), "it has no scope");
  EXPECT_SAYS(refused_instruction("sqrt.f32 %f1, %f2;"), "not known");
  EXPECT_SAYS(refused_instruction("mul.u32 %r1, %r2, %r3;"), "not known");
  EXPECT_SAYS(refused_instruction("{ .param .b64 x; call.uni malloc2, (x); }"),
              "the label 'malloc2'");
  EXPECT_SAYS(refusal_of(ptx_head + ".extern .func f(.param .b64 a);\n.entry k() { .param .b64 x; "
                                    "call f, (x); }"),
              "the function 'f' has no body");
  EXPECT_SAYS(refusal_of(ptx_head + ".entry k() { .local .b8 big[1000000]; ret; }"),
              "more local memory than a lane has");
  EXPECT_SAYS(refusal_of(ptx_head + ".global .u64 x = missing;\n"), "'missing' is not known");
  EXPECT_SAYS(refusal_of(ptx_head + ".tex .u32 t;\n"), ".tex is not known");
  EXPECT_SAYS(refusal_of(ptx_head + ".entry k() { ret; }\n.entry k() { ret; }\n"), "defined twice");
}

Outcome fault_of(const std::string& code, Shape shape = {}) {
  Kernels kernels(
      ".visible .entry k(.param .u64 words) {\n"
      ".shared .align 4 .b8 cells[64]; .local .align 8 .b8 own[16];\n"
      ".reg .pred %p<4>; .reg .b32 %t, %r<9>; .reg .b64 %l<9>;\n"
      "ld.param.u64 %l0, [words]; mov.u32 %t, %tid.x;\n" +
          code + "\nret; }\n",
      "faulty.ptx");
  std::vector<std::uint32_t> words(15, 0);
  kernels.share(words);
  return kernels.run("k", shape, {address_of(words)});
}

void expect_fault(const Outcome& outcome, exec::Fault fault, const std::string& words) {
  EXPECT_EQ(outcome.fault, fault) << outcome.report;
  EXPECT_NE(outcome.report.find(words), std::string::npos) << outcome.report;
}

TEST(EmulatedFaults, of_memory_name_the_address_and_the_line) {
  using exec::Fault;
  expect_fault(fault_of("ld.global.u32 %r1, [0];"), Fault::illegal_address, "a null pointer");
  expect_fault(fault_of("\nst.u64 [%l0+56], 1;"), Fault::illegal_address,
               "beyond the end of an allocation, at faulty.ptx:9 `st.u64 [%l0+56], 1` in k, "
               "block (0,0,0), thread (0,0,0)");
  expect_fault(fault_of("ld.u32 %r1, [%l0+52]; ld.u64 %l1, [%l0+52];"), Fault::misaligned_address,
               "not aligned");
  expect_fault(fault_of("mov.u64 %l1, 0x123456789000; atom.add.u32 %r1, [%l1], 1;"),
               Fault::illegal_address, "no memory that a kernel may touch");
  expect_fault(fault_of("ld.shared.u32 %r1, [cells+64];"), Fault::illegal_address, "0x40");
  expect_fault(fault_of("mov.u32 %r1, 0xfffffffc; ld.shared.u32 %r1, [%r1];"),
               Fault::illegal_address, "0xfffffffc");
  expect_fault(fault_of("mov.u64 %l1, 0; ld.local.u32 %r1, [%l1];"), Fault::illegal_address, "");
  // Another lane's local memory is no memory of this one.
  expect_fault(fault_of("mov.u64 %l1, own; cvta.local.u64 %l2, %l1; setp.ne.u32 %p1, %t, 0; "
                        "@!%p1 st.global.u64 [%l0], %l2; bar.sync 0; ld.global.u64 %l2, [%l0]; "
                        "@%p1 ld.u32 %r1, [%l2];",
                        {1, 2}),
               Fault::illegal_address, "thread (1,0,0)");
}

TEST(EmulatedFaults, of_lanes_that_wait_for_each_other) {
  using exec::Fault;
  expect_fault(
      fault_of("setp.eq.u32 %p1, %t, 0; @%p1 bar.sync 1; bar.sync 2;", {1, 2}), Fault::divergence,
      "2 lanes wait for each other for ever; threads 0 wait in line 8 at barrier 1; threads 1 "
      "wait in line 8 at barrier 2, at faulty.ptx:8");
  expect_fault(fault_of("setp.eq.u32 %p1, %t, 1; @%p1 bar.sync 1; bar.warp.sync 3;", {1, 2}),
               Fault::divergence, "threads 0 wait in line 8 for the lanes 00000003 of their warp");
  expect_fault(
      fault_of("setp.lt.u32 %p1, %t, 3; @%p1 ret; setp.lt.u32 %p1, %t, 40;\n@%p1 bar.sync 3, "
               "64;\nbar.sync 5, 64;",
               {1, 64}),
      Fault::divergence,
      "61 lanes wait for each other for ever, 3 have ended; threads 3-39 wait in line 9 at "
      "barrier 3; threads 40-63 wait in line 10 at barrier 5");
  expect_fault(
      fault_of("setp.eq.u32 %p1, %t, 0; @%p1 barrier.sync 1, 64;\nbarrier.sync 1, 96;", {1, 96}),
      Fault::divergence,
      "barrier 1 is waited for by 96 lanes and by 64, in line 8 by thread 0 "
      "of the block, at faulty.ptx:9");
  expect_fault(fault_of("bar.warp.sync 0;"), Fault::divergence, "not in the mask");
  expect_fault(
      fault_of("setp.eq.u32 %p1, %t, 0; @%p1 bra A; bar.sync 0; bra B;\nA: bar.sync 0; B:", {1, 2}),
      Fault::divergence,
      "wait at different places for barrier 0, thread 0 of the block in line 9, at faulty.ptx:8");
  expect_fault(fault_of("bar.sync 16;"), Fault::illegal_instruction, "no barrier 16");
}

TEST(EmulatedFaults, of_kernels_that_end_themselves_or_never) {
  using exec::Fault;
  expect_fault(fault_of("trap;"), Fault::trap, "a trap, at faulty.ptx:8 `trap`");
  expect_fault(fault_of("FOREVER: bra FOREVER;", {1, 1, 0, 50}), Fault::timeout,
               "ran longer than EMULATED_CUDA_LAUNCH_LIMIT_MS");
  expect_fault(fault_of("FOREVER: nanosleep.u32 100; bra FOREVER;", {2, 64, 0, 50}), Fault::timeout,
               "");
  expect_fault(fault_of("mov.u64 %l1, 7; { .param .b32 x; pr: .callprototype _ (.param .b32 _); "
                        "call %l1, (x), pr; }"),
               Fault::illegal_instruction, "an indirect call to what is no function");
  Kernels deep(
      ".func f() { .local .align 8 .b8 own[4096]; call f; ret; }\n"
      ".visible .entry k() { call f; ret; }\n");
  expect_fault(deep.run("k", {}, {}), Fault::stack_overflow, "is too small for f");
  Kernels bare(".func f() { call f; ret; }\n.visible .entry k() { call f; ret; }\n");
  expect_fault(bare.run("k", {}, {}), Fault::stack_overflow, "is too small for f");
}

}  // namespace

}  // namespace k2k::emulator
