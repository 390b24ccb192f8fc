// Lanes: divergence, forward progress, barriers, shuffles, votes, atomics, calls, memory spaces.

#include <gtest/gtest.h>

#include <numeric>

#include "emulator/cuda/tests/kernels_fixture.hpp"

namespace k2k::emulator {

namespace {

// A kernel with one pointer in %p; %t is the lane's number, %q the address of its own word.
std::string with_words(const std::string& declarations, const std::string& code) {
  return ".visible .entry k(.param .u64 words) {\n"
         ".reg .pred %p<4>; .reg .b64 %p, %q, %l<6>; .reg .b32 %t, %r<10>;\n" +
         declarations +
         "ld.param.u64 %p, [words]; mov.u32 %t, %tid.x; mul.wide.u32 %l0, %t, 4;\n"
         "add.u64 %q, %p, %l0;\n" +
         code + "\nret;\n}\n";
}

std::vector<std::uint32_t> run_words(const std::string& declarations, const std::string& code,
                                     Shape shape, std::size_t count) {
  std::vector<std::uint32_t> words(count, 0);
  Kernels kernels(with_words(declarations, code));
  kernels.share(words);
  const Outcome outcome = kernels.run("k", shape, {address_of(words)});
  EXPECT_EQ(outcome.fault, exec::Fault::none) << outcome.report;
  return words;
}

TEST(EmulatedLanes, take_each_its_own_branch) {
  const auto words = run_words("", R"(
    and.b32 %r0, %t, 3;
    setp.eq.u32 %p0, %r0, 0;
    mov.u32 %r1, 10;
    @%p0 bra DONE;
    setp.eq.u32 %p0, %r0, 1;
    mov.u32 %r1, 20;
    @%p0 bra DONE;
    mov.u32 %r1, 30;
  DONE:
    st.global.u32 [%q], %r1;)",
                               {1, 64}, 64);
  for (std::uint32_t lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(words[lane], lane % 4 == 0 ? 10 : lane % 4 == 1 ? 20 : 30);
  }
}

// A lane that waits for its neighbour of the same warp: without forward progress it never ends.
TEST(EmulatedLanes, progress_while_a_neighbour_spins) {
  const auto words = run_words("", R"(
    setp.eq.u32 %p0, %t, 31;
    @%p0 bra LAST;
  SPIN:
    ld.acquire.gpu.u32 %r0, [%q+4];
    setp.eq.u32 %p1, %r0, 0;
    @%p1 bra SPIN;
    add.u32 %r0, %r0, 1;
    st.release.gpu.u32 [%q], %r0;
    ret;
  LAST:
    mov.u32 %r0, 1;
    st.release.gpu.u32 [%q], %r0;)",
                               {1, 32}, 32);
  EXPECT_EQ(words[0], 32u);
}

TEST(EmulatedLanes, of_a_block_meet_at_barriers) {
  // Each lane reads what the lane opposite wrote before the barrier.
  const auto words = run_words(".shared .align 4 .b8 cell[1024];", R"(
    shl.b32 %r0, %t, 2;
    mov.u32 %r1, cell;
    add.u32 %r2, %r1, %r0;
    st.shared.u32 [%r2], %t;
    bar.sync 0;
    sub.u32 %r3, 1020, %r0;
    add.u32 %r3, %r1, %r3;
    ld.shared.u32 %r4, [%r3];
    st.global.u32 [%q], %r4;)",
                               {1, 256}, 256);
  for (std::uint32_t lane = 0; lane < 256; ++lane) EXPECT_EQ(words[lane], 255 - lane);
}

TEST(EmulatedLanes, that_exited_are_not_waited_for) {
  const auto words = run_words("", R"(
    setp.lt.u32 %p0, %t, 40;
    @%p0 exit;
    bar.sync 0;
    bar.red.popc.u32 %r0, 1, 0;
    st.global.u32 [%q], 7;)",
                               {1, 64}, 64);
  EXPECT_EQ(std::accumulate(words.begin(), words.end(), 0u), 24u * 7);
}

TEST(EmulatedLanes, reduce_at_a_barrier) {
  const auto words = run_words("", R"(
    and.b32 %r0, %t, 1;
    setp.eq.u32 %p0, %r0, 0;
    bar.red.popc.u32 %r1, 2, %p0;
    bar.red.and.pred %p1, 3, %p0;
    bar.red.or.pred %p2, 3, !%p0;
    selp.u32 %r2, 100, 0, %p1;
    selp.u32 %r3, 1000, 0, %p2;
    add.u32 %r1, %r1, %r2;
    add.u32 %r1, %r1, %r3;
    st.global.u32 [%q], %r1;)",
                               {1, 96}, 96);
  for (const std::uint32_t word : words) EXPECT_EQ(word, 1048u);
}

TEST(EmulatedLanes, shuffle_their_values) {
  const auto words = run_words("", R"(
    add.u32 %r0, %t, 100;
    shfl.sync.idx.b32 %r1, %r0, 5, 31, 0xffffffff;
    shfl.sync.up.b32 %r2|%p0, %r0, 1, 0, 0xffffffff;
    shfl.sync.down.b32 %r3|%p1, %r0, 4, 31, 0xffffffff;
    shfl.sync.bfly.b32 %r4, %r0, 7, 0x181f, 0xffffffff;
    st.global.u32 [%q], %r1;
    st.global.u32 [%q+128], %r2;
    st.global.u32 [%q+256], %r3;
    st.global.u32 [%q+384], %r4;
    selp.u32 %r5, 1, 0, %p0;
    selp.u32 %r6, 1, 0, %p1;
    st.global.u32 [%q+512], %r5;
    st.global.u32 [%q+640], %r6;)",
                               {1, 32}, 192);
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(words[lane], 105u);
    EXPECT_EQ(words[32 + lane], lane == 0 ? 100 : 99 + lane);
    EXPECT_EQ(words[64 + lane], lane < 28 ? 104 + lane : 100 + lane);
    EXPECT_EQ(words[96 + lane], 100 + (lane ^ 7));
    EXPECT_EQ(words[128 + lane], lane == 0 ? 0u : 1u);
    EXPECT_EQ(words[160 + lane], lane < 28 ? 1u : 0u);
  }
}

TEST(EmulatedLanes, vote_match_and_reduce) {
  const auto words = run_words("", R"(
    setp.lt.u32 %p0, %t, 3;
    vote.sync.ballot.b32 %r0, %p0, 0xffffffff;
    vote.sync.any.pred %p1, %p0, 0xffffffff;
    vote.sync.all.pred %p2, !%p0, 0xffffffff;
    selp.u32 %r1, 1, 0, %p1;
    selp.u32 %r2, 1, 0, %p2;
    and.b32 %r3, %t, 1;
    match.any.sync.b32 %r4, %r3, 0xffffffff;
    match.all.sync.b32 %r5|%p3, %r3, 0xffffffff;
    redux.sync.add.u32 %r6, %t, 0xffffffff;
    redux.sync.min.s32 %r7, -5, 0xffffffff;
    elect.sync %r8|%p3, 0xffffffff;
    st.global.u32 [%q], %r0;
    st.global.u32 [%q+128], %r1;
    st.global.u32 [%q+256], %r2;
    st.global.u32 [%q+384], %r4;
    st.global.u32 [%q+512], %r5;
    st.global.u32 [%q+640], %r6;
    st.global.u32 [%q+768], %r7;
    selp.u32 %r9, 1, 0, %p3;
    st.global.u32 [%q+896], %r9;)",
                               {1, 32}, 256);
  EXPECT_EQ(words[9], 7u);
  EXPECT_EQ(words[32], 1u);
  EXPECT_EQ(words[64], 0u);
  EXPECT_EQ(words[96], 0x55555555u);
  EXPECT_EQ(words[97], 0xaaaaaaaau);
  EXPECT_EQ(words[128], 0u);
  EXPECT_EQ(words[160 + 17], 496u);
  EXPECT_EQ(words[192], 0xfffffffbu);
  EXPECT_EQ(words[224], 1u);
  EXPECT_EQ(words[225], 0u);
}

// Only the lanes of the mask meet; the others go on alone.
TEST(EmulatedLanes, meet_in_parts_of_a_warp) {
  const auto words = run_words("", R"(
    setp.lt.u32 %p0, %t, 8;
    mov.u32 %r0, 0xffffff00;
    @!%p0 bra MEET;
    mov.u32 %r0, 0x000000ff;
  MEET:
    setp.ne.u32 %p1, %t, 99;
    vote.sync.ballot.b32 %r1, %p1, %r0;
    bar.warp.sync 0xffffffff;
    st.global.u32 [%q], %r1;)",
                               {1, 32}, 32);
  EXPECT_EQ(words[0], 0xffu);
  EXPECT_EQ(words[31], 0xffffff00u);
}

TEST(EmulatedLanes, count_with_atomics) {
  const auto words = run_words("", R"(
    atom.add.u32 %r0, [%p], 2;
    atom.acq_rel.gpu.global.max.s32 %r1, [%p+4], %t;
    red.relaxed.sys.or.b32 [%p+8], 0x10;
    atom.inc.u32 %r2, [%p+12], 9;
    atom.global.xor.b32 %r3, [%p+16], %t;
    atom.dec.u32 %r2, [%p+20], 4;
    mov.f32 %r4, 0f3F000000;
    red.global.add.f32 [%p+24], %r4;
  AGAIN:
    ld.relaxed.gpu.u32 %r5, [%p+28];
    add.u32 %r6, %r5, 3;
    atom.relaxed.gpu.cas.b32 %r7, [%p+28], %r5, %r6;
    setp.ne.u32 %p0, %r7, %r5;
    @%p0 bra AGAIN;)",
                               {8, 128}, 8);
  EXPECT_EQ(words[0], 2048u);
  EXPECT_EQ(words[1], 127u);
  EXPECT_EQ(words[2], 0x10u);
  EXPECT_EQ(words[3], 1024u % 10);
  EXPECT_EQ(words[4], 0u);
  EXPECT_EQ(words[5], (5 - 1024 % 5) % 5u);
  EXPECT_EQ(words[6], std::bit_cast<std::uint32_t>(512.0f));
  EXPECT_EQ(words[7], 3072u);
}

TEST(EmulatedLanes, add_halves_atomically) {
  std::vector<std::uint32_t> words(2, 0);
  Kernels kernels(with_words("", R"(
    mov.b32 %r0, 0x3c004000;
    atom.global.add.noftz.f16x2 %r1, [%p], %r0;
    { .reg .b16 %h; mov.b16 %h, 0x3f80; atom.global.add.noftz.bf16 %h, [%p+4], %h; })"));
  kernels.share(words);
  EXPECT_EQ(kernels.run("k", {1, 8}, {address_of(words)}).fault, exec::Fault::none);
  EXPECT_EQ(words[0], 0x48004c00u);  // 8 and 16.
  EXPECT_EQ(words[1], 0x4100u);      // 8.
}

TEST(EmulatedLanes, call_functions_and_return_values) {
  Kernels kernels(R"(
.func (.param .b32 sum) fib(.param .b32 n)
{
  .reg .pred %p; .reg .b32 %r<6>;
  ld.param.u32 %r0, [n];
  setp.lt.u32 %p, %r0, 2;
  @%p bra SMALL;
  sub.u32 %r1, %r0, 1;
  sub.u32 %r2, %r0, 2;
  { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), fib, (a);
    ld.param.b32 %r3, [b]; }
  { .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call.uni (b), fib, (a);
    ld.param.b32 %r4, [b]; }
  add.u32 %r0, %r3, %r4;
SMALL:
  st.param.b32 [sum], %r0;
  ret;
}
.func (.param .align 8 .b8 out[16]) twice(.param .align 8 .b8 in[16])
{
  .reg .b64 %l<3>;
  ld.param.v2.b64 {%l0, %l1}, [in];
  add.u64 %l0, %l0, %l0;
  add.u64 %l1, %l1, %l1;
  st.param.v2.b64 [out], {%l0, %l1};
  ret;
}
.global .u64 table[2] = {fib, twice};
.visible .entry k(.param .u64 words) {
  .reg .b64 %l<8>; .reg .b32 %r<4>;
  ld.param.u64 %l0, [words];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %l1, %r0, 24;
  add.u64 %l0, %l0, %l1;
  ld.global.u64 %l2, [table];
  { .param .b32 a; .param .b32 b; st.param.b32 [a], %r0;
    proto_0 : .callprototype (.param .b32 _) _ (.param .b32 _);
    call (b), %l2, (a), proto_0;
    ld.param.b32 %r1, [b]; }
  cvt.u64.u32 %l3, %r1;
  { .param .align 8 .b8 a[16]; .param .align 8 .b8 b[16];
    st.param.b64 [a+0], %l3; st.param.b64 [a+8], 21;
    call.uni (b), twice, (a);
    ld.param.v2.b64 {%l4, %l5}, [b]; }
  st.global.u64 [%l0], %l3; st.global.u64 [%l0+8], %l4; st.global.u64 [%l0+16], %l5;
  ret;
})");
  std::vector<std::uint64_t> words(60, 0);
  kernels.share(words);
  const Outcome outcome = kernels.run("k", {1, 20}, {address_of(words)});
  ASSERT_EQ(outcome.fault, exec::Fault::none) << outcome.report;
  EXPECT_EQ(words[3 * 19], 4181u);
  EXPECT_EQ(words[3 * 19 + 1], 8362u);
  EXPECT_EQ(words[3 * 19 + 2], 42u);
}

TEST(EmulatedLanes, address_each_space_and_all_generically) {
  Kernels kernels(R"(
.const .align 8 .b8 fixed[8] = {1, 2, 3, 4, 5, 6, 7, 8};
.global .align 4 .u32 counter = 40;
.extern .shared .align 16 .b8 dynamic[];
.visible .entry k(.param .u64 words) {
  .local .align 8 .b8 own[16];
  .shared .align 4 .u32 cell;
  .reg .pred %p<4>; .reg .b64 %l<9>; .reg .b32 %r<9>; .reg .b16 %h<4>;
  ld.param.u64 %l0, [words];
  ld.const.u8 %h0, [fixed+2];
  cvt.u32.u16 %r0, %h0;
  ld.global.u32 %r1, [counter];
  mov.u64 %l1, own;
  cvta.local.u64 %l2, %l1;
  st.u32 [%l2+4], 7;
  ld.local.u32 %r2, [own+4];
  cvta.to.local.u64 %l3, %l2;
  ld.local.u32 %r3, [%l3+4];
  mov.u64 %l4, cell;
  cvta.shared.u64 %l5, %l4;
  st.shared.u32 [cell], 11;
  ld.u32 %r4, [%l5];
  mov.u32 %r5, dynamic;
  st.shared.u32 [%r5+12], 13;
  ld.shared.u32 %r5, [dynamic+12];
  isspacep.shared %p0, %l5;
  isspacep.local %p1, %l2;
  isspacep.global %p2, %l0;
  isspacep.global %p3, %l2;
  st.global.v4.u32 [%l0], {%r0, %r1, %r2, %r3};
  st.global.v2.u32 [%l0+16], {%r4, %r5};
  selp.u32 %r0, 1, 0, %p0; selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 1, 0, %p2;
  selp.u32 %r3, 1, 0, %p3;
  st.global.v4.u32 [%l0+32], {%r0, %r1, %r2, %r3};
  mov.b64 %l6, {%r0, %r4};
  mov.b64 {%r6, %r7}, %l6;
  st.global.v2.u32 [%l0+48], {%r6, %r7};
  ret;
})");
  std::vector<std::uint64_t> memory(8, 0);
  kernels.share(memory);
  const Outcome outcome = kernels.run("k", {1, 1, 16}, {address_of(memory)});
  ASSERT_EQ(outcome.fault, exec::Fault::none) << outcome.report;
  std::vector<std::uint32_t> words(16);
  std::memcpy(words.data(), memory.data(), 64);
  const std::vector<std::uint32_t> wanted{3, 40, 7, 7, 11, 13, 0, 0, 1, 1, 1, 0, 1, 11, 0, 0};
  EXPECT_EQ(words, wanted);
}

TEST(EmulatedLanes, branch_by_an_index) {
  const auto words = run_words("", R"(
    min.u32 %r0, %t, 2;
  targets: .branchtargets A, B, C;
    brx.idx %r0, targets;
  A: mov.u32 %r1, 5; bra END;
  B: mov.u32 %r1, 6; bra END;
  C: mov.u32 %r1, 7;
  END: st.global.u32 [%q], %r1;)",
                               {1, 4}, 4);
  EXPECT_EQ(words, (std::vector<std::uint32_t>{5, 6, 7, 7}));
}

TEST(EmulatedLanes, know_their_places) {
  const auto words = run_words("", R"(
    mov.u32 %r0, %laneid; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x; mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %lanemask_lt;
    mad.lo.u32 %r5, %r1, %r3, %t;
    mul.wide.u32 %l1, %r5, 16;
    add.u64 %l1, %p, %l1;
    st.global.v4.u32 [%l1], {%r0, %r1, %r2, %r4};)",
                               {3, 40}, 480);
  EXPECT_EQ(words[4 * 39], 7u);
  EXPECT_EQ(words[4 * 39 + 3], 127u);
  EXPECT_EQ(words[4 * 119 + 1], 2u);
  EXPECT_EQ(words[4 * 119 + 2], 3u);
}

// The same kernel under random orders of lanes: what is ordered stays ordered.
TEST(EmulatedLanes, run_under_adversarial_schedules) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    static std::vector<exec::Device*> devices;  // Their threads never end.
    devices.push_back(new exec::Device(2, {true, seed}));
    std::vector<std::uint32_t> words(3, 0);
    Kernels kernels(with_words(".shared .align 4 .u32 cell;", R"(
      setp.ne.u32 %p0, %t, 0;
      @!%p0 st.shared.u32 [cell], 0;
      bar.sync 0;
      atom.shared.add.u32 %r0, [cell], 1;
      bar.sync 0;
      ld.shared.u32 %r1, [cell];
      red.global.max.u32 [%p], %r1;
      setp.ne.u32 %p1, %r1, 96;
      @%p1 red.global.add.u32 [%p+4], 1;
      shfl.sync.idx.b32 %r2, %t, 3, 31, 0xffffffff;
      red.global.add.u32 [%p+8], %r2;)"));
    kernels.share(words);
    const Outcome outcome = kernels.run("k", {4, 96}, {address_of(words)}, *devices.back());
    EXPECT_EQ(outcome.fault, exec::Fault::none) << outcome.report;
    EXPECT_EQ(words, (std::vector<std::uint32_t>{96, 0, 4 * 32 * (3 + 35 + 67)})) << seed;
  }
}

// Blocks that wait for each other run together, as long as they fit onto the device.
TEST(EmulatedLanes, of_several_blocks_wait_for_each_other) {
  const auto words = run_words("", R"(
    mov.u32 %r3, %nctaid.x;
    atom.acq_rel.gpu.add.u32 %r0, [%p], 1;
  SPIN:
    ld.acquire.gpu.u32 %r1, [%p];
    nanosleep.u32 200;
    setp.lt.u32 %p0, %r1, %r3;
    @%p0 bra SPIN;
    red.add.u32 [%p+4], 1;)",
                               {40, 1}, 2);
  EXPECT_EQ(words[1], 40u);
}

}  // namespace

}  // namespace k2k::emulator
