// Litmus tests of PTX's memory model. Each is a few lanes with a handful of accesses, and an
// outcome: one that the model forbids is never seen, and a weak one that it allows is seen where
// stores are held back. Loads are never late here, so weak outcomes that need a late load are not
// asked for.

#include <gtest/gtest.h>

#include <array>

#include "emulator/cuda/exec/check/held_stores.hpp"
#include "emulator/cuda/tests/kernels_fixture.hpp"

namespace k2k::emulator {

namespace {

constexpr std::uint32_t instances = 96;
constexpr std::uint64_t seeds = 6;

// Of an instance: two locations, then what the lanes read. 64 bytes, so that none shares a word.
struct Instance {
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  std::uint32_t unused[2] = {};
  std::uint32_t r[12] = {};
};

enum class Verdict : std::uint8_t { forbidden, seen, allowed };
// of_cluster: of its blocks.
enum class Lanes : std::uint8_t { of_blocks, of_one_block, of_cluster };

struct Litmus {
  const char* name;
  Lanes lanes;
  // By lane. X and Y are the locations, %r0 to %r2 what it reads and %a, %b spare.
  std::vector<std::string> code;
  std::function<bool(const Instance&)> outcome;  // r[3 * lane + n] is %rn of that lane.
  Verdict verdict;  // With held-back stores; without, a weak outcome may not be seen.
};

std::string with_locations(std::string code) {
  for (const auto& [name, address] : {std::pair{"X", "[%p]"}, std::pair{"Y", "[%p+4]"}}) {
    for (std::size_t at = 0; (at = code.find(name, at)) != std::string::npos; at += 4) {
      code.replace(at, 1, address);
    }
  }
  return code;
}

std::string kernel_of(const Litmus& litmus) {
  const std::string count = std::to_string(litmus.code.size());
  std::string text =
      ".visible .entry k(.param .u64 words) {\n.reg .pred %p<4>; .reg .b64 %p, %l; .reg .b32 %t, "
      "%role, %r<3>, %a, %b;\nld.param.u64 %p, [words]; mov.u32 %t, %tid.x;\n";
  text += litmus.lanes != Lanes::of_one_block
              ? "mov.u32 %role, %ctaid.x;\n"
              : "rem.u32 %role, %t, " + count + "; div.u32 %t, %t, " + count + ";\n";
  text +=
      "mul.wide.u32 %l, %t, 64; add.u64 %p, %p, %l; mov.u32 %r0, 0; mov.u32 %r1, 0; mov.u32 %r2, "
      "0;\n";
  for (std::size_t role = 0; role < litmus.code.size(); ++role) {
    const std::string number = std::to_string(role);
    text += "setp.ne.u32 %p0, %role, " + number + "; @%p0 bra NOT" + number + ";\n" +
            with_locations(litmus.code[role]) + "\n";
    for (std::size_t result = 0; result < 3; ++result) {
      text += "st.global.u32 [%p+" + std::to_string(16 + 4 * (3 * role + result)) + "], %r" +
              std::to_string(result) + ";\n";
    }
    text += "ret;\nNOT" + number + ":\n";
  }
  return text + "ret;\n}\n";
}

std::size_t times_seen(const Litmus& litmus, bool holds) {
  static const auto devices = [] {
    std::array<exec::Device*, seeds> made{};
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      // One multiprocessor: turns alternate, the schedule repeats. Two: truly at the same time.
      made[seed] = new exec::Device(seed == 0 ? 2 : 1, {true, seed + 1});
    }
    return made;
  }();
  Kernels kernels(kernel_of(litmus), litmus.name);
  std::vector<Instance> memory(instances);
  kernels.share(memory);
  const auto roles = static_cast<std::uint32_t>(litmus.code.size());
  const Shape shape = litmus.lanes == Lanes::of_one_block
                          ? Shape{1, roles * instances}
                          : Shape{.blocks = roles,
                                  .threads = instances,
                                  .cluster = litmus.lanes == Lanes::of_cluster ? roles : 1};
  std::size_t seen = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    if (holds) {
      kernels.watch([seed](const exec::Grid&) { return exec::check::hold_stores(seed + 1); });
    }
    std::fill(memory.begin(), memory.end(), Instance{});
    const Outcome outcome = kernels.run("k", shape, {address_of(memory)}, *devices[seed]);
    EXPECT_EQ(outcome.fault, exec::Fault::none) << litmus.name << ": " << outcome.report;
    for (const Instance& of : memory) seen += litmus.outcome(of) ? 1 : 0;
  }
  return seen;
}

void expect(const Litmus& litmus) {
  for (const bool holds : {false, true}) {
    const std::size_t seen = times_seen(litmus, holds);
    if (litmus.verdict == Verdict::forbidden) {
      EXPECT_EQ(seen, 0u) << litmus.name << (holds ? ", held back" : "");
    } else if (litmus.verdict == Verdict::seen && holds) {
      EXPECT_GT(seen, 0u) << litmus.name << ", held back";
    }
  }
}

using enum Verdict;
using enum Lanes;

// The reader waits for the flag, so each instance counts.
std::string until_y(const std::string& load) {
  return "WAIT: " + load + " setp.eq.u32 %p1, %r0, 0; @%p1 bra WAIT;";
}
bool data_is_missing(const Instance& of) { return of.r[3] == 1 && of.r[4] == 0; }

TEST(EmulatedLitmus, message_passing) {
  const std::string plain_read = "ld.relaxed.gpu.u32 %r1, X;";
  const auto test = [&](const char* name, Lanes lanes, const std::string& write,
                        const std::string& read, Verdict verdict) {
    expect({name, lanes, {write, until_y(read) + plain_read}, &data_is_missing, verdict});
  };
  const std::string data = "st.relaxed.gpu.u32 X, 1;";
  const std::string relaxed = data + "st.relaxed.gpu.u32 Y, 1;";
  const std::string relaxed_read = "ld.relaxed.gpu.u32 %r0, Y;";
  const std::string acquire = "ld.acquire.gpu.u32 %r0, Y;";
  test("MP relaxed", of_blocks, relaxed, relaxed_read, seen);
  test("MP relaxed, acquire", of_blocks, relaxed, acquire, seen);
  test("MP plain", of_blocks, "st.global.u32 X, 1; st.global.u32 Y, 1;", acquire, seen);
  test("MP relaxed atomic", of_blocks, data + "red.relaxed.gpu.global.add.u32 Y, 1;", acquire,
       seen);
  test("MP relaxed in a block", of_one_block, relaxed, relaxed_read, seen);
  test("MP fence behind both", of_blocks, relaxed + "fence.acq_rel.gpu;", acquire, seen);
  for (const std::string scope : {"gpu", "sys"}) {
    const std::string release = data + "st.release." + scope + ".u32 Y, 1;";
    test("MP release, acquire", of_blocks, release, "ld.acquire." + scope + ".u32 %r0, Y;",
         forbidden);
    test("MP fences", of_blocks, data + "fence.acq_rel." + scope + "; st.relaxed.gpu.u32 Y, 1;",
         relaxed_read, forbidden);
    test("MP atomics", of_blocks, data + "red.release." + scope + ".global.add.u32 Y, 1;",
         "atom.acquire." + scope + ".global.or.b32 %r0, Y, 0;", forbidden);
  }
  test("MP membar, relaxed atomic", of_blocks, data + "membar.gl; red.global.add.u32 Y, 1;",
       acquire, forbidden);
  test("MP fence, relaxed atomic", of_blocks,
       data + "fence.acq_rel.gpu; red.relaxed.gpu.global.add.u32 Y, 1;", acquire, forbidden);
  test("MP of a block", of_one_block, data + "st.release.cta.u32 Y, 1;",
       "ld.acquire.cta.u32 %r0, Y;", forbidden);
  test("MP of a block, fences", of_one_block, data + "fence.acq_rel.cta; st.relaxed.cta.u32 Y, 1;",
       relaxed_read, forbidden);
}

// Of blocks of a cluster, by the scope .cluster and by the cluster's barrier.
TEST(EmulatedLitmus, message_passing_in_a_cluster) {
  const std::string data = "st.relaxed.cluster.u32 X, 1;";
  const auto test = [&](const char* name, const std::string& write, const std::string& read,
                        Verdict verdict) {
    expect({name,
            of_cluster,
            {data + write, until_y(read) + "ld.relaxed.cluster.u32 %r1, X;"},
            &data_is_missing,
            verdict});
  };
  const std::string acquire = "ld.acquire.cluster.u32 %r0, Y;";
  test("MP relaxed", "st.relaxed.cluster.u32 Y, 1;", acquire, seen);
  test("MP release", "st.release.cluster.u32 Y, 1;", acquire, forbidden);
  test("MP fences", "fence.acq_rel.cluster; st.relaxed.cluster.u32 Y, 1;",
       "ld.relaxed.cluster.u32 %r0, Y; fence.acq_rel.cluster;", forbidden);
  const auto missing = [](const Instance& of) { return of.r[3] == 0; };
  const auto meet = [&](const char* name, const std::string& order, Verdict verdict) {
    const std::string barrier =
        "barrier.cluster.arrive" + order + "; barrier.cluster.wait.acquire;";
    expect({name,
            of_cluster,
            {"st.global.u32 X, 1;" + barrier, barrier + "ld.global.u32 %r0, X;"},
            missing,
            verdict});
  };
  meet("barrier", "", forbidden);
  meet("barrier, release", ".release", forbidden);
  meet("barrier, relaxed", ".relaxed", seen);
}

// Lanes of a block that meet see what each stored before.
TEST(EmulatedLitmus, barriers) {
  const auto missing = [](const Instance& of) { return of.r[3] == 0; };
  const std::string write = "st.global.u32 X, 1;";
  const std::string read = "ld.global.u32 %r0, X;";
  expect({"barrier",
          of_one_block,
          {write + "barrier.sync 0;", "barrier.sync 0;" + read},
          missing,
          forbidden});
  expect({"arrival",
          of_one_block,
          {write + "barrier.arrive 0, 192;", "barrier.sync 0, 192;" + read},
          missing,
          forbidden});
  expect({"bar.warp",
          of_one_block,
          {write + "bar.warp.sync 0xffffffff;", "bar.warp.sync 0xffffffff;" + read},
          missing,
          forbidden});
  expect({"vote",
          of_one_block,
          {write + "vote.sync.ballot.b32 %a, 1, 0xffffffff;",
           "vote.sync.ballot.b32 %a, 1, 0xffffffff;" + read},
          missing,
          seen});
}

TEST(EmulatedLitmus, store_buffering) {
  const auto both_old = [](const Instance& of) { return of.r[0] == 0 && of.r[3] == 0; };
  const auto test = [&](const char* name, const std::string& store, const std::string& between,
                        const std::string& load, Verdict verdict) {
    expect({name,
            of_blocks,
            {store + " X, 1;" + between + load + " %r0, Y;",
             store + " Y, 1;" + between + load + " %r0, X;"},
            both_old,
            verdict});
  };
  const std::string store = "st.relaxed.gpu.u32";
  const std::string load = "ld.relaxed.gpu.u32";
  test("SB relaxed", store, "", load, seen);
  test("SB release, acquire", "st.release.gpu.u32", "", "ld.acquire.gpu.u32", seen);
  test("SB fence.acq_rel", store, "fence.acq_rel.gpu;", load, seen);
  test("SB fence.sc", store, "fence.sc.gpu;", load, forbidden);
  test("SB fence.sc.sys", store, "fence.sc.sys;", load, forbidden);
  test("SB membar", store, "membar.gl;", load, forbidden);
  test("SB membar, plain", "st.global.u32", "membar.sys;", "ld.global.u32", forbidden);
}

TEST(EmulatedLitmus, load_buffering) {
  const auto test = [&](const char* name, const std::string& load, const std::string& store,
                        std::uint32_t value, Verdict verdict) {
    const auto late = [value](const Instance& of) { return of.r[0] == value && of.r[3] == value; };
    expect({name,
            of_blocks,
            {load + " %r0, X; " + store + " Y, 1;", load + " %r0, Y; " + store + " X, 1;"},
            late,
            verdict});
  };
  test("LB relaxed", "ld.relaxed.gpu.u32", "st.relaxed.gpu.u32", 1, allowed);
  test("LB acquire", "ld.acquire.gpu.u32", "st.relaxed.gpu.u32", 1, forbidden);
  test("LB release", "ld.relaxed.gpu.u32", "st.release.gpu.u32", 1, forbidden);
  test("LB fences", "ld.relaxed.gpu.u32", "fence.acq_rel.gpu; st.relaxed.gpu.u32", 1, forbidden);
  test("out of thin air", "ld.relaxed.gpu.u32", "st.relaxed.gpu.u32", 42, forbidden);
}

TEST(EmulatedLitmus, independent_reads_of_independent_writes) {
  const auto disagree = [](const Instance& of) {
    return of.r[6] == 1 && of.r[7] == 0 && of.r[9] == 1 && of.r[10] == 0;
  };
  const auto test = [&](const char* name, const std::string& load, const std::string& between,
                        Verdict verdict) {
    expect({name,
            of_blocks,
            {"st.relaxed.gpu.u32 X, 1;", "st.relaxed.gpu.u32 Y, 1;",
             load + " %r0, X;" + between + load + " %r1, Y;",
             load + " %r0, Y;" + between + load + " %r1, X;"},
            disagree,
            verdict});
  };
  test("IRIW fence.sc", "ld.relaxed.gpu.u32", "fence.sc.gpu;", forbidden);
  test("IRIW membar", "ld.relaxed.sys.u32", "membar.sys;", forbidden);
  test("IRIW acquire", "ld.acquire.gpu.u32", "", allowed);  // One memory for all: never seen here.
}

// What a lane saw is passed on with its release.
TEST(EmulatedLitmus, write_to_read_causality) {
  const auto missing = [](const Instance& of) {
    return of.r[3] == 1 && of.r[6] == 1 && of.r[7] == 0;
  };
  const auto test = [&](const char* name, const std::string& store, const std::string& load,
                        Verdict verdict) {
    expect({name,
            of_blocks,
            {"st.relaxed.gpu.u32 X, 1;", "ld.relaxed.gpu.u32 %r0, X; " + store + " Y, %r0;",
             load + " %r0, Y; ld.relaxed.gpu.u32 %r1, X;"},
            missing,
            verdict});
  };
  test("WRC release, acquire", "st.release.gpu.u32", "ld.acquire.gpu.u32", forbidden);
  test("WRC fence", "fence.acq_rel.gpu; st.relaxed.gpu.u32", "ld.acquire.gpu.u32", forbidden);
}

// Two lanes store to both locations, in opposite order: each location keeps its lane's first store.
TEST(EmulatedLitmus, two_and_two_writes) {
  const auto both_first = [](const Instance& of) { return of.x == 1 && of.y == 1; };
  const auto test = [&](const char* name, const std::string& between, Verdict verdict) {
    expect({name,
            of_blocks,
            {"st.relaxed.gpu.u32 X, 1;" + between + "st.relaxed.gpu.u32 Y, 2;",
             "st.relaxed.gpu.u32 Y, 1;" + between + "st.relaxed.gpu.u32 X, 2;"},
            both_first,
            verdict});
  };
  test("2+2W relaxed", "", seen);
  test("2+2W fence.sc", "fence.sc.gpu;", forbidden);
}

TEST(EmulatedLitmus, coherence_of_one_location) {
  const std::string store = "st.relaxed.gpu.u32 X,";
  const std::string load = "ld.relaxed.gpu.u32";
  expect({"CoRR",
          of_blocks,
          {store + "1; " + store + "2;", load + " %r0, X; " + load + " %r1, X;"},
          [](const Instance& of) { return of.r[3] > of.r[4]; },
          forbidden});
  expect({"CoWW",
          of_blocks,
          {store + "1; " + store + "2;", load + " %r0, Y;"},
          [](const Instance& of) { return of.x != 2; },
          forbidden});
  expect({"CoWR",
          of_blocks,
          {store + "1; " + load + " %r0, X;", store + "2;"},
          [](const Instance& of) { return of.r[0] == 0 || (of.r[0] == 2 && of.x == 1); },
          forbidden});
  expect({"CoRW",
          of_blocks,
          {load + " %r0, X; " + store + "1;", store + "2;"},
          [](const Instance& of) { return of.r[0] == 1 || (of.r[0] == 2 && of.x == 2); },
          forbidden});
  expect({"CoWR of parts",
          of_blocks,
          {"st.relaxed.gpu.u32 X, 0x01020304; st.relaxed.gpu.u8 [%p+1], 9; ld.global.u32 %r0, X;",
           load + " %r0, Y;"},
          [](const Instance& of) { return of.r[0] != 0x01020904; },
          forbidden});
  expect(
      {"atomic behind a store",
       of_blocks,
       {store + "1; atom.relaxed.gpu.add.u32 %r0, X, 5; " + load + " %r1, X;", load + " %r0, Y;"},
       [](const Instance& of) { return of.r[0] != 1 || of.r[1] != 6 || of.x != 6; },
       forbidden});
  expect({"atomics",
          of_blocks,
          {"atom.relaxed.gpu.add.u32 %r0, X, 1;", "atom.relaxed.gpu.add.u32 %r0, X, 1;"},
          [](const Instance& of) { return of.x != 2 || of.r[0] + of.r[3] != 1; },
          forbidden});
}

// A vector, and more stores than a lane may hold; a lane that meets others does not keep them
// waiting.
TEST(EmulatedLitmus, stores_are_seen_in_the_end) {
  std::string many;
  for (int at = 0; at < 40; ++at) many += "st.global.u32 X, " + std::to_string(at) + "; ";
  many += "st.global.v2.u32 X, {7, 8};";
  expect({"many",
          of_blocks,
          {many, "ld.global.u32 %r0, X;"},
          [](const Instance& of) { return of.x != 7 || of.y != 8; },
          forbidden});
  // The first lane waits for a vote, behind a flag that the second one needs to come there.
  expect({"vote",
          of_one_block,
          {"st.relaxed.gpu.u32 X, 1; vote.sync.ballot.b32 %r0, 1, 0xffffffff;",
           "WAIT: ld.relaxed.gpu.u32 %a, X; setp.eq.u32 %p1, %a, 0; @%p1 bra WAIT; "
           "vote.sync.ballot.b32 %r0, 1, 0xffffffff;"},
          [](const Instance& of) { return of.r[0] != 0xffffffff || of.r[3] != 0xffffffff; },
          forbidden});
}

}  // namespace

}  // namespace k2k::emulator
