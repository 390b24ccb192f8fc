#pragma once
// A table of instructions, each with the same operation in C, and the values that they are tried
// on: edges of the type and random ones, every pair of edges.
//
// Threading: a test's thread.

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "emulator/cuda/tests/kernels_fixture.hpp"

namespace k2k::emulator {

// Of a register: ".b32" has the prefix %r.
struct Operation {
  std::string code;  // "add.s32 %d, %a, %b;"
  std::string from;  // The type of the operands' registers: b16, b32, b64, f32, f64
  std::string to;    // Of the result's register, and of what is compared.
  std::function<std::uint64_t(std::uint64_t, std::uint64_t, std::uint64_t)> expected;
  std::vector<std::uint64_t> more;  // Values of the operands that are tried besides.
};

inline std::vector<std::uint64_t> edges_of(const std::string& type) {
  if (type == "f32") {
    return {0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000,
            0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x3f7fffff,
            0x40490fdb, 0x4f000000, 0xcf000000, 0x5f000000, 0x4b000001, 0x3f000000, 0x3fc00000};
  }
  if (type == "f64") {
    return {0x0000000000000000, 0x8000000000000000, 0x3ff0000000000000, 0xbff0000000000000,
            0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0x0000000000000001,
            0x000fffffffffffff, 0x0010000000000000, 0x7fefffffffffffff, 0x400921fb54442d18,
            0x41e0000000000000, 0xc1e0000000000000, 0x43e0000000000000, 0x4340000000000001,
            0x3fe0000000000000, 0x3ff8000000000000, 0x36a0000000000000, 0x47efffffe0000000};
  }
  const int bits = type == "b16" ? 16 : type == "b32" ? 32 : 64;
  const std::uint64_t all = bits == 64 ? ~0ull : (1ull << bits) - 1;
  return {0,
          1,
          2,
          3,
          7,
          all,
          all - 1,
          all >> 1,
          (all >> 1) + 1,
          (all >> 1) - 1,
          31,
          32,
          33,
          63,
          64,
          0x5555555555555555ull & all,
          0xff & all,
          0x100 & all};
}

inline std::uint64_t mask_of(const std::string& type, std::uint64_t value) {
  if (type == "b8") return value & 0xff;
  if (type == "b16") return value & 0xffff;
  return type == "b32" || type == "f32" || type == "pred" ? value & 0xffffffff : value;
}

// Runs one operation on all its values; reports the first that is wrong.
inline void expect_operation(const Operation& operation, std::uint32_t seed) {
  std::vector<std::uint64_t> edges = edges_of(operation.from);
  edges.insert(edges.end(), operation.more.begin(), operation.more.end());
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> values;
  for (const std::uint64_t a : edges) {
    for (const std::uint64_t b : edges) {
      const std::uint64_t thirds[] = {edges[random() % edges.size()], random() % 70, random()};
      values.insert(values.end(), {a, b, mask_of(operation.from, thirds[random() % 3])});
    }
  }
  constexpr int random_count = 400;
  for (int at = 0; at < random_count; ++at) {
    for (int operand = 0; operand < 3; ++operand) {
      values.push_back(mask_of(operation.from, random()));
    }
  }
  const std::size_t count = values.size() / 3;
  std::vector<std::uint64_t> results(count, 0);

  std::string code = operation.code;
  const bool predicate = operation.to == "pred";
  const std::string body =
      ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 count) {\n"
      ".reg .pred %p<4>; .reg .b64 %x<8>; .reg .b32 %i<4>;\n.reg ." +
      operation.from + " %a; .reg ." + operation.from + " %b; .reg ." + operation.from +
      " %c;\n.reg ." + (predicate ? "b32" : operation.to) +
      " %d;\n.reg .b32 %t;\n"
      "ld.param.u64 %x1, [in]; ld.param.u64 %x2, [out]; ld.param.u64 %x3, [count];\n"
      "mov.u32 %i1, %tid.x; mov.u32 %i2, %ctaid.x; mov.u32 %i3, %ntid.x;\n"
      "mad.lo.u32 %i1, %i2, %i3, %i1; cvt.u64.u32 %x4, %i1; setp.ge.u64 %p1, %x4, %x3;\n"
      "@%p1 ret;\n"
      "mad.lo.u64 %x5, %x4, 24, %x1; mad.lo.u64 %x6, %x4, 8, %x2;\n"
      "ld.global." +
      operation.from + " %a, [%x5]; ld.global." + operation.from + " %b, [%x5+8]; ld.global." +
      operation.from + " %c, [%x5+16];\n" + code + "\n" +
      (predicate ? "selp.u32 %d, 1, 0, %p2;\nst.global.b32 [%x6], %d;\n"
                 : "st.global." + operation.to + " [%x6], %d;\n") +
      "ret; }\n";
  Kernels kernels(body, operation.code);
  kernels.share(values);
  kernels.share(results);
  constexpr std::uint32_t threads = 256;
  const auto blocks = static_cast<std::uint32_t>((count + threads - 1) / threads);
  const Outcome outcome =
      kernels.run("k", {blocks, threads}, {address_of(values), address_of(results), count});
  ASSERT_EQ(outcome.fault, exec::Fault::none) << operation.code << ": " << outcome.report;
  for (std::size_t at = 0; at < count; ++at) {
    const std::uint64_t* const in = &values[3 * at];
    const std::uint64_t wanted = mask_of(operation.to, operation.expected(in[0], in[1], in[2]));
    ASSERT_EQ(mask_of(operation.to, results[at]), wanted)
        << std::hex << operation.code << " of " << in[0] << ", " << in[1] << ", " << in[2];
  }
}

inline float f32(std::uint64_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}
inline double f64(std::uint64_t bits) { return std::bit_cast<double>(bits); }
// A NaN has one pattern on the device.
inline std::uint64_t bits(float value) {
  return value != value ? 0x7fffffff : std::bit_cast<std::uint32_t>(value);
}
inline std::uint64_t bits(double value) {
  return value != value ? 0x7ff8000000000000 : std::bit_cast<std::uint64_t>(value);
}

}  // namespace k2k::emulator
