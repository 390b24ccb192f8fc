// Clusters: their registers, each other's shared memory, the barrier, and what is reported of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <set>

#include "emulator/cuda/exec/check/uninitialised.hpp"
#include "emulator/cuda/tests/kernels_fixture.hpp"

namespace k2k::emulator {

namespace {

// %p the memory; %t, %b the lane's and the block's number, %rank that in the cluster and %peer that
// of the next block; %q the lane's word of 16 bytes in %p; %s the lane's word of cells.
std::string cluster_kernel_of(const std::string& code) {
  return ".visible .entry k(.param .u64 words) {\n"
         ".shared .align 16 .b8 cells[512]; .shared .align 8 .b8 bar[16];\n"
         ".reg .pred %p<6>; .reg .b64 %p, %q, %l<8>; "
         ".reg .b32 %t, %b, %rank, %peer, %size, %s, %r<12>;\n"
         "ld.param.u64 %p, [words]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x;\n"
         "mov.u32 %rank, %cluster_ctarank; mov.u32 %size, %cluster_nctarank;\n"
         "add.u32 %peer, %rank, 1; rem.u32 %peer, %peer, %size; mov.u32 %r0, %ntid.x;\n"
         "mad.lo.u32 %r0, %b, %r0, %t; mul.wide.u32 %l0, %r0, 16; add.u64 %q, %p, %l0;\n"
         "mov.u32 %r0, cells; shl.b32 %s, %t, 2; add.u32 %s, %s, %r0;\n"
         "setp.eq.u32 %p0, %t, 0; setp.eq.u32 %p1, %rank, 0;\n" +
         code + "\nret;\n}\n";
}

const std::string barrier = "barrier.cluster.arrive; barrier.cluster.wait;\n";

using Words = std::array<std::uint32_t, 4>;

struct Ran {
  Outcome outcome;
  std::vector<Words> words;
  std::vector<std::string> races;
};

// In turn and under two seeds; the first fault.
Ran run(const std::string& code, Shape shape, bool watches = true) {
  static const std::vector<exec::Device*> devices{&test_device(), new exec::Device(2, {true, 1}),
                                                  new exec::Device(2, {true, 2})};
  Ran ran;
  std::mutex mutex;
  exec::check::Races races([&](const std::string& text) {
    const std::lock_guard lock(mutex);
    ran.races.push_back(text);
  });
  ran.words.resize(std::size_t{shape.blocks} * shape.threads + 16);
  Kernels kernels(cluster_kernel_of(code), "m.ptx");
  kernels.share(ran.words);
  if (watches) kernels.watch(races);
  for (exec::Device* const device : devices) {
    std::fill(ran.words.begin(), ran.words.end(), Words{});
    ran.outcome = kernels.run("k", shape, {address_of(ran.words)}, *device);
    if (ran.outcome.fault != exec::Fault::none) break;
  }
  return ran;
}

constexpr Shape pairs{.blocks = 4, .threads = 64, .cluster = 2};
constexpr Shape one_pair{.blocks = 2, .threads = 64, .cluster = 2};

void expect_silence(const std::string& code, Shape shape = one_pair) {
  const Ran ran = run(code, shape);
  EXPECT_EQ(ran.outcome.fault, exec::Fault::none) << ran.outcome.report;
  EXPECT_TRUE(ran.races.empty()) << code << ran.races[0];
}
void expect_race(const std::string& code, const std::vector<std::string>& words,
                 Shape shape = one_pair) {
  const Ran ran = run(code, shape);
  EXPECT_EQ(ran.outcome.fault, exec::Fault::none) << ran.outcome.report;
  ASSERT_FALSE(ran.races.empty()) << code;
  for (const std::string& word : words) {
    EXPECT_TRUE(
        std::any_of(ran.races.begin(), ran.races.end(),
                    [&](const std::string& said) { return said.find(word) != std::string::npos; }))
        << "it says: " << ran.races[0] << "\nnot: " << word;
  }
}
void expect_fault(const std::string& code, exec::Fault fault, const std::string& words,
                  Shape shape = one_pair) {
  const Ran ran = run(code, shape, false);
  EXPECT_EQ(ran.outcome.fault, fault) << code << ran.outcome.report;
  EXPECT_NE(ran.outcome.report.find(words), std::string::npos) << ran.outcome.report;
}

TEST(EmulatedCluster, numbers_its_blocks) {
  exec::Grid grid;
  grid.blocks = {6, 4, 9};
  grid.cluster = {3, 2, 1};
  std::set<std::uint64_t> seen;
  for (std::uint64_t number = 0; number < grid.block_count() / grid.cluster_size(); ++number) {
    std::set<std::uint64_t> clusters;
    for (std::uint32_t rank = 0; rank < grid.cluster_size(); ++rank) {
      const std::uint64_t block = exec::block_number(grid, number, rank);
      EXPECT_TRUE(seen.insert(block).second);
      EXPECT_EQ(exec::cluster_number(grid.blocks, grid.cluster, block), number);
      EXPECT_EQ(block % 6 % 3 + block / 6 % 4 % 2 * 3, rank);
    }
  }
  EXPECT_EQ(seen.size(), grid.block_count());
}

TEST(EmulatedCluster, has_registers) {
  const std::string code =
      "mov.u32 %r1, %clusterid.x; mov.u32 %r2, %nclusterid.x; mov.u32 %r3, %cluster_ctaid.x; "
      "mov.u32 %r4, %cluster_nctaid.x; mov.pred %p2, %is_explicit_cluster; selp.u32 %r5, 1, 0, "
      "%p2; mad.lo.u32 %r4, %r5, 100, %r4;\n"
      "mad.lo.u32 %r3, %rank, 100, %r3; mad.lo.u32 %r2, %size, 100, %r2; "
      "st.global.v4.u32 [%q], {%r1, %r2, %r3, %r4};";
  const Ran clusters = run(code, {.blocks = 6, .threads = 1, .cluster = 2});
  ASSERT_EQ(clusters.outcome.fault, exec::Fault::none) << clusters.outcome.report;
  for (std::uint32_t block = 0; block < 6; ++block) {
    EXPECT_EQ(clusters.words[block], (Words{block / 2, 203, block % 2 * 101, 102}));
  }
  const Ran alone = run(code + barrier, {.blocks = 2, .threads = 1});
  ASSERT_EQ(alone.outcome.fault, exec::Fault::none) << alone.outcome.report;
  EXPECT_EQ(alone.words[1], (Words{1, 102, 0, 1}));
}

// Each lane reads, changes and writes the word of a lane of the next block, by addresses of every
// kind.
TEST(EmulatedCluster, shares_memory) {
  const std::string begin =
      "shl.b32 %r1, %b, 8; add.u32 %r1, %r1, %t; st.shared.u32 [%s], %r1;\n" + barrier;
  const std::string generic =
      "cvt.u64.u32 %l1, %s; cvta.shared.u64 %l1, %l1; mapa.u64 %l2, %l1, %peer;\n";
  const std::string narrow = "mapa.shared::cluster.u32 %r2, %s, %peer;\n";
  const std::string back = "cvta.to.shared.u64 %l3, %l2; cvt.u32.u64 %r2, %l3;\n";
  const std::string wide =
      "cvt.u64.u32 %l1, %s; mapa.shared::cluster.u64 %l2, %l1, %peer; cvt.u32.u64 %r2, %l2;\n";
  const std::string variable =
      "mapa.shared::cluster.u32 %r2, cells, %peer; mad.lo.u32 %r2, %t, 4, %r2;\n";
  const std::string again = "cvta.shared::cluster.u64 %l2, %l2;\n";
  struct Way {
    std::string make, at;
  };
  const std::vector<Way> ways{{generic, "[%l2]"},
                              {narrow, ".shared::cluster"},
                              {generic + back, ".shared::cluster"},
                              {wide, ".shared::cluster"},
                              {variable, ".shared::cluster"},
                              {wide + again, "[%l2]"}};
  for (const Way& way : ways) {
    const bool is_generic = way.at[0] == '[';
    const std::string space = is_generic ? "" : way.at;
    const std::string at = is_generic ? way.at : "[%r2]";
    const std::string code = begin + way.make + "ld" + space + ".u32 %r3, " + at + ";\natom" +
                             space + ".add.u32 %r4, " + at + ", 5;\n" + barrier + "red" + space +
                             ".xor.b32 " + at + ", 0x10000;\n" + barrier +
                             "ld.shared.u32 %r5, [%s]; st.global.v4.u32 [%q], {%r3, %r4, %r5, "
                             "0};\n" +
                             barrier + "st" + space + ".u32 " + at + ", %r3;\n" + barrier +
                             "ld.shared.u32 %r5, [%s]; st.global.u32 [%q+12], %r5;";
    const Ran ran = run(code, pairs);
    ASSERT_EQ(ran.outcome.fault, exec::Fault::none) << code << ran.outcome.report;
    EXPECT_TRUE(ran.races.empty()) << ran.races[0];
    for (std::uint32_t at_block = 0; at_block < pairs.blocks; ++at_block) {
      for (std::uint32_t lane = 0; lane < pairs.threads; ++lane) {
        const std::uint32_t theirs = (at_block ^ 1) * 256 + lane;
        const std::uint32_t own = at_block * 256 + lane;
        EXPECT_EQ(ran.words[at_block * 64 + lane],
                  (Words{theirs, theirs, (own + 5) ^ 0x10000, own}))
            << code << at_block << "," << lane;
      }
    }
  }
}

TEST(EmulatedCluster, tells_whose_memory_it_is) {
  const std::string code =
      "cvt.u64.u32 %l1, %s; cvta.shared.u64 %l1, %l1; mapa.u64 %l2, %l1, %peer;\n"
      "getctarank.u64 %r1, %l2; mapa.shared::cluster.u32 %r2, %s, %peer; "
      "getctarank.shared::cluster.u32 %r3, %r2; getctarank.shared::cluster.u32 %r4, cells;\n"
      "isspacep.shared::cta %p2, %l2; isspacep.shared::cluster %p3, %l2; isspacep.global %p4, "
      "%l2; isspacep.shared %p5, %l1;\nselp.u32 %r5, 1, 0, %p2; selp.u32 %r6, 10, 0, %p3; selp.u32 "
      "%r7, 100, 0, %p4; selp.u32 %r8, 1000, 0, %p5;\nadd.u32 %r5, %r5, %r6; add.u32 %r5, %r5, "
      "%r7; add.u32 %r5, %r5, %r8; st.global.v4.u32 [%q], {%r1, %r3, %r4, %r5};\n" +
      barrier;
  const Ran ran = run(code, {.blocks = 8, .threads = 1, .cluster = 4});
  ASSERT_EQ(ran.outcome.fault, exec::Fault::none) << ran.outcome.report;
  for (std::uint32_t block = 0; block < 8; ++block) {
    const std::uint32_t peer = (block + 1) % 4;
    EXPECT_EQ(ran.words[block], (Words{peer, peer, block % 4, 1010}));
  }
}

// A launch whose clusters are larger than a multiprocessor, beside blocks that take turns.
TEST(EmulatedCluster, may_be_larger_than_a_multiprocessor) {
  const Ran ran =
      run("st.shared.u32 [%s], %b;\n" + barrier +
              "mapa.shared::cluster.u32 %r2, %s, %peer; ld.shared::cluster.u32 %r3, "
              "[%r2]; st.global.u32 [%q], %r3;\n" +
              barrier,
          {.blocks = 16, .threads = 96, .dynamic_shared = 150'000, .cluster = 8}, false);
  ASSERT_EQ(ran.outcome.fault, exec::Fault::none) << ran.outcome.report;
  for (std::uint32_t block = 0; block < 16; ++block) {
    EXPECT_EQ(ran.words[block * 96][0], block / 8 * 8 + (block + 1) % 8);
  }
}

std::string neighbour_after(const std::string& order) {
  return "st.shared.u32 [%s], %t;\n" + order +
         "mapa.shared::cluster.u32 %r2, %s, %peer; ld.shared::cluster.u32 %r3, [%r2];\n" + barrier;
}

TEST(EmulatedCluster, needs_its_barrier) {
  expect_silence(neighbour_after(barrier));
  expect_silence(
      neighbour_after("barrier.cluster.arrive.release.aligned; "
                      "barrier.cluster.wait.acquire.aligned;\n"));
  expect_silence(
      neighbour_after("fence.acq_rel.cluster; barrier.cluster.arrive.relaxed; "
                      "barrier.cluster.wait; bar.sync 0;\n" +
                      barrier));
  expect_race(
      neighbour_after("barrier.cluster.arrive.relaxed; barrier.cluster.wait;\n"),
      {"on 4 bytes at 0x", "of the shared memory of block ", "`st.shared.u32 [%s], %t`",
       "`ld.shared::cluster.u32 %r3, [%r2]`",
       "needed: a barrier of the cluster between them (barrier.cluster), or a release after "
       "the first that the second lane acquires, of scope .cluster or wider"});
  expect_race(neighbour_after("bar.sync 0;\n"), {"barrier of the cluster"});
  expect_race(neighbour_after(""), {"barrier of the cluster"});
  // The arrival comes before the store.
  expect_race(
      "barrier.cluster.arrive; st.shared.u32 [%s], %t; barrier.cluster.wait;\n"
      "mapa.shared::cluster.u32 %r2, %s, %peer; ld.shared::cluster.u32 %r3, [%r2];\n" +
          barrier,
      {"`st.shared.u32 [%s], %t`"});
}

// Block 0 writes data and a flag; block `reader` waits for the flag and reads.
std::string message(const std::string& write, const std::string& read) {
  return "@!%p0 bra END; @!%p1 bra READER;\nst.global.u32 [%p+16], 42;\n" + write +
         "\nbra END;\nREADER:\n" + read +
         "\nsetp.eq.u32 %p2, %r1, 0; @%p2 bra READER;\nld.global.u32 %r2, [%p+16];\nEND:\n" +
         barrier;
}

TEST(EmulatedCluster, is_a_scope) {
  const std::string release = "st.release.cluster.u32 [%p], 1;";
  const std::string acquire = "ld.acquire.cluster.u32 %r1, [%p];";
  expect_silence(message(release, acquire));
  expect_silence(message("st.release.gpu.u32 [%p], 1;", acquire));
  expect_silence(message("fence.acq_rel.cluster; st.relaxed.cluster.u32 [%p], 1;",
                         "ld.relaxed.cluster.u32 %r1, [%p]; fence.acq_rel.cluster;"));
  expect_silence(message("red.release.cluster.global.add.u32 [%p], 1;", acquire));
  expect_race(message("st.release.cta.u32 [%p], 1;", acquire),
              {"an atomic write (.cta)", "an atomic read (.cluster)",
               "both need the scope .cluster or wider"});
  expect_race(message(release, "ld.relaxed.cluster.u32 %r1, [%p];"), {"acquires nothing"});
  expect_race(message("st.relaxed.cluster.u32 [%p], 1;", acquire), {"releases nothing"});
  expect_race(message("fence.acq_rel.cta; st.relaxed.cluster.u32 [%p], 1;", acquire),
              {"`st.global.u32 [%p+16], 42`"});
  // From one cluster to another: the second's block 0 reads.
  const std::string across =
      "setp.eq.u32 %p1, %b, 0; setp.eq.u32 %p3, %b, 2; or.pred %p3, %p3, %p1; and.pred %p0, %p0, "
      "%p3;\n";
  expect_race(across + message(release, acquire), {".cluster reaches one cluster alone"}, pairs);
  expect_silence(across + message("st.release.gpu.u32 [%p], 1;", "ld.acquire.gpu.u32 %r1, [%p];"),
                 pairs);
}

// Each block stores to the next one, and its mbarrier learns of the bytes.
std::string sent(const std::string& send, const std::string& wait, const std::string& bytes) {
  return "@!%p0 bra READY;\nmbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;"
         "\nREADY:\n" +
         barrier + "@!%p0 bra END;\nmbarrier.arrive.expect_tx.shared.b64 _, [bar], " + bytes +
         ";\nmapa.shared::cluster.u32 %r2, cells, %peer; mapa.shared::cluster.u32 %r3, bar, "
         "%peer; add.u32 %r4, %b, 7;\n" +
         send + "\nWAIT: " + wait +
         " @!%p2 bra WAIT;\nld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [cells];\n"
         "st.global.v4.u32 [%q], {%r5, %r6, %r7, %r8};\nEND:\n" +
         barrier;
}

TEST(EmulatedCluster, sends_to_other_blocks) {
  const std::string wait = "mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p2, [bar], 0;";
  const std::string four =
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r2], {%r4, 1, 2, 3}, "
      "[%r3];";
  const std::string two =
      "cvt.u64.u32 %l1, %r4; "
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u64 [%r2], {%l1, 2}, [%r3];";
  const std::string one =
      "st.async.mbarrier::complete_tx::bytes.s32 [%r2+4], %r4, [%r3]; "
      "st.async.mbarrier::complete_tx::bytes.u32 [%r2], 1, [%r3];";
  // The block's own words, from [cells+64].
  const std::string bulk =
      "st.shared.v4.u32 [cells+64], {%r4, %r4, 5, 6}; fence.proxy.async.shared::cta;\n"
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r2], [cells+64], "
      "16, [%r3];";
  const std::string global =
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%p], 16, [%r3];";
  struct Form {
    std::string send, bytes;
    std::function<Words(std::uint32_t)> expected;
  };
  const std::vector<Form> forms{
      {four, "16", [](std::uint32_t from) { return Words{from + 7, 1, 2, 3}; }},
      {two, "16", [](std::uint32_t from) { return Words{from + 7, 0, 2, 0}; }},
      {one, "8", [](std::uint32_t from) { return Words{1, from + 7, 0, 0}; }},
      {bulk, "16", [](std::uint32_t from) { return Words{from + 7, from + 7, 5, 6}; }},
      {global, "16", [](std::uint32_t) { return Words{}; }}};
  const Shape shape{.blocks = 6, .threads = 1, .cluster = 3};
  for (const Form& form : forms) {
    const Ran ran = run(sent(form.send, wait, form.bytes), shape);
    ASSERT_EQ(ran.outcome.fault, exec::Fault::none) << form.send << ran.outcome.report;
    EXPECT_TRUE(ran.races.empty() || form.send == global) << form.send << ran.races[0];
    for (std::uint32_t block = 0; block < 6 && form.send != global; ++block) {
      const std::uint32_t from = block / 3 * 3 + (block + 2) % 3;
      EXPECT_EQ(ran.words[block], form.expected(from)) << form.send << block;
    }
  }
  // Without the wait the words are read too early, or at least not in order.
  expect_race(sent(four, "setp.eq.u32 %p2, %t, 0;", "16"), {"`st.async.weak"}, shape);
  expect_race(sent(four, "mbarrier.try_wait.parity.acquire.cta.shared.b64 %p2, [bar], 0;", "16"),
              {"`st.async.weak"}, shape);
}

TEST(EmulatedCluster, arrives_at_mbarriers_of_other_blocks) {
  const auto code = [](const std::string& arrive, const std::string& wait) {
    return "@!%p0 bra READY;\nmbarrier.init.shared.b64 [bar], 64;\nREADY:\n" + barrier +
           "mapa.shared::cluster.u32 %r2, %s, %peer; mapa.shared::cluster.u32 %r3, bar, %peer;\n"
           "st.shared::cluster.u32 [%r2], %t;\n" +
           arrive + "\nWAIT: " + wait +
           " @!%p2 bra WAIT;\nxor.b32 %r4, %s, 4; ld.shared.u32 %r5, "
           "[%r4]; st.global.u32 [%q], %r5;\n" +
           barrier;
  };
  const std::string arrive = "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];";
  const std::string wait = "mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p2, [bar], 0;";
  const Ran ran = run(code(arrive, wait), one_pair);
  ASSERT_EQ(ran.outcome.fault, exec::Fault::none) << ran.outcome.report;
  EXPECT_TRUE(ran.races.empty()) << ran.races[0];
  for (std::uint32_t lane = 0; lane < 64; ++lane) EXPECT_EQ(ran.words[64 + lane][0], lane ^ 1);
  expect_race(code("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r3];", wait),
              {"`st.shared::cluster.u32 [%r2], %t`"});
  expect_race(code(arrive, "mbarrier.try_wait.parity.acquire.cta.shared.b64 %p2, [bar], 0;"),
              {"`st.shared::cluster.u32 [%r2], %t`"});
}

TEST(EmulatedCluster, reports_misuse) {
  using exec::Fault;
  const std::string map = "mapa.shared::cluster.u32 %r2, %s, %peer;\n";
  expect_fault(
      "@!%p1 bra OTHER;\nret;\nOTHER: mov.u32 %r1, 0;\nAGAIN: add.u32 %r1, %r1, 1; "
      "setp.lt.u32 %p2, %r1, 20000; @%p2 bra AGAIN;\n" +
          map + "ld.shared::cluster.u32 %r3, [%r2];",
      Fault::illegal_address,
      "in the cluster, which is shared memory of a block that has ended; let its lanes wait "
      "for the others at a barrier of the cluster before they end, at m.ptx:");
  expect_fault("mapa.shared::cluster.u32 %r2, %s, 2;", Fault::illegal_address,
               "there is no block 2 in a cluster of 2");
  expect_fault("mapa.u64 %l2, %p, 1;", Fault::illegal_address,
               "that is no shared memory of the cluster");
  expect_fault(map + "ld.shared::cluster.u32 %r3, [%r2+1024];", Fault::illegal_address,
               "beyond the end of a block's shared memory");
  expect_fault("ld.shared::cluster.u32 %r3, [0x9000000];", Fault::illegal_address,
               "which is no memory of the cluster");
  expect_fault(map + "ld.shared.u32 %r3, [%r2];", Fault::illegal_address,
               "shared memory of another block of the cluster, which has ended or needs "
               ".shared::cluster");
  expect_fault("barrier.cluster.arrive;\nbarrier.cluster.arrive;", Fault::divergence,
               "arrives at the barrier of the cluster again before it has waited, since line ");
  expect_fault("barrier.cluster.wait;", Fault::divergence,
               "waits at the barrier of the cluster before it has arrived");
  expect_fault(
      "setp.eq.u32 %p2, %t, 3; @%p2 bra A; barrier.cluster.arrive.aligned; bra B;\n"
      "A: barrier.cluster.arrive.aligned;\nB: barrier.cluster.wait;",
      Fault::divergence,
      "lanes of one warp come to the barrier of the cluster at different places, thread 0");
  // Block 1 waits at another barrier, for lanes that never come.
  expect_fault(
      "@!%p1 bra OTHER;\nbarrier.cluster.arrive; barrier.cluster.wait;\nret;\n"
      "OTHER: @%p0 bra LATE; barrier.cluster.arrive; barrier.cluster.wait; ret;\n"
      "LATE: bar.sync 5, 64;",
      Fault::divergence, " at barrier 5");
  expect_fault(
      "@!%p1 bra OTHER;\nbarrier.cluster.arrive; barrier.cluster.wait;\nret;\n"
      "OTHER: @%p0 bra LATE; barrier.cluster.arrive; barrier.cluster.wait; ret;\n"
      "LATE: bar.sync 5, 64;",
      Fault::divergence, " at the barrier of the cluster");
  const std::string send =
      "mapa.shared::cluster.u32 %r2, bar, %peer;\n"
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r2], 1, ";
  expect_fault(send + "[%r2+4];", Fault::misaligned_address, "8 bytes");
  expect_fault(send + "[%r2+8];", Fault::illegal_instruction,
               "an mbarrier that was not initialised");
  const auto refused = [](const std::string& code, const std::string& words) {
    const std::string said = refusal_of(ptx_head + cluster_kernel_of(code));
    EXPECT_NE(said.find(words), std::string::npos) << code << ": " << said;
  };
  refused("barrier.cluster.sync;", "`barrier.cluster.sync`: this form of the instruction");
  refused("barrier.cluster.wait.release;", "not known");
  refused("barrier.cluster.arrive.acquire;", "not known");
  refused("mapa.u32 %r1, %r2, 0;", "not known");
  refused("mapa.shared.u32 %r1, %r2, 0;", "not known");
  refused("mapa.u64 %l1, cells, 0;", "a variable that is not in .shared::cluster");
  refused("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%r1], {%r2, %r3}, [%r4];",
          "not known");
  refused("st.async.shared::cluster.mbarrier::complete_tx::bytes.u16 [%r1], %r2, [%r4];",
          "not known");
  refused(
      "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r1], "
      "%r2, [%r4];",
      "red");
  refused("mbarrier.arrive.shared::cluster.b64 %l1, [%r2];", "has no state as its result, but _");
  const auto kernel = [](const std::string& directive) {
    return refusal_of(ptx_head + ".visible .entry k() " + directive + " { ret; }\n");
  };
  EXPECT_EQ(kernel(".explicitcluster .reqnctapercluster 2, 1, 1"), "");
  EXPECT_EQ(kernel(".maxclusterrank 8"), "");
  EXPECT_NE(kernel(".reqnctapercluster 0").find("a size of a cluster"), std::string::npos);
  EXPECT_NE(kernel(".reqnctapercluster 1, 1, 1, 1").find("three numbers"), std::string::npos);
}

// Shared memory that another block reads before its own block wrote it; or after.
TEST(EmulatedCluster, has_unwritten_memory) {
  const auto reports_of = [](const std::string& code) {
    std::vector<std::string> found;
    std::mutex mutex;
    exec::check::UninitialisedReads reads([&](const std::string& text) {
      const std::lock_guard lock(mutex);
      found.push_back(text);
    });
    std::vector<Words> words(128);
    Kernels kernels(cluster_kernel_of(code), "m.ptx");
    kernels.share(words);
    kernels.watch([&](const exec::Grid&) { return reads.begin(nullptr); });
    const Outcome outcome =
        kernels.run("k", {.blocks = 2, .threads = 1, .cluster = 2}, {address_of(words)});
    EXPECT_EQ(outcome.fault, exec::Fault::none) << outcome.report;
    return found;
  };
  const std::string read =
      "mapa.shared::cluster.u32 %r2, %s, %peer; ld.shared::cluster.u32 %r3, [%r2+4];\n" + barrier;
  EXPECT_TRUE(reports_of("st.shared.u32 [cells+4], 1;\n" + barrier + read).empty());
  EXPECT_TRUE(reports_of("mapa.shared::cluster.u32 %r2, %s, %peer; st.shared::cluster.u32 [%r2+4], "
                         "1;\n" +
                         barrier + "ld.shared.u32 %r3, [cells+4];")
                  .empty());
  const std::vector<std::string> found = reports_of("st.shared.u32 [cells], 1;\n" + barrier + read);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].find("byte 0x4 is read at m.ptx:"), std::string::npos) << found[0];
}

}  // namespace

}  // namespace k2k::emulator
