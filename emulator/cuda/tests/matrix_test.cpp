// mma and ldmatrix, against the same in C.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "emulator/cuda/exec/ops/real_formats.hpp"
#include "emulator/cuda/tests/kernels_fixture.hpp"

namespace k2k::emulator {

namespace {

// Of one warp: the operands of each lane, and what it gets.
struct Fragment {
  std::uint32_t a[4] = {};
  std::uint32_t b[2] = {};
  float c[4] = {};
  float d[4] = {};
  std::uint32_t unused[2] = {};
};
static_assert(sizeof(Fragment) == 64);

std::string kernel_of(const std::string& instruction) {
  return ".visible .entry k(.param .u64 words) {\n"
         ".reg .b64 %p, %l; .reg .b32 %t, %a<4>, %b<2>; .reg .f32 %c<4>, %d<4>; .reg .pred %q;\n"
         "ld.param.u64 %p, [words]; mov.u32 %t, %tid.x; mul.wide.u32 %l, %t, 64; add.u64 %p, %p, "
         "%l;\n"
         "ld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%p]; ld.global.v2.b32 {%b0, %b1}, [%p+16];\n"
         "ld.global.v2.f32 {%c0, %c1}, [%p+24]; ld.global.v2.f32 {%c2, %c3}, [%p+32];\n" +
         instruction +
         "\nst.global.v2.f32 [%p+40], {%d0, %d1}; st.global.v2.f32 [%p+48], {%d2, %d3}; ret; }\n";
}

using exec::Rounding;

// The tables of the PTX manual: which lane and half holds the element of a row and column.
struct Held {
  std::uint32_t lane;
  std::uint32_t index;
};
Held holder_of_a(std::uint32_t row, std::uint32_t column) {
  return {row % 8 * 4 + column % 8 / 2, column % 2 + row / 8 * 2 + column / 8 * 4};
}
Held holder_of_b(std::uint32_t row, std::uint32_t column) {
  return {column * 4 + row % 8 / 2, row % 2 + row / 8 * 2};
}
Held holder_of_c(std::uint32_t row, std::uint32_t column) {
  return {row % 8 * 4 + column / 2, column % 2 + row / 8 * 2};
}

void multiply_as_c_does(bool brain, std::uint32_t depth, bool whole_numbers, std::uint32_t seed) {
  const std::string type = brain ? "bf16" : "f16";
  const std::string instruction =
      "mma.sync.aligned.m16n8k" + std::to_string(depth) + ".row.col.f32." + type + "." + type +
      (depth == 16
           ? ".f32 {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%c0, %c1, %c2, %c3};"
           : ".f32 {%d0, %d1, %d2, %d3}, {%a0, %a1}, {%b0}, {%c0, %c1, %c2, %c3};");
  std::mt19937 random(seed);
  const auto next = [&] {
    const double value = whole_numbers ? static_cast<double>(random() % 41) - 20
                                       : static_cast<double>(random()) / 4294967296.0 * 8 - 4;
    return brain ? exec::brain_of(value, Rounding::nearest)
                 : exec::half_of(value, Rounding::nearest);
  };
  const auto value = [&](std::uint16_t bits) {
    return static_cast<double>(brain ? exec::float_of_brain(bits) : exec::float_of_half(bits));
  };
  std::vector<std::vector<double>> a(16, std::vector<double>(depth));
  std::vector<std::vector<double>> b(depth, std::vector<double>(8));
  std::vector<Fragment> memory(32);
  for (std::uint32_t row = 0; row < 16; ++row) {
    for (std::uint32_t column = 0; column < depth; ++column) {
      const Held at = holder_of_a(row, column);
      const std::uint16_t bits = next();
      memory[at.lane].a[at.index / 2] |= std::uint32_t{bits} << at.index % 2 * 16;
      a[row][column] = value(bits);
    }
  }
  for (std::uint32_t row = 0; row < depth; ++row) {
    for (std::uint32_t column = 0; column < 8; ++column) {
      const Held at = holder_of_b(row, column);
      const std::uint16_t bits = next();
      memory[at.lane].b[at.index / 2] |= std::uint32_t{bits} << at.index % 2 * 16;
      b[row][column] = value(bits);
    }
  }
  for (Fragment& fragment : memory) {
    for (float& c : fragment.c) c = static_cast<float>(value(next()));
  }
  Kernels kernels(kernel_of(instruction));
  kernels.share(memory);
  const Outcome outcome = kernels.run("k", {1, 32}, {address_of(memory)});
  ASSERT_EQ(outcome.fault, exec::Fault::none) << outcome.report;
  for (std::uint32_t row = 0; row < 16; ++row) {
    for (std::uint32_t column = 0; column < 8; ++column) {
      const Held at = holder_of_c(row, column);
      float sum = memory[at.lane].c[at.index];
      double size = std::abs(sum);
      for (std::uint32_t k = 0; k < depth; ++k) {
        sum += static_cast<float>(a[row][k] * b[k][column]);
        size += std::abs(a[row][k] * b[k][column]);
      }
      const double allowed = whole_numbers ? 0 : size * depth * 1.2e-7;
      ASSERT_NEAR(memory[at.lane].d[at.index], sum, allowed) << instruction << row << "," << column;
    }
  }
}

TEST(EmulatedMatrix, multiplies_as_c_does) {
  std::uint32_t seed = 1;
  for (const bool brain : {false, true}) {
    for (const std::uint32_t depth : {8u, 16u}) {
      for (const bool whole_numbers : {true, false}) {
        for (int round = 0; round < 4; ++round) {
          multiply_as_c_does(brain, depth, whole_numbers, seed++);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// 1, 2 and 4 matrices of 8 x 8, as they lie and transposed; each row has an address of its own.
TEST(EmulatedMatrix, loads_matrices_as_c_does) {
  for (const std::uint32_t count : {1u, 2u, 4u}) {
    for (const bool transposed : {false, true}) {
      const std::string to = count == 1   ? "{%a0}"
                             : count == 2 ? "{%a0, %a1}"
                                          : "{%a0, %a1, %a2, %a3}";
      const std::string code =
          ".visible .entry k(.param .u64 words) {\n.shared .align 16 .b8 cells[512];\n"
          ".reg .b64 %p, %l; .reg .b32 %t, %n, %m, %a<4>;\n"
          "ld.param.u64 %p, [words]; mov.u32 %t, %tid.x; mul.wide.u32 %l, %t, 16; add.u64 %p, %p, "
          "%l;\n"
          "ld.global.v4.u32 {%a0, %a1, %a2, %a3}, [%p]; shl.b32 %n, %t, 4; mov.u32 %m, cells;\n"
          "add.u32 %n, %m, %n; st.shared.v4.u32 [%n], {%a0, %a1, %a2, %a3}; bar.sync 0;\n"
          // The rows in reverse.
          "sub.u32 %n, 31, %t; shl.b32 %n, %n, 4; add.u32 %n, %m, %n;\n"
          "ldmatrix.sync.aligned.m8n8.x" +
          std::to_string(count) + (transposed ? ".trans" : "") + ".shared.b16 " + to +
          ", [%n];\nst.global.v4.u32 [%p+512], {%a0, %a1, %a2, %a3}; ret; }\n";
      Kernels kernels(code);
      std::vector<std::uint16_t> memory(512);
      for (std::size_t at = 0; at < 256; ++at) memory[at] = static_cast<std::uint16_t>(at * 257);
      kernels.share(memory);
      std::vector<std::string> reports;
      exec::check::Races races([&](const std::string& text) { reports.push_back(text); });
      kernels.watch(races);
      const Outcome outcome = kernels.run("k", {1, 32}, {address_of(memory)});
      ASSERT_EQ(outcome.fault, exec::Fault::none) << outcome.report;
      EXPECT_TRUE(reports.empty()) << reports[0];
      for (std::uint32_t lane = 0; lane < 32; ++lane) {
        for (std::uint32_t matrix = 0; matrix < count; ++matrix) {
          for (std::uint32_t half = 0; half < 2; ++half) {
            const std::uint32_t column = lane % 4 * 2 + half;
            const std::uint32_t row = transposed ? column : lane / 4;
            const std::uint32_t place = transposed ? lane / 4 : column;
            ASSERT_EQ(memory[256 + lane * 8 + matrix * 2 + half],
                      memory[(31 - (8 * matrix + row)) * 8 + place])
                << count << transposed << lane;
          }
        }
      }
    }
  }
}

TEST(EmulatedMatrix, needs_a_whole_warp) {
  const std::string mma =
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %d3}, {%a0, %a1}, {%b0}, "
      "{%c0, "
      "%c1, %c2, %c3};";
  std::vector<Fragment> memory(32);
  Kernels kernels(kernel_of("setp.eq.u32 %q, %t, 5; @%q exit;\n" + mma), "m.ptx");
  kernels.share(memory);
  const Outcome outcome = kernels.run("k", {1, 32}, {address_of(memory)});
  EXPECT_EQ(outcome.fault, exec::Fault::divergence);
  EXPECT_NE(outcome.report.find("needs all 32 lanes of a warp, at m.ptx:"), std::string::npos)
      << outcome.report;
  const auto refused = [](const std::string& code, const std::string& words) {
    const std::string said = refusal_of(ptx_head + kernel_of(code));
    EXPECT_NE(said.find(words), std::string::npos) << code << ": " << said;
  };
  refused(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%d0, %d1, %d2, %d3}, {%a0, %a1}, {%b0}, "
      "{%c0, %c1, %c2, %c3};",
      "`mma.sync");
  refused(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %d3}, {%a0, %a1}, {%b0}, "
      "{%c0, %c1, %c2, %c3};",
      "a fragment of another size");
  refused(
      "mma.sync.aligned.m16n8k8.row.row.f32.f16.f16.f32 {%d0, %d1, %d2, %d3}, {%a0, %a1}, {%b0}, "
      "{%c0, %c1, %c2, %c3};",
      "not known");
  refused("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%a0}, [%a1];", "a fragment of another size");
  refused("ldmatrix.sync.aligned.m8n16.x2.shared.b8 {%a0, %a1}, [%a1];", "not known");
}

}  // namespace

}  // namespace k2k::emulator
