// Races between lanes: those that are planted are found, correct kernels are silent.

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <mutex>
#include <thread>

#include "emulator/cuda/tests/kernels_fixture.hpp"

namespace k2k::emulator {

namespace {

using exec::check::Races;

// A kernel with one pointer in %p; %t is the lane's number, %b the block's, %q the address of the
// word with the lane's number.
std::string race_kernel_of(const std::string& code) {
  return ".visible .entry k(.param .u64 words) {\n"
         ".shared .align 16 .b8 cells[1024];\n"
         ".reg .pred %p<6>; .reg .b64 %p, %q, %l<6>; .reg .b32 %t, %b, %r<10>; .reg .b128 %w;\n"
         "ld.param.u64 %p, [words]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x;\n"
         "mul.wide.u32 %l0, %t, 4; add.u64 %q, %p, %l0; shl.b32 %r9, %t, 2;\n"
         "setp.eq.u32 %p0, %t, 0; setp.eq.u32 %p1, %b, 0;\n" +
         code + "\nret;\n}\n";
}

struct Found {
  std::vector<std::string> reports;
  std::vector<std::uint32_t> words;
};

// Runs once in turn and under three seeds; the reports of all runs.
Found races_in(const std::string& code, Shape shape) {
  Found found;
  std::mutex mutex;
  Races races([&](const std::string& text) {
    const std::lock_guard lock(mutex);
    found.reports.push_back(text);
  });
  static const std::vector<exec::Device*> devices{
      new exec::Device(2, {}), new exec::Device(2, {true, 1}), new exec::Device(1, {true, 2})};
  found.words.resize(256);
  Kernels kernels(race_kernel_of(code), "m.ptx");
  kernels.share(found.words);
  kernels.watch(races);
  for (exec::Device* const device : devices) {
    std::fill(found.words.begin(), found.words.end(), 0);
    const Outcome outcome = kernels.run("k", shape, {address_of(found.words)}, *device);
    EXPECT_EQ(outcome.fault, exec::Fault::none) << outcome.report;
  }
  EXPECT_EQ(races.count(), found.reports.size());
  return found;
}

void expect_silence(const std::string& code, Shape shape) {
  for (const std::string& report : races_in(code, shape).reports) ADD_FAILURE() << report;
}

// A race of two instructions, and words of its sentence.
void expect_race(const std::string& code, Shape shape, const std::vector<std::string>& words) {
  const Found found = races_in(code, shape);
  ASSERT_FALSE(found.reports.empty()) << code;
  for (const std::string& word : words) {
    EXPECT_NE(found.reports[0].find(word), std::string::npos)
        << "it says: " << found.reports[0] << "\nnot: " << word;
  }
}

constexpr Shape one_block{1, 64};
constexpr Shape two_blocks{2, 1};

std::string neighbour_after(const std::string& order) {
  return "st.shared.u32 [%r9], %t;\n" + order +
         "\nxor.b32 %r1, %r9, 4; ld.shared.u32 %r2, [%r1]; add.u32 %r2, %r2, 1;";
}

TEST(EmulatedRaces, of_shared_memory_without_a_barrier) {
  expect_race(neighbour_after(""), one_block,
              {"race in kernel k on 4 bytes at 0x", "of shared memory: a plain ",
               "`st.shared.u32 [%r9], %t` by block (0,0,0), thread (", ", then a plain ",
               "`ld.shared.u32 %r2, [%r1]`", "needed: a barrier between them (bar.sync"});
  expect_silence(neighbour_after("bar.sync 0;"), one_block);
  expect_silence(neighbour_after("barrier.sync.aligned 3, 64;"), one_block);
  expect_silence(neighbour_after("setp.ne.u32 %p2, %t, 99; bar.red.and.pred %p3, 1, %p2;"),
                 one_block);
  expect_silence(neighbour_after("bar.warp.sync 0xffffffff;"), one_block);
}

// Votes and shuffles meet, but order no memory.
TEST(EmulatedRaces, between_lanes_that_only_vote) {
  const std::string vote = "setp.ne.u32 %p2, %t, 99; vote.sync.any.pred %p3, %p2, 0xffffffff;";
  expect_race(neighbour_after(vote), one_block, {"bar.warp.sync within a warp"});
  expect_race(neighbour_after("shfl.sync.idx.b32 %r5, %t, 3, 31, 0xffffffff;"), one_block, {});
}

// The barrier stands before the read, but not before the next write.
TEST(EmulatedRaces, of_a_loop_that_needs_two_barriers) {
  const auto loop = [](const std::string& second) {
    return "mov.u32 %r4, 0;\nAGAIN: st.shared.u32 [%r9], %r4; bar.sync 0;\n"
           "xor.b32 %r1, %r9, 128; ld.shared.u32 %r2, [%r1];\n" +
           second + "\nadd.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 4; @%p2 bra AGAIN;";
  };
  expect_race(loop(""), one_block, {"`st.shared.u32 [%r9], %r4`", "`ld.shared.u32 %r2, [%r1]`"});
  expect_silence(loop("bar.sync 0;"), one_block);
}

// A lane that arrives only does not know what those who wait do.
TEST(EmulatedRaces, behind_an_arrival_at_a_barrier) {
  const auto producer = [](const std::string& consumers, const std::string& producers) {
    return "setp.lt.u32 %p2, %t, 32; @%p2 bra CONSUMER;\nst.shared.u32 [%r9+-128], %t;\n" +
           producers + "\nbra END;\nCONSUMER:\n" + consumers + "\nld.shared.u32 %r2, [%r9];\nEND:";
  };
  expect_silence(producer("bar.sync 1, 64;", "bar.arrive 1, 64;"), one_block);
  expect_race(producer("bar.sync 1, 64;", "bar.arrive 1, 64; st.shared.u32 [%r9+-128], 0;"),
              one_block, {"[%r9+-128], 0`"});
}

// Block 0 writes data and a flag, block 1 waits for the flag and reads.
std::string message(const std::string& write, const std::string& read) {
  return "@!%p1 bra READER;\nst.global.u32 [%p], 42;\n" + write + "\nbra END;\nREADER:\n" + read +
         "\nsetp.eq.u32 %p2, %r1, 0; @%p2 bra READER;\nld.global.u32 %r2, [%p];\n"
         "st.global.u32 [%p+128], %r2;\nEND:";
}

TEST(EmulatedRaces, of_messages_whose_release_or_acquire_is_missing) {
  const std::string write = "st.release.gpu.u32 [%p+64], 1;";
  const std::string read = "ld.acquire.gpu.u32 %r1, [%p+64];";
  expect_silence(message(write, read), two_blocks);
  expect_silence(message("st.release.sys.u32 [%p+64], 1;", read), two_blocks);
  expect_race(
      message("st.relaxed.gpu.u32 [%p+64], 1;", read), two_blocks,
      {"a plain write at m.ptx:", "`st.global.u32 [%p], 42` by block (0,0,0), thread (0,0,0)",
       "a plain read at m.ptx:", "`ld.global.u32 %r2, [%p]` by block (1,0,0), thread (0,0,0)",
       "4 bytes at 0x", "byte 0 of an allocation of 1024",
       "a release after the first that the second lane acquires, of scope .gpu or .sys",
       "`ld.acquire.gpu.u32 %r1, [%p+64]`, what the first one wrote at ",
       "but that write releases nothing to this lane"});
  expect_race(message(write, "ld.relaxed.gpu.u32 %r1, [%p+64];"), two_blocks,
              {"but that read acquires nothing, and no fence follows it"});
  // A release of scope .cta, and an acquire of it, from another block: the flag is a race, too.
  expect_race(message("st.release.cta.u32 [%p+64], 1;", read), two_blocks,
              {"`st.release.cta.u32 [%p+64], 1`", "an atomic write (.cta)", "an atomic read (.gpu)",
               ".cta reaches one block alone"});
  expect_race(message(write, "ld.acquire.cta.u32 %r1, [%p+64];"), two_blocks, {".cta reaches"});
  EXPECT_EQ(races_in(message("st.release.cta.u32 [%p+64], 1;", read), two_blocks).reports.size(),
            2u);
}

TEST(EmulatedRaces, of_messages_with_fences) {
  const std::string relaxed = "st.relaxed.gpu.u32 [%p+64], 1;";
  const std::string read = "ld.relaxed.gpu.u32 %r1, [%p+64];";
  const auto with = [&](const std::string& first, const std::string& second) {
    return message(first + relaxed, read + second);
  };
  expect_silence(with("fence.acq_rel.gpu;", "fence.acq_rel.gpu;"), two_blocks);
  expect_silence(with("membar.gl;", "membar.sys;"), two_blocks);
  expect_silence(with("fence.sc.sys;", "fence.acq_rel.gpu;"), two_blocks);
  expect_race(with("fence.acq_rel.cta;", "fence.acq_rel.gpu;"), two_blocks,
              {"`st.global.u32 [%p], 42`"});
  expect_race(with("fence.acq_rel.gpu;", "fence.acq_rel.cta;"), two_blocks, {});
  expect_race(with("", "fence.acq_rel.gpu;"), two_blocks, {});
  // The fence stands before the data.
  expect_race(
      "@!%p1 bra READER;\nfence.acq_rel.gpu; st.global.u32 [%p], 42; " + relaxed +
          "bra END;\nREADER:\n" + read +
          "setp.eq.u32 %p2, %r1, 0; @%p2 bra READER;\nfence.acq_rel.gpu; ld.global.u32 %r2, "
          "[%p];\nEND:",
      two_blocks, {"`st.global.u32 [%p], 42`"});
}

TEST(EmulatedRaces, of_plain_accesses_that_poll) {
  expect_race(
      "@!%p1 bra READER;\nst.global.u32 [%p], 1; bra END;\nREADER: ld.global.u32 %r1, [%p];\nEND:",
      two_blocks, {"a plain write", "a plain read"});
  expect_race(
      "@!%p1 bra READER;\nst.relaxed.gpu.u32 [%p], 1; bra END;\n"
      "READER: ld.global.u32 %r1, [%p];\nEND:",
      two_blocks, {"an atomic write (.gpu)", "a plain read"});
  expect_race("st.global.u32 [%p], %b;", two_blocks, {"a plain write", "then a plain write"});
  expect_silence("st.relaxed.gpu.u32 [%p], %b; ld.volatile.global.u32 %r1, [%p];", two_blocks);
  expect_silence("ld.global.u32 %r1, [%p]; ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%p];",
                 two_blocks);
}

TEST(EmulatedRaces, of_atomics) {
  expect_silence("atom.add.u32 %r1, [%p], 1; red.relaxed.sys.global.add.u32 [%p+4], 1;", {4, 64});
  expect_race("atom.cta.add.u32 %r1, [%p], 1;", two_blocks, {".cta reaches one block alone"});
  expect_silence("atom.cta.add.u32 %r1, [%p], 1;", one_block);
  expect_race("@%p1 red.global.add.u32 [%p], 1; @!%p1 ld.global.u32 %r1, [%p];", two_blocks,
              {"an atomic write (.gpu)", "a plain read"});
  expect_race("@%p1 red.global.add.u64 [%p], 1; @!%p1 red.global.add.u32 [%p], 1;", two_blocks,
              {"different sizes are not atomic towards each other"});
  expect_silence("st.relaxed.gpu.global.b128 [%p], %w; atom.global.exch.b128 %w, [%p], %w;",
                 two_blocks);
  expect_race("@%p1 st.relaxed.gpu.global.b128 [%p], %w; @!%p1 ld.relaxed.gpu.u64 %l1, [%p+8];",
              two_blocks, {"different sizes are not atomic towards each other"});
  // What fails to exchange reads only.
  expect_silence("@%p1 atom.global.cas.b32 %r1, [%p], 7, 8; @!%p1 ld.global.u32 %r1, [%p];",
                 two_blocks);
  expect_race("@%p1 atom.global.cas.b32 %r1, [%p], 0, 8; @!%p1 ld.global.u32 %r1, [%p];",
              two_blocks, {});
}

// A lock by compare-and-swap; all lanes count in a plain word that it guards.
TEST(EmulatedRaces, behind_a_lock) {
  const auto lock = [](const std::string& take, const std::string& give) {
    return "AGAIN: " + take +
           "\nsetp.ne.u32 %p2, %r1, 0; @%p2 bra AGAIN;\n"
           "ld.global.u32 %r2, [%p]; add.u32 %r2, %r2, 1; st.global.u32 [%p], %r2;\n" +
           give;
  };
  const std::string take = "atom.acquire.gpu.cas.b32 %r1, [%p+64], 0, 1;";
  const std::string give = "st.release.gpu.u32 [%p+64], 0;";
  const Found found = races_in(lock(take, give), {3, 40});
  EXPECT_TRUE(found.reports.empty()) << found.reports[0];
  EXPECT_EQ(found.words[0], 120u);
  expect_silence(lock(take, "atom.release.gpu.exch.b32 %r3, [%p+64], 0;"), {3, 40});
  expect_race(lock("atom.relaxed.gpu.cas.b32 %r1, [%p+64], 0, 1;", give), {3, 40}, {});
  expect_race(lock(take, "st.relaxed.gpu.u32 [%p+64], 0;"), {3, 40}, {});
}

// The last of all blocks to count reads what the others wrote: releases pass through
// read-modify-writes of other lanes.
TEST(EmulatedRaces, of_the_last_block) {
  const auto last = [](const std::string& order) {
    return "mul.wide.u32 %l1, %b, 4; add.u64 %l1, %p, %l1; st.global.u32 [%l1+64], %b;\n" + order +
           "\nsetp.ne.u32 %p2, %r1, 7; @%p2 bra END;\nld.global.u32 %r2, [%p+64]; ld.global.u32 "
           "%r3, "
           "[%p+72]; ld.global.u32 %r4, [%p+92];\nEND:";
  };
  expect_silence(last("atom.acq_rel.gpu.add.u32 %r1, [%p], 1;"), {8, 1});
  expect_silence(last("membar.gl; atom.add.u32 %r1, [%p], 1; membar.gl;"), {8, 1});
  expect_race(last("atom.acquire.gpu.add.u32 %r1, [%p], 1;"), {8, 1},
              {"`st.global.u32 [%l1+64], %b`"});
  // Each block's lanes meet at a barrier first, so the release of one lane is that of all.
  const auto blocks = [](const std::string& barrier) {
    return "mad.lo.u32 %r1, %b, 32, %t; mul.wide.u32 %l1, %r1, 4; add.u64 %l1, %p, %l1;\n"
           "st.global.u32 [%l1+128], 1;\n" +
           barrier +
           "\n@!%p0 bra END;\nred.release.gpu.global.add.u32 [%p], 1;\n"
           "SPIN: ld.acquire.gpu.u32 %r2, [%p]; setp.ne.u32 %p2, %r2, 2; @%p2 bra SPIN;\n"
           "ld.global.u32 %r3, [%p+140]; ld.global.u32 %r3, [%p+268];\nEND:";
  };
  expect_silence(blocks("bar.sync 0;"), {2, 32});
  expect_race(blocks(""), {2, 32}, {"`st.global.u32 [%l1+128], 1`"});
}

// A write of half the bytes meets a read of the whole vector.
TEST(EmulatedRaces, of_accesses_that_overlap) {
  expect_race("@%p1 st.global.u16 [%p+14], 7; @!%p1 ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%p];",
              two_blocks,
              {"st.global.u16 [%p+14], 7`", "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%p]`"});
  expect_silence("@%p1 st.global.u16 [%p+14], 7; @!%p1 st.global.u16 [%p+12], 8;", two_blocks);
  expect_silence("cvt.u64.u32 %l1, %t; add.u64 %l1, %p, %l1; st.global.u8 [%l1], 3;", one_block);
}

TEST(EmulatedRaces, are_none_between_launches_one_after_the_other) {
  std::vector<std::string> reports;
  Races races([&](const std::string& text) { reports.push_back(text); });
  std::vector<std::uint32_t> words(64, 0);
  Kernels kernels(race_kernel_of("st.global.u32 [%q], %t;"));
  kernels.share(words);
  kernels.watch(races);
  for (int launch = 0; launch < 3; ++launch) kernels.run("k", {1, 64}, {address_of(words)});
  EXPECT_TRUE(reports.empty()) << reports[0];
}

// Of two launches at the same time, each lane is compared with each.
TEST(EmulatedRaces, between_launches_at_the_same_time) {
  std::mutex mutex;
  std::vector<std::string> reports;
  Races races([&](const std::string& text) {
    const std::lock_guard lock(mutex);
    reports.push_back(text);
  });
  std::vector<std::uint32_t> words(64, 0);
  // Each waits for the other, by atomics that order nothing.
  Kernels kernels(
      race_kernel_of("st.global.u32 [%p], 1; red.relaxed.gpu.add.u32 [%p+64], 1;\nSPIN: "
                     "ld.relaxed.gpu.u32 %r1, [%p+64]; setp.ne.u32 %p2, %r1, 2; @%p2 bra SPIN;"));
  kernels.share(words);
  kernels.watch(races);
  std::thread other([&] { kernels.run("k", {1, 1}, {address_of(words)}); });
  kernels.run("k", {1, 1}, {address_of(words)});
  other.join();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_NE(reports[0].find(" of kernel k, then a plain write"), std::string::npos) << reports[0];
}

// Two launches that begin at the same moment: the first accesses of one are not wiped by the other.
// An earlier launch left many pages, so that a launch that begins has to wipe for a while.
TEST(EmulatedRaces, between_launches_that_begin_at_the_same_moment) {
  constexpr std::uint64_t page = exec::check::shadow_page_bytes;
  constexpr std::uint64_t shards = 64;  // The last page of a row of 64 is wiped last.
  constexpr std::uint64_t left_pages = 8 * shards;
  constexpr int rounds = 100;
  std::vector<std::byte> memory(left_pages * page);
  Kernels kernels(race_kernel_of("st.global.u32 [%p], 1;"));
  kernels.share(memory.data(), memory.size());
  const std::uint64_t address = (address_of(memory) / page / shards + 2) * shards * page - page;

  std::unique_ptr<Races> races;
  const auto launch = [&](std::uint64_t first, std::uint64_t pages) {
    const std::shared_ptr<exec::Grid> grid = kernels.grid("k", {1, 1});
    exec::Block block(grid, 0, 0, 0, {});
    grid->watch = races->begin(*grid);
    const auto watch = grid->watch->watch(block);
    for (std::uint64_t at = 0; at < pages; ++at) {
      watch->touches(block.lanes[0], grid->entry->ops[0], first + at * page, 4, true);
    }
    return grid;
  };
  std::barrier both(2);
  const auto launch_at_once = [&] {
    both.arrive_and_wait();
    const auto running = launch(address, 1);
    both.arrive_and_wait();
  };
  std::thread other([&] {
    for (int round = 0; round < rounds; ++round) launch_at_once();
  });
  for (int round = 0; round < rounds; ++round) {
    races = std::make_unique<Races>([](const std::string&) {});
    launch(address_of(memory), left_pages)->watch->end();
    launch_at_once();
    EXPECT_EQ(races->count(), 1u) << "round " << round;
  }
  other.join();
}

// A lane asks, the host answers, and another lane reads the answer: what the first lane wrote
// before it asked is before what the second one does.
TEST(EmulatedRaces, are_none_where_the_host_passes_on) {
  const auto run = [](const std::string& ask, const std::string& look) {
    std::mutex mutex;
    std::vector<std::string> reports;
    Races races([&](const std::string& text) {
      const std::lock_guard lock(mutex);
      reports.push_back(text);
    });
    std::vector<std::uint32_t> words(64, 0);
    Kernels kernels(race_kernel_of("@!%p1 bra SECOND;\nst.global.u32 [%p], 42;\n" + ask +
                                   "\nbra END;\nSECOND: " + look +
                                   "\nsetp.eq.u32 %p2, %r1, 0; @%p2 bra SECOND;\n"
                                   "ld.global.u32 %r2, [%p]; st.global.u32 [%p], 43;\nEND:"));
    kernels.share(words);
    kernels.watch(races);
    std::thread host([&] {
      while (__atomic_load_n(&words[16], __ATOMIC_ACQUIRE) == 0) std::this_thread::yield();
      __atomic_store_n(&words[32], 1u, __ATOMIC_RELEASE);
    });
    kernels.run("k", {2, 1}, {address_of(words)});
    host.join();
    return reports;
  };
  const std::string ask = "st.release.sys.u32 [%p+64], 1;";
  const std::string look = "ld.acquire.sys.u32 %r1, [%p+128];";
  EXPECT_TRUE(run(ask, look).empty());
  EXPECT_TRUE(run("fence.acq_rel.sys; st.relaxed.sys.u32 [%p+64], 1;",
                  "ld.relaxed.sys.u32 %r1, [%p+128]; fence.acq_rel.sys;")
                  .empty());
  EXPECT_TRUE(run("red.release.sys.add.u32 [%p+64], 1;", look).empty());
  // A release of the device is not the host's to see; nor is the host's to an acquire of the
  // device.
  EXPECT_FALSE(run("st.release.gpu.u32 [%p+64], 1;", look).empty());
  EXPECT_FALSE(run(ask, "ld.acquire.gpu.u32 %r1, [%p+128];").empty());
}

// Memory that is given back and used anew has no past.
TEST(EmulatedRaces, are_none_in_memory_that_is_new) {
  Races races([](const std::string& text) { ADD_FAILURE() << text; });
  exec::check::Shadow shadow;
  shadow.page(0x10000).cell(0x10008).push_back({});
  shadow.page(0x10000).cell(0x10000).push_back({});
  shadow.page(0x10000).words[0x10008];
  shadow.page(0x11000).cell(0x11000).push_back({});
  shadow.forget(0x10008, 0x12000);
  EXPECT_EQ(shadow.page(0x10000).cell(0x10000).size(), 1u);
  EXPECT_TRUE(shadow.page(0x10000).cell(0x10008).empty());
  EXPECT_EQ(shadow.page(0x10000).word(0x10008), nullptr);
  EXPECT_TRUE(shadow.page(0x11000).cell(0x11000).empty());
}

// A copy that overwrites a word in its middle is no release, even if the value stays the same.
TEST(EmulatedRaces, behind_a_copy_over_a_word_that_was_released) {
  const auto copied = [](const std::string& copy) {
    return "@!%p0 bra READER;\nst.shared.u32 [cells], 42;\n"
           "st.release.cta.shared.u32 [cells+68], 1;\nst.global.u32 [%p+4], 1;\n" +
           copy +
           "st.relaxed.cta.shared.u32 [cells+128], 1; bra END;\n"
           "READER: ld.relaxed.cta.shared.u32 %r1, [cells+128];\n"
           "setp.eq.u32 %p2, %r1, 0; @%p2 bra READER;\n"
           "ld.acquire.cta.shared.u32 %r2, [cells+68];\nld.shared.u32 %r3, [cells];\nEND:";
  };
  constexpr Shape two_lanes{1, 2};
  expect_silence(copied(""), two_lanes);
  const Found found = races_in(
      copied("cp.async.ca.shared.global [cells+64], [%p], 16; cp.async.wait_all;\n"), two_lanes);
  const auto names = [&](const std::string& words) {
    return std::any_of(found.reports.begin(), found.reports.end(), [&](const std::string& report) {
      return report.find(words) != std::string::npos;
    });
  };
  EXPECT_TRUE(names("`st.shared.u32 [cells], 42`")) << "the data that nothing released";
  EXPECT_TRUE(names("`cp.async.ca.shared.global")) << "the copy and the atomic read";
}

TEST(EmulatedRaces, forgets_each_word_that_an_access_reaches) {
  exec::check::Shadow::Page page;
  const auto add = [&](std::uint64_t at, std::uint8_t bytes) { page.words[at].bytes = bytes; };
  const auto left = [&](std::uint64_t at) { return page.word(at) != nullptr; };
  add(0x1000, 16);
  add(0x1010, 4);
  add(0x1014, 4);
  add(0x101c, 4);
  add(0x1020, 8);
  page.forget_words(0x100f, 0x101d);
  EXPECT_FALSE(left(0x1000));
  EXPECT_FALSE(left(0x1010));
  EXPECT_FALSE(left(0x1014));
  EXPECT_FALSE(left(0x101c));
  EXPECT_TRUE(left(0x1020));
  add(0x8, 8);
  page.forget_words(0x0, 0x8);
  EXPECT_TRUE(left(0x8));
}

TEST(EmulatedRacesClock, joins_and_keeps_what_it_was) {
  using exec::check::Clock;
  using exec::check::LaneKey;
  constexpr std::uint64_t lanes = 5000;
  const std::uint32_t levels = exec::check::levels_for(lanes);
  EXPECT_EQ(levels, 4u);
  EXPECT_EQ(exec::check::levels_for(1), 1u);
  EXPECT_EQ(exec::check::levels_for(16), 1u);
  EXPECT_EQ(exec::check::levels_for(17), 2u);
  Clock none;
  EXPECT_EQ(none.of(1, 0), 0u);
  Clock::Times all;
  for (std::uint64_t lane = 0; lane < lanes; ++lane) {
    all.emplace_back(lane, static_cast<exec::check::Time>(lane % 7 + 1));
  }
  const Clock a = none.with(LaneKey{1, levels, 0}, all);
  Clock b = a.with({1, levels, 4999}, 90).with({3, 1, 2}, 5).with({1, levels, 0}, 1);
  for (std::uint64_t lane = 0; lane < lanes; lane += 13) EXPECT_EQ(a.of(1, lane), lane % 7 + 1);
  EXPECT_EQ(b.of(1, 4999), 90u);
  EXPECT_EQ(a.of(1, 4999), 4999 % 7 + 1);
  EXPECT_EQ(b.of(3, 2), 5u);
  Clock c = a.with({1, levels, 17}, 80).with({2, 1, 1}, 4);
  c.join(b);
  EXPECT_EQ(c.of(1, 17), 80u);
  EXPECT_EQ(c.of(1, 4999), 90u);
  EXPECT_EQ(c.of(2, 1), 4u);
  EXPECT_EQ(c.of(3, 2), 5u);
  EXPECT_EQ(c.of(1, 20), 20 % 7 + 1);
  const Clock ended = c.with_end(1, 6);
  EXPECT_EQ(ended.ended(), 6u);
  EXPECT_EQ(ended.of(1, 17), 0u);
  EXPECT_EQ(ended.of(2, 1), 4u);
}

}  // namespace

}  // namespace k2k::emulator
