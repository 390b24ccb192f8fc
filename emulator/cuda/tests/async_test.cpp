// cp.async and mbarrier, against the same in C; what is missing around them is found.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "emulator/cuda/exec/check/held_stores.hpp"
#include "emulator/cuda/tests/kernels_fixture.hpp"

namespace k2k::emulator {

namespace {

constexpr std::uint64_t bar_count_max = 1'048'575;

std::string kernel_of(const std::string& code) {
  return ".visible .entry k(.param .u64 words) {\n"
         ".shared .align 16 .b8 cells[512]; .shared .align 8 .b64 bar;\n"
         ".reg .pred %p<6>; .reg .b64 %p, %q, %l<9>; .reg .b32 %t, %n, %r<10>;\n"
         "ld.param.u64 %p, [words]; mov.u32 %t, %tid.x; setp.eq.u32 %p0, %t, 0;\n"
         "mul.wide.u32 %l0, %t, 16; add.u64 %q, %p, %l0; shl.b32 %n, %t, 4;\n" +
         code + "\nret;\n}\n";
}

struct alignas(16) Line {
  std::uint32_t words[4] = {};
};

Outcome run(const std::string& code, std::vector<Line>& memory, std::uint32_t threads,
            std::vector<std::string>* races_found = nullptr) {
  Kernels kernels(kernel_of(code), "m.ptx");
  kernels.share(memory);
  exec::check::Races races([&](const std::string& text) { races_found->push_back(text); });
  if (races_found != nullptr) kernels.watch(races);
  return kernels.run("k", {1, threads}, {address_of(memory)});
}

// Every form and size: what the copy leaves in 32 bytes that were 0xff.
TEST(EmulatedAsync, copies_as_c_does) {
  struct Form {
    std::string instruction;
    std::size_t bytes;
    std::size_t from_bytes;
  };
  std::vector<Form> forms;
  for (const std::size_t bytes : {4u, 8u, 16u}) {
    const std::string size = std::to_string(bytes);
    const std::string head = "cp.async.ca.shared.global [cells+16], [%p+32], " + size;
    forms.push_back({head + ";", bytes, bytes});
    for (std::size_t from = 0; from <= bytes; ++from) {
      forms.push_back({head + ", " + std::to_string(from) + ";", bytes, from});
      forms.push_back(
          {"mov.u32 %r1, " + std::to_string(from) + "; " + head + ", %r1;", bytes, from});
    }
    forms.push_back({head + ", %p0;", bytes, 0});
    forms.push_back({head + ", !%p0;", bytes, bytes});
  }
  forms.push_back({"cp.async.cg.shared::cta.global.L2::128B [cells+16], [%p+32], 16;", 16, 16});
  // What is not read may be anywhere.
  forms.push_back({"mov.u64 %l1, 0; cp.async.ca.shared.global [cells+16], [%l1], 8, 0;", 8, 0});
  for (const Form& form : forms) {
    std::vector<Line> memory(6);
    for (std::size_t at = 0; at < 24; ++at) {
      memory[at / 4].words[at % 4] = static_cast<std::uint32_t>(0x01010101 * (at + 1));
    }
    const Outcome outcome =
        run("mov.u64 %l2, -1; st.shared.v2.u64 [cells+16], {%l2, %l2};\n" + form.instruction +
                "\ncp.async.wait_all;\nld.shared.v2.u64 {%l2, %l3}, [cells+16]; "
                "st.global.v2.u64 [%p+64], {%l2, %l3};",
            memory, 1);
    ASSERT_EQ(outcome.fault, exec::Fault::none) << form.instruction << outcome.report;
    std::array<unsigned char, 16> expected{};
    expected.fill(0xff);
    std::memset(expected.data(), 0, form.bytes);
    std::memcpy(expected.data(), &memory[2], form.from_bytes);
    ASSERT_EQ(std::memcmp(&memory[4], expected.data(), 16), 0) << form.instruction;
  }
}

// A group is there when all but the N latest are waited for, and no earlier.
TEST(EmulatedAsync, waits_for_groups) {
  const auto after = [](const std::string& wait) {
    std::vector<Line> memory(4);
    memory[0] = {{1, 2, 3, 4}};
    const Outcome outcome =
        run("st.shared.v4.u32 [cells], {0, 0, 0, 0};\n"
            "cp.async.ca.shared.global [cells], [%p], 4; cp.async.commit_group;\n"
            "cp.async.ca.shared.global [cells+4], [%p+4], 4; cp.async.commit_group;\n"
            "cp.async.commit_group;\n"
            "cp.async.ca.shared.global [cells+8], [%p+8], 4; cp.async.commit_group;\n"
            "cp.async.ca.shared.global [cells+12], [%p+12], 4;\n" +
                wait +
                "\nld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [cells]; st.global.v4.u32 [%p+16], {%r1, "
                "%r2, %r3, %r4};",
            memory, 1);
    EXPECT_EQ(outcome.fault, exec::Fault::none) << outcome.report;
    const auto& w = memory[1].words;
    return std::array<std::uint32_t, 4>{w[0], w[1], w[2], w[3]};
  };
  using Four = std::array<std::uint32_t, 4>;
  EXPECT_EQ(after(""), (Four{0, 0, 0, 0}));
  EXPECT_EQ(after("cp.async.wait_group 4;"), (Four{0, 0, 0, 0}));
  EXPECT_EQ(after("cp.async.wait_group 3;"), (Four{1, 0, 0, 0}));
  EXPECT_EQ(after("cp.async.wait_group 2;"), (Four{1, 2, 0, 0}));
  EXPECT_EQ(after("cp.async.wait_group 1;"), (Four{1, 2, 0, 0}));
  EXPECT_EQ(after("cp.async.wait_group 0;"), (Four{1, 2, 3, 0}));
  EXPECT_EQ(after("cp.async.wait_all;"), (Four{1, 2, 3, 4}));
  EXPECT_EQ(after("cp.async.wait_group 99;"), (Four{0, 0, 0, 0}));
}

// Block 0 writes 0 and ~0 in turn into 16 bytes; block 1 copies them, and counts into %r2 the
// copies with a torn word. ThreadSanitizer finds copies that are no loads and stores of words.
TEST(EmulatedAsync, copies_words_that_other_blocks_write) {
  const auto code = [](const std::string& copy) {
    return "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0; mov.u32 %r1, 0; mov.u32 %r2, 0;\n"
           "mov.u64 %l1, 0; @!%p1 bra COPIES;\n"
           "STORES: not.b64 %l1, %l1; st.relaxed.gpu.u64 [%p], %l1; st.relaxed.gpu.u64 [%p+8], "
           "%l1;\n"
           "add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 20000; @%p2 bra STORES; bra END;\n"
           "COPIES: mbarrier.init.shared.b64 [bar], 1;\n"
           "COPY: and.b32 %r7, %r1, 1;\n" +
           copy +
           "\nld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [cells];\n"
           "setp.ne.u32 %p2, %r3, %r4; setp.ne.u32 %p3, %r5, %r6; or.pred %p2, %p2, %p3;\n"
           "@%p2 add.u32 %r2, %r2, 1;\n"
           "add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 2000; @%p2 bra COPY;\n"
           "st.global.u32 [%p+16], %r2;\nEND:";
  };
  for (const std::string copy :
       {"cp.async.ca.shared.global [cells], [%p], 8; cp.async.ca.shared.global [cells+8], [%p+8], "
        "8;\ncp.async.wait_all;",
        "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [cells], [%p], 16, "
        "[bar];\nWAIT: mbarrier.try_wait.parity.shared.b64 %p2, [bar], %r7; @!%p2 bra WAIT;"}) {
    std::vector<Line> memory(2);
    memory[1].words[0] = 1;
    Kernels kernels(kernel_of(code(copy)), "m.ptx");
    kernels.share(memory);
    const Outcome outcome = kernels.run("k", {.blocks = 2, .threads = 1}, {address_of(memory)});
    ASSERT_EQ(outcome.fault, exec::Fault::none) << copy << outcome.report;
    EXPECT_EQ(memory[1].words[0], 0u) << copy;
  }
}

// Each lane copies a line, and reads its neighbour's.
TEST(EmulatedAsync, copies_need_a_wait_and_a_barrier) {
  const auto code = [](const std::string& between) {
    return "mov.u32 %r1, cells; add.u32 %r2, %r1, %n;\n"
           "cp.async.cg.shared.global [%r2], [%q], 16;\n" +
           between +
           "\nxor.b32 %r3, %n, 16; add.u32 %r3, %r1, %r3; ld.shared.u32 %r4, [%r3]; "
           "st.global.u32 [%q+512], %r4;";
  };
  const auto filled = [] {
    std::vector<Line> memory(64);
    for (std::uint32_t at = 0; at < 32; ++at) memory[at].words[0] = at + 100;
    return memory;
  };
  std::vector<std::string> reports;
  std::vector<Line> memory = filled();
  EXPECT_EQ(run(code("cp.async.wait_all; bar.sync 0;"), memory, 32, &reports).fault,
            exec::Fault::none);
  EXPECT_TRUE(reports.empty()) << reports[0];
  for (std::uint32_t at = 0; at < 32; ++at) EXPECT_EQ(memory[32 + at].words[0], (at ^ 1) + 100);
  memory = filled();
  run(code("cp.async.wait_all;"), memory, 32, &reports);
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_NE(reports[0].find("`cp.async.cg.shared.global [%r2], [%q], 16`"), std::string::npos)
      << reports[0];
  // Without the wait nothing has come yet.
  memory = filled();
  reports.clear();
  run(code("bar.sync 0;"), memory, 32, &reports);
  EXPECT_EQ(memory[32].words[0], 0u);
}

// The model of an mbarrier, in C.
struct Model {
  std::int64_t pending = 0, expected = 0, bytes = 0;
  std::uint32_t phase = 0;

  void settle() {
    if (pending == 0 && bytes == 0) {
      phase ^= 1;
      pending = expected;
    }
  }
};

// Random instructions of one lane, each compared with the model: the pending count of the state
// before, whether that phase is complete behind it, and the parity.
TEST(EmulatedMbarrier, counts_as_a_model_does) {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    Model model;
    model.expected = model.pending = 1 + random() % 9;
    std::string code = "mbarrier.init.shared.b64 [bar], " + std::to_string(model.expected) + ";\n";
    struct Expected {
      std::uint32_t pending, complete, parity_0, parity_1;
    };
    std::vector<Expected> expected;
    for (int step = 0; step < 12; ++step) {
      const Model before = model;
      const auto kind = random() % 5;
      const auto some =
          1 + static_cast<std::int64_t>(random()) % std::max<std::int64_t>(model.pending, 1);
      const std::string number = std::to_string(some);
      if (model.pending == 0 || (kind == 4 && model.bytes > 0)) {  // Only bytes are missing.
        code += "ld.shared.b64 %l1, [bar]; mbarrier.complete_tx.relaxed.cta.shared.b64 [bar], " +
                std::to_string(model.bytes) + ";\n";
        model.bytes = 0;
        model.settle();
      } else if (kind == 0) {
        code += "mbarrier.arrive.shared.b64 %l1, [bar];\n";
        model.pending -= 1;
        model.settle();
      } else if (kind == 1) {
        code += "mbarrier.arrive.release.cta.shared::cta.b64 %l1, [bar], " + number + ";\n";
        model.pending -= some;
        model.settle();
      } else if (kind == 2) {
        code += "mbarrier.arrive.expect_tx.shared.b64 %l1, [bar], 48;\n";
        model.bytes += 48;
        model.pending -= 1;
        model.settle();
      } else if (model.expected > 1 && kind == 3) {
        code += "mbarrier.arrive_drop.shared.b64 %l1, [bar];\n";
        model.expected -= 1;
        model.pending -= 1;
        model.settle();
      } else {
        code += "ld.shared.b64 %l1, [bar]; mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], 16;\n";
        model.bytes += 16;
      }
      code +=
          "mbarrier.pending_count.b64 %r1, %l1; mbarrier.test_wait.shared.b64 %p1, [bar], %l1; "
          "mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0; "
          "mbarrier.try_wait.parity.acquire.cta.shared.b64 %p3, [bar], 1, 100;\n"
          "selp.u32 %r2, 1, 0, %p1; selp.u32 %r3, 1, 0, %p2; selp.u32 %r4, 1, 0, %p3;\n"
          "st.global.v4.u32 [%p+" +
          std::to_string(16 * step) + "], {%r1, %r2, %r3, %r4};\n";
      expected.push_back({static_cast<std::uint32_t>(before.pending),
                          before.phase != model.phase ? 1u : 0u, model.phase != 0 ? 1u : 0u,
                          model.phase != 1 ? 1u : 0u});
    }
    std::vector<Line> memory(expected.size());
    const Outcome outcome = run(code, memory, 1);
    ASSERT_EQ(outcome.fault, exec::Fault::none) << outcome.report << "\n" << code;
    for (std::size_t at = 0; at < expected.size(); ++at) {
      const auto& got = memory[at].words;
      ASSERT_TRUE(got[0] == expected[at].pending && got[1] == expected[at].complete &&
                  got[2] == expected[at].parity_0 && got[3] == expected[at].parity_1)
          << "step " << at << ": " << got[0] << got[1] << got[2] << got[3] << "\n"
          << code;
    }
  }
}

// Lanes pass a value on in each of several phases.
std::string pipeline(const std::string& arrive, const std::string& wait) {
  return "@%p0 mbarrier.init.shared.b64 [bar], 32;\nbar.sync 0;\nmov.u32 %r1, cells; "
         "shl.b32 %r2, %t, 2; add.u32 %r2, %r1, %r2; xor.b32 %r3, %t, 16; shl.b32 %r3, %r3, 2; "
         "add.u32 "
         "%r3, %r1, %r3;\nmov.u32 %r5, 0; mov.u32 %r6, %t;\n"
         "PHASE: st.shared.u32 [%r2], %r6;\n" +
         arrive + "\n" + wait +
         "\nld.shared.u32 %r6, [%r3]; add.u32 %r6, %r6, 1;\n"
         "bar.sync 0; add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 3; @%p1 bra PHASE;\n"
         "st.global.u32 [%q], %r6;";
}

TEST(EmulatedMbarrier, orders_what_lanes_did) {
  const std::string arrive = "mbarrier.arrive.shared.b64 %l1, [bar];";
  const std::string wait = "WAIT: mbarrier.try_wait.shared.b64 %p2, [bar], %l1; @!%p2 bra WAIT;";
  std::vector<std::string> reports;
  std::vector<Line> memory(32);
  EXPECT_EQ(run(pipeline(arrive, wait), memory, 32, &reports).fault, exec::Fault::none);
  EXPECT_TRUE(reports.empty()) << reports[0];
  for (std::uint32_t at = 0; at < 32; ++at) EXPECT_EQ(memory[at].words[0], (at ^ 16) + 3);
  // A parity instead of a state.
  const std::string parity =
      "and.b32 %r7, %r5, 1;\nWAIT: mbarrier.test_wait.parity.shared.b64 %p2, [bar], %r7; @!%p2 bra "
      "WAIT;";
  run(pipeline("mbarrier.arrive.shared.b64 _, [bar];", parity), memory, 32, &reports);
  EXPECT_TRUE(reports.empty()) << reports[0];
  run(pipeline("mbarrier.arrive.relaxed.cta.shared.b64 %l1, [bar];", wait), memory, 32, &reports);
  EXPECT_FALSE(reports.empty());
  reports.clear();
  run(pipeline(arrive, "mbarrier.test_wait.shared.b64 %p2, [bar], %l1;"), memory, 32, &reports);
  EXPECT_FALSE(reports.empty());
}

// Each lane's copies arrive at the mbarrier for it.
TEST(EmulatedMbarrier, waits_for_copies) {
  for (const std::string form : {"cp.async.mbarrier.arrive.noinc.shared.b64 [bar];",
                                 "cp.async.mbarrier.arrive.shared::cta.b64 [bar]; "
                                 "mbarrier.arrive.shared.b64 _, [bar];"}) {
    std::vector<std::string> reports;
    std::vector<Line> memory(64);
    for (std::uint32_t at = 0; at < 32; ++at) memory[at].words[0] = at + 7;
    const Outcome outcome =
        run("@%p0 mbarrier.init.shared.b64 [bar], 32;\nbar.sync 0; mov.u32 %r1, cells; add.u32 "
            "%r2, %r1, "
            "%n;\ncp.async.cg.shared.global [%r2], [%q], 16;\n" +
                form +
                "\nWAIT: mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra WAIT;\n"
                "xor.b32 %r3, %n, 16; add.u32 %r3, %r1, %r3; ld.shared.u32 %r4, [%r3]; "
                "st.global.u32 [%q+512], %r4;",
            memory, 32, &reports);
    EXPECT_EQ(outcome.fault, exec::Fault::none) << outcome.report;
    EXPECT_TRUE(reports.empty()) << reports[0];
    for (std::uint32_t at = 0; at < 32; ++at) EXPECT_EQ(memory[32 + at].words[0], (at ^ 1) + 7);
  }
}

// One lane brings all lines; the others wait at the mbarrier for the bytes.
TEST(EmulatedMbarrier, waits_for_bulk_copies) {
  const auto code = [](const std::string& wait) {
    return "@!%p0 bra READY;\nmbarrier.init.shared.b64 [bar], 1; "
           "fence.mbarrier_init.release.cluster; "
           "fence.proxy.async.shared::cta;\nmbarrier.arrive.expect_tx.shared.b64 _, [bar], "
           "512;\nmov.u32 "
           "%r1, 256; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [cells], "
           "[%p], "
           "%r1, [bar];\ncp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes "
           "[cells+256], "
           "[%p+256], 256, [bar];\nREADY: bar.warp.sync 0xffffffff;\n" +
           wait +
           "\nmov.u32 %r1, cells; add.u32 %r2, %r1, %n; ld.shared.u32 %r3, [%r2]; st.global.u32 "
           "[%q+512], %r3;";
  };
  const std::string wait =
      "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0; @!%p2 bra WAIT;";
  std::vector<Line> memory(64);
  for (std::uint32_t at = 0; at < 32; ++at) memory[at].words[0] = at + 9;
  EXPECT_EQ(run(code(wait), memory, 32).fault, exec::Fault::none);
  for (std::uint32_t at = 0; at < 32; ++at) EXPECT_EQ(memory[32 + at].words[0], at + 9);
  std::vector<std::string> reports;
  EXPECT_EQ(run(code(wait), memory, 32, &reports).fault, exec::Fault::none);
  EXPECT_TRUE(reports.empty()) << reports[0];
}

TEST(EmulatedAsync, reports_misuse) {
  const auto fault = [](const std::string& code, exec::Fault expected, const std::string& words) {
    std::vector<Line> memory(2);
    const Outcome outcome = run(code, memory, 1);
    EXPECT_EQ(outcome.fault, expected) << code << outcome.report;
    EXPECT_NE(outcome.report.find(words), std::string::npos) << outcome.report;
  };
  using exec::Fault;
  const std::string init = "mbarrier.init.shared.b64 [bar], 2; ";
  fault("mbarrier.arrive.shared.b64 _, [bar];", Fault::illegal_instruction,
        "an mbarrier that was not initialised, at m.ptx:");
  fault("mbarrier.init.shared.b64 [bar], 0;", Fault::illegal_instruction,
        "1 to 1048575 are possible");
  fault("mbarrier.init.b64 [%p], 1;", Fault::illegal_address, "does not lie in shared memory");
  fault("mbarrier.init.shared.b64 [bar+4], 1;", Fault::misaligned_address, "8 bytes");
  fault(init + "mbarrier.arrive.shared.b64 _, [bar], 3;", Fault::illegal_instruction,
        "3 arrivals at an mbarrier that waits for 2");
  fault(init + "mbarrier.arrive.noComplete.shared.b64 _, [bar], 2;", Fault::illegal_instruction,
        "may not complete it");
  fault(
      init + "mbarrier.inval.shared.b64 [bar]; mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0;",
      Fault::illegal_instruction, "not initialised");
  fault(init + "mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], " +
            std::to_string(bar_count_max + 1) + ";",
        Fault::illegal_instruction, "more than 1048575 bytes");
  fault("cp.async.ca.shared.global [cells+4], [%p], 8;", Fault::misaligned_address, "8 bytes");
  fault("cp.async.ca.shared.global [cells+1024], [%p], 8;", Fault::illegal_address, "8 bytes");
  fault("cp.async.ca.shared.global [cells], [%p+32], 8;", Fault::illegal_address, "8 bytes");
  const std::string bulk = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes ";
  fault(init + bulk + "[cells], [%p], 24, [bar];", Fault::misaligned_address, "no multiple of 16");
  fault(init + bulk + "[cells+8], [%p], 16, [bar];", Fault::misaligned_address, "16 bytes");
  fault(init + bulk + "[cells], [%p], 64, [bar];", Fault::illegal_address, "beyond the end");
  fault(bulk + "[cells], [%p], 16, [bar];", Fault::illegal_instruction, "not initialised");
  const auto refused = [](const std::string& code, const std::string& words) {
    const std::string said = refusal_of(ptx_head + kernel_of(code));
    EXPECT_NE(said.find(words), std::string::npos) << code << ": " << said;
  };
  refused("cp.async.cg.shared.global [cells], [%p], 8;", "not known");
  refused("cp.async.ca.shared.global [cells], [%p], %r1;", "not known");
  refused("cp.async.bulk.global.shared::cta.bulk_group [%p], [cells], 16;", "not known");
  refused("fence.mbarrier_init.release.gpu;", "not known");
  refused("fence.proxy.tensormap::generic;", "tensormap::generic");
  refused("cp.async.wait_group %r1;", "not known");
  refused("mbarrier.arrive.expect_tx.shared.b64 _, [bar];", "not known");
  refused("mbarrier.test_wait.shared.b64 %p1, [bar], %l1, 5;", "not known");
}

}  // namespace

}  // namespace k2k::emulator
