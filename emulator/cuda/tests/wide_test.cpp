// 128 bits: loads, stores, moves and atomics, against the same in C.

#include <gtest/gtest.h>

#include <random>

#include "emulator/cuda/exec/check/held_stores.hpp"
#include "emulator/cuda/tests/kernels_fixture.hpp"

namespace k2k::emulator {

namespace {

struct Value {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const Value&) const = default;
};

struct Case {
  const char* code;  // From %a, %b, %c to %d, with the memory `cell`, that holds %a before.
  // What %d is, and what the cell becomes.
  Value (*result)(Value a, Value b, Value c);
  Value (*cell)(Value a, Value b, Value c);
};

Value first(Value a, Value, Value) { return a; }
Value second(Value, Value b, Value) { return b; }

constexpr Case cases[] = {
    {"ld.CELL.b128 %d, [cell];", first, first},
    {"ld.relaxed.cta.CELL.b128 %d, [cell];", first, first},
    {"ld.acquire.gpu.CELL.b128 %d, [cell];", first, first},
    {"mov.b128 %d, %b; st.CELL.b128 [cell], %b;", second, second},
    {"mov.b128 %d, %b; st.release.cta.CELL.b128 [cell], %b;", second, second},
    {"atom.CELL.exch.b128 %d, [cell], %b;", first, second},
    {"atom.acq_rel.cta.CELL.exch.b128 %d, [cell], %b;", first, second},
    {"mov.b128 %d, %c; atom.CELL.exch.b128 _, [cell], %b;", [](Value, Value, Value c) { return c; },
     second},
    {"atom.CELL.cas.b128 %d, [cell], %a, %b;", first, second},
    {"atom.acquire.gpu.CELL.cas.b128 %d, [cell], %b, %c;", first,
     [](Value a, Value b, Value c) { return a == b ? c : a; }},
    // Only the upper halves differ.
    {"mov.b128 {%x, %y}, %a; add.u64 %y, %y, 1; mov.b128 %c, {%x, %y}; "
     "atom.CELL.cas.b128 %d, [cell], %c, %b;",
     first, first},
    {"mov.b128 {%x, %y}, %b; mov.b128 %d, {%y, %x};",
     [](Value, Value b, Value) { return Value{b.high, b.low}; }, first},
    {"mov.b128 {%h, %i, %j, %k}, %b; mov.b128 %d, {%k, %h, %j, %i};",
     [](Value, Value b, Value) {
       return Value{b.high >> 32 | b.low << 32, (b.high & 0xffffffff) | b.low >> 32 << 32};
     },
     first},
    {"mov.b128 {_, %y}, %b; mov.b128 %d, {%y, %y};",
     [](Value, Value b, Value) { return Value{b.high, b.high}; }, first},
};

std::string kernel_of(std::string code, bool shared) {
  for (std::size_t at = 0; (at = code.find("CELL")) != std::string::npos;) {
    code.replace(at, 4, shared ? "shared" : "global");
  }
  for (std::size_t at = 0; (at = code.find("[cell]", at)) != std::string::npos; at += 4) {
    code.replace(at, 6, shared ? "[own]" : "[%p+64]");
  }
  // Four values in, two out, at 96 bytes a lane; with only one lane, the cell of a block is its.
  return ".visible .entry k(.param .u64 words) {\n.shared .align 16 .b8 own[16];\n"
         ".reg .b128 %a, %b, %c, %d; .reg .b64 %p, %x, %y, %l; .reg .b32 %t, %h, %i, %j, %k;\n"
         "ld.param.u64 %p, [words]; mov.u32 %t, %ctaid.x; mul.wide.u32 %l, %t, 96; add.u64 %p, %p, "
         "%l;\n"
         "ld.global.b128 %a, [%p]; ld.global.b128 %b, [%p+16]; ld.b128 %c, [%p+32];\n"
         "st.shared.b128 [own], %a; st.global.b128 [%p+64], %a;\n" +
         code + "\nst.global.b128 [%p+48], %d;\n" +
         (shared ? "ld.shared.b128 %d, [own]; st.global.b128 [%p+80], %d;\n"
                 : "ld.global.b128 %d, [%p+64]; st.global.b128 [%p+80], %d;\n") +
         "ret; }\n";
}

TEST(EmulatedWide, executes_128_bits_as_c_does) {
  struct alignas(16) Line {
    Value a, b, c, result, cell_before, cell;
  };
  const std::uint64_t edges[] = {0, 1, ~0ull, 1ull << 63, 0xffffffff, 0x0123456789abcdef};
  std::vector<Line> lines;
  std::mt19937_64 random(3);
  for (const std::uint64_t low : edges) {
    for (const std::uint64_t high : edges) {
      lines.push_back({{low, high}, {high, low}, {random(), random()}, {}, {}, {}});
      lines.push_back({{low, high}, {low, high}, {random(), low}, {}, {}, {}});
    }
  }
  for (const Case& one : cases) {
    for (const bool shared : {false, true}) {
      for (const bool held : {false, true}) {
        Kernels kernels(kernel_of(one.code, shared), one.code);
        if (held) kernels.watch([](const exec::Grid&) { return exec::check::hold_stores(5); });
        std::vector<Line> memory = lines;
        kernels.share(memory);
        const Outcome outcome =
            kernels.run("k", {static_cast<std::uint32_t>(memory.size()), 1}, {address_of(memory)});
        ASSERT_EQ(outcome.fault, exec::Fault::none) << outcome.report;
        for (const Line& line : memory) {
          ASSERT_EQ(line.result, one.result(line.a, line.b, line.c)) << one.code;
          ASSERT_EQ(line.cell, one.cell(line.a, line.b, line.c)) << one.code;
        }
      }
    }
  }
}

// All lanes add to both halves by compare-and-swap: none is lost, no half is alone.
TEST(EmulatedWide, compares_and_swaps_among_blocks) {
  alignas(16) static std::uint64_t words[2];
  words[0] = words[1] = 0;
  const std::string code = R"(
.visible .entry k(.param .u64 words) {
  .reg .b128 %old, %new, %seen; .reg .b64 %p, %x, %y, %u, %v; .reg .pred %q, %r;
  ld.param.u64 %p, [words];
AGAIN:
  ld.relaxed.gpu.global.b128 %old, [%p];
  mov.b128 {%x, %y}, %old;
  add.u64 %u, %x, 1; add.u64 %v, %y, 3;
  mov.b128 %new, {%u, %v};
  atom.relaxed.gpu.global.cas.b128 %seen, [%p], %old, %new;
  mov.b128 {%u, %v}, %seen;
  setp.ne.u64 %q, %u, %x; @%q bra AGAIN;
  setp.ne.u64 %q, %v, %y; @%q bra AGAIN;
  ret;
})";
  std::vector<std::string> reports;
  exec::check::Races races([&](const std::string& text) { reports.push_back(text); });
  for (const bool watched : {false, true}) {
    Kernels kernels(code);
    if (watched) kernels.watch(races);
    kernels.share(words, sizeof words);
    words[0] = words[1] = 0;
    EXPECT_EQ(kernels.run("k", {4, 64}, {reinterpret_cast<std::uint64_t>(words)}).fault,
              exec::Fault::none);
    EXPECT_EQ(words[0], 256u);
    EXPECT_EQ(words[1], 768u);
  }
  EXPECT_TRUE(reports.empty()) << reports[0];
}

TEST(EmulatedWide, must_be_aligned) {
  alignas(16) static std::uint64_t words[4];
  Kernels kernels(
      ".visible .entry k(.param .u64 words) {\n.reg .b128 %a; .reg .b64 %p;\n"
      "ld.param.u64 %p, [words];\nld.global.b128 %a, [%p+8]; ret; }\n",
      "m.ptx");
  kernels.share(words, sizeof words);
  const Outcome outcome = kernels.run("k", {1, 1}, {reinterpret_cast<std::uint64_t>(words)});
  EXPECT_EQ(outcome.fault, exec::Fault::misaligned_address);
  EXPECT_NE(outcome.report.find("an access of 16 bytes to 0x"), std::string::npos)
      << outcome.report;
  EXPECT_NE(outcome.report.find("at m.ptx:7 `ld.global.b128 %a, [%p+8]` in k"), std::string::npos)
      << outcome.report;
}

}  // namespace

}  // namespace k2k::emulator
