// wmma: matrices are loaded, multiplied and stored as C does it, over every shape, type and layout.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "emulator/cuda/exec/ops/real_formats.hpp"
#include "emulator/cuda/tests/instruction_fixture.hpp"
#include "emulator/cuda/tests/kernels_fixture.hpp"

namespace k2k::emulator {

namespace {

using exec::Rounding;

struct alignas(32) Chunk {
  std::byte bytes[32] = {};
};

std::uint32_t bytes_of(const std::string& type) {
  if (type == "s8" || type == "u8") return 1;
  return type == "f16" || type == "bf16" ? 2 : type == "f64" ? 8 : 4;
}

long double value_of(const std::string& type, std::uint64_t bits) {
  const auto word = static_cast<std::uint32_t>(bits);
  const auto half = static_cast<std::uint16_t>(bits);
  if (type == "s8") return static_cast<std::int8_t>(bits);
  if (type == "u8") return static_cast<std::uint8_t>(bits);
  if (type == "s32") return static_cast<std::int32_t>(word);
  if (type == "f16") return static_cast<long double>(exec::float_of_half(half));
  if (type == "bf16") return static_cast<long double>(exec::float_of_brain(half));
  if (type == "f64") return static_cast<long double>(std::bit_cast<double>(bits));
  return static_cast<long double>(std::bit_cast<float>(type == "tf32" ? word & ~0x1fffu : word));
}

enum class Values : std::uint8_t { whole, real, edges };

std::uint64_t value_for(const std::string& type, Values values, std::mt19937_64& random) {
  if (type == "s8" || type == "u8" || type == "s32") {
    constexpr std::uint32_t edges[] = {0, 1, 0x7f, 0x80, 0xff, 0x7fffffff, 0x80000000, 0xffffffff};
    return values == Values::edges ? edges[random() % 8] : random();
  }
  const double number = values == Values::whole
                            ? static_cast<double>(random() % 17) - 8
                            : static_cast<double>(random() % 100000) / 12345 - 4;
  if (type == "f16" || type == "bf16") {
    const std::uint16_t inf = type == "f16" ? 0x7c00 : 0x7f80;
    const std::uint16_t edges[] = {0,
                                   0x8000,
                                   1,
                                   0x8001,
                                   inf,
                                   static_cast<std::uint16_t>(inf - 1),
                                   static_cast<std::uint16_t>(inf | 0x8000),
                                   static_cast<std::uint16_t>(inf + 1),
                                   0x3c00};
    if (values == Values::edges && random() % 4 == 0) return edges[random() % 9];
    return type == "f16" ? exec::half_of(number, Rounding::nearest)
                         : exec::brain_of(number, Rounding::nearest);
  }
  const std::string as = type == "f64" ? "f64" : "f32";
  if (values == Values::edges && random() % 4 == 0) {
    const std::vector<std::uint64_t> edges = edges_of(as);
    return edges[random() % edges.size()];
  }
  return as == "f64" ? std::bit_cast<std::uint64_t>(number)
                     : std::bit_cast<std::uint32_t>(static_cast<float>(number));
}

// A matrix in memory, with a stride that is larger than it needs.
struct Matrix {
  std::string type;
  std::uint32_t rows, columns;
  bool column_major;
  std::uint32_t stride;
  std::vector<Chunk> memory;

  Matrix(std::string of, std::uint32_t height, std::uint32_t width, bool turned, bool is_wide)
      : type(std::move(of)), rows(height), columns(width), column_major(turned) {
    stride = (turned ? rows : columns) + (is_wide ? 16 : 0);
    memory.resize((std::size_t{stride} * (turned ? columns : rows) * bytes_of(type) + 31) / 32);
  }
  [[nodiscard]] std::size_t offset(std::uint32_t row, std::uint32_t column) const {
    const std::size_t at =
        column_major ? std::size_t{column} * stride + row : std::size_t{row} * stride + column;
    return at * bytes_of(type);
  }
  [[nodiscard]] std::uint64_t bits(std::uint32_t row, std::uint32_t column) const {
    std::uint64_t value = 0;
    std::memcpy(&value, memory[0].bytes + offset(row, column), bytes_of(type));
    return value;
  }
  [[nodiscard]] long double value(std::uint32_t row, std::uint32_t column) const {
    return value_of(type, bits(row, column));
  }
  void fill(Values values, std::mt19937_64& random) {
    for (std::uint32_t row = 0; row < rows; ++row) {
      for (std::uint32_t column = 0; column < columns; ++column) {
        const std::uint64_t word = value_for(type, values, random);
        std::memcpy(memory[0].bytes + offset(row, column), &word, bytes_of(type));
      }
    }
  }
  [[nodiscard]] std::string order() const { return column_major ? "col" : "row"; }
};

// What nvcc gives each lane for <mma.h>.
std::size_t registers_of(const std::string& type, const std::string& role, std::uint32_t elements) {
  if (role == "c" || role == "d") return type == "f16" ? 4 : type == "f64" ? 2 : 8;
  if (type == "f16") return 8;
  return type == "f64" ? 1 : elements / 32 * bytes_of(type) / 4;
}

std::string list_of(const std::string& name, std::size_t count) {
  std::string text = "{";
  for (std::size_t at = 0; at < count; ++at) {
    text += (at == 0 ? "" : ", ") + ("%" + name) + std::to_string(at);
  }
  return text + "}";
}

struct Form {
  std::string shape;
  std::uint32_t m, n, k;
  std::string a, c, d;
  bool saturates = false;

  [[nodiscard]] std::string types() const {
    return a == "f16" ? d + "." + c : d + "." + a + "." + a + "." + c;
  }
};

std::vector<Form> forms() {
  std::vector<Form> all{{"m16n16k8", 16, 16, 8, "tf32", "f32", "f32"},
                        {"m8n8k4", 8, 8, 4, "f64", "f64", "f64"}};
  for (const auto& [shape, m, n] :
       {std::tuple{"m16n16k16", 16u, 16u}, {"m8n32k16", 8u, 32u}, {"m32n8k16", 32u, 8u}}) {
    for (const std::string c : {"f16", "f32"}) {
      for (const std::string d : {"f16", "f32"}) all.push_back({shape, m, n, 16, "f16", c, d});
    }
    all.push_back({shape, m, n, 16, "bf16", "f32", "f32"});
    for (const bool saturates : {false, true}) {
      all.push_back({shape, m, n, 16, "s8", "s32", "s32", saturates});
      all.push_back({shape, m, n, 16, "u8", "s32", "s32", saturates});
    }
  }
  return all;
}

struct Product {
  Matrix a, b, c, d;
  std::string code;
};

Product case_of(const Form& form, std::uint32_t choice, const std::string& space = "global.") {
  const auto turned = [&](int operand) { return (choice >> operand & 1) != 0; };
  const bool wide = choice % 3 != 0;  // Without a stride the default counts.
  Product made{{form.a, form.m, form.k, turned(0), wide},
               {form.a, form.k, form.n, turned(1), wide},
               {form.c, form.m, form.n, turned(2), wide},
               {form.d, form.m, form.n, turned(3), wide},
               ""};
  const auto one = [&](const std::string& name, const Matrix& of) {
    const std::string list = list_of(name, registers_of(of.type, name, of.rows * of.columns));
    const std::string stride = wide ? ", " + std::to_string(of.stride) : "";
    const std::string words = (name == "d" ? "wmma.store." : "wmma.load.") + name +
                              ".sync.aligned." + of.order() + "." + form.shape + "." +
                              (choice % 2 == 0 ? space : "") + of.type + " ";
    return words + (name == "d" ? "[%pd], " + list : list + ", [%p" + name + "]") + stride + ";\n";
  };
  const auto registers = [&](const std::string& name, const Matrix& of) {
    return list_of(name, registers_of(of.type, name, of.rows * of.columns));
  };
  made.code = one("a", made.a) + one("b", made.b) + one("c", made.c) + "wmma.mma.sync.aligned." +
              made.a.order() + "." + made.b.order() + "." + form.shape + "." + form.types() +
              (form.saturates ? ".satfinite" : "") + (form.a == "f64" ? ".rn" : "") + " " +
              registers("d", made.d) + ", " + registers("a", made.a) + ", " +
              registers("b", made.b) + ", " + registers("c", made.c) + ";\n" + one("d", made.d);
  return made;
}

std::string kernel_with(const std::string& code, bool wide_registers = false) {
  return ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d) {\n"
         ".shared .align 32 .b8 cells[2048];\n"
         ".reg .b64 %pa, %pb, %pc, %pd, %q; .reg .pred %p0; .reg .b32 %t; .reg ." +
         std::string(wide_registers ? "f64" : "b32") +
         " %a<8>, %b<8>, %c<8>, %d<8>;\n"
         "ld.param.u64 %pa, [a]; ld.param.u64 %pb, [b]; ld.param.u64 %pc, [c]; "
         "ld.param.u64 %pd, [d]; mov.u32 %t, %tid.x;\n" +
         code + "\nret; }\n";
}

Outcome run(Product& of, const std::string& code, exec::check::Races* races = nullptr) {
  Kernels kernels(kernel_with(code, of.a.type == "f64"), "m.ptx");
  for (Matrix* matrix : {&of.a, &of.b, &of.c, &of.d}) kernels.share(matrix->memory);
  if (races != nullptr) kernels.watch(*races);
  return kernels.run("k", {1, 32},
                     {address_of(of.a.memory), address_of(of.b.memory), address_of(of.c.memory),
                      address_of(of.d.memory)});
}

void expect_element(const Form& form, const Product& of, std::uint32_t row, std::uint32_t column,
                    Values values) {
  long double sum = of.c.value(row, column);
  long double size = std::abs(sum);
  for (std::uint32_t k = 0; k < form.k; ++k) {
    const long double product = of.a.value(row, k) * of.b.value(k, column);
    sum += product;
    size += std::abs(product);
  }
  const std::string where = of.code + std::to_string(row) + "," + std::to_string(column);
  if (form.d == "f64") {  // Rounded product by product.
    auto rounded = static_cast<double>(of.c.value(row, column));
    for (std::uint32_t k = 0; k < form.k; ++k) {
      rounded = std::fma(static_cast<double>(of.a.value(row, k)),
                         static_cast<double>(of.b.value(k, column)), rounded);
    }
    ASSERT_EQ(of.d.bits(row, column), bits(rounded)) << where;
    return;
  }
  const long double got = of.d.value(row, column);
  if (form.d == "s32") {
    auto exact = static_cast<std::int64_t>(sum);
    if (form.saturates) exact = std::clamp<std::int64_t>(exact, INT32_MIN, INT32_MAX);
    ASSERT_EQ(static_cast<std::int32_t>(of.d.bits(row, column)),
              static_cast<std::int32_t>(static_cast<std::uint64_t>(exact)))
        << where;
    return;
  }
  const long double most = form.d == "f16" ? 65504.0L : 3.4028234e38L;
  if (std::isnan(sum)) {
    ASSERT_TRUE(std::isnan(got)) << where;
    return;
  }
  if (std::abs(sum) > most * 1.0005L) {
    ASSERT_TRUE(std::isinf(got) && (got > 0) == (sum > 0)) << where << ": " << got;
    return;
  }
  const long double last_place = form.d == "f16" ? 0x1p-11L : 0x1p-24L;
  const long double least = form.d == "f16" ? 0x1p-25L : 0x1p-150L;
  const long double allowed =
      values == Values::whole && std::abs(sum) <= 2048 ? 0 : size * last_place * 1.01L + least;
  if (std::isinf(got)) {
    ASSERT_GT(std::abs(sum) + allowed, most) << where;
    return;
  }
  ASSERT_LE(std::abs(got - sum), allowed) << where << ": " << got << ", not " << sum;
}

TEST(EmulatedWmma, multiplies_as_c_does) {
  std::mt19937_64 random(5);
  for (const Form& form : forms()) {
    for (std::uint32_t choice = 0; choice < 16; ++choice) {
      for (const Values values : {Values::whole, Values::real, Values::edges}) {
        Product of = case_of(form, choice);
        of.a.fill(values, random);
        of.b.fill(values, random);
        of.c.fill(values, random);
        const Outcome outcome = run(of, of.code);
        ASSERT_EQ(outcome.fault, exec::Fault::none) << of.code << outcome.report;
        for (std::uint32_t row = 0; row < form.m; ++row) {
          for (std::uint32_t column = 0; column < form.n; ++column) {
            expect_element(form, of, row, column, values);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

// A kernel may change all elements of a fragment, whichever lane holds them.
TEST(EmulatedWmma, fragments_are_changed_element_by_element) {
  const Form form{"m8n32k16", 8, 32, 16, "f16", "f32", "f32"};
  std::mt19937_64 random(6);
  Product of = case_of(form, 6);
  of.a.fill(Values::whole, random);
  of.b.fill(Values::whole, random);
  std::string doubled;
  for (int at = 0; at < 8; ++at) {
    const std::string a = "%a" + std::to_string(at);
    doubled += "add.f16x2 " + a + ", " + a + ", " + a + ";\n";
  }
  std::string code = of.code;
  code.insert(code.find("wmma.mma"), doubled);
  const Outcome outcome = run(of, code);
  ASSERT_EQ(outcome.fault, exec::Fault::none) << outcome.report;
  for (std::uint32_t row = 0; row < form.m; ++row) {
    for (std::uint32_t column = 0; column < form.n; ++column) {
      long double sum = 0;
      for (std::uint32_t k = 0; k < form.k; ++k) {
        sum += 2 * of.a.value(row, k) * of.b.value(k, column);
      }
      ASSERT_EQ(of.d.value(row, column), sum) << row << "," << column;
    }
  }
}

// Matrices in shared memory, and who wrote them: a warp that stores one reads it behind a barrier.
TEST(EmulatedWmma, orders_its_accesses_as_other_instructions) {
  const auto reports_of = [](const std::string& between) {
    const Form form{"m16n16k16", 16, 16, 16, "s8", "s32", "s32"};
    std::mt19937_64 random(7);
    Product of = case_of(form, 0);
    of.a.fill(Values::real, random);
    of.b.fill(Values::real, random);
    of.c.fill(Values::real, random);
    std::string code = of.code;
    code.insert(code.find("wmma.store"),
                "wmma.store.d.sync.aligned.col.m16n16k16.shared.s32 [cells], " + list_of("d", 8) +
                    ", 20;\n" + between + "wmma.load.c.sync.aligned.col.m16n16k16.shared.s32 " +
                    list_of("d", 8) + ", [cells], 20;\n");
    std::vector<std::string> reports;
    exec::check::Races races([&](const std::string& text) { reports.push_back(text); });
    const Outcome outcome = run(of, code, &races);
    EXPECT_EQ(outcome.fault, exec::Fault::none) << outcome.report;
    for (std::uint32_t row = 0; row < 16; ++row) {
      for (std::uint32_t column = 0; column < 16; ++column) {
        expect_element(form, of, row, column, Values::real);
      }
    }
    return reports;
  };
  // Lane by lane the same elements: nothing to order.
  EXPECT_TRUE(reports_of("").empty());
  EXPECT_TRUE(reports_of("bar.sync 0;\n").empty());
  const std::string other =
      "add.u32 %t, %t, 1; and.b32 %t, %t, 31; shl.b32 %t, %t, 2; ld.shared.u32 %t, [%t];\n";
  const std::vector<std::string> found = reports_of(other);
  ASSERT_FALSE(found.empty());
  EXPECT_NE(found[0].find("`wmma.store.d.sync.aligned.col.m16n16k16.shared.s32 [cells]"),
            std::string::npos)
      << found[0];
  EXPECT_TRUE(reports_of("bar.sync 0;\n" + other).empty());
}

TEST(EmulatedWmma, rounds_to_tf32_as_c_does) {
  const auto rounded = [](std::uint64_t from, int how) {  // 0 away, 1 nearest, 2 zero.
    const float value = f32(from);
    if (value != value) return std::uint64_t{0x7fffffff};
    if (std::isinf(value) || value == 0) return from;
    int exponent = 0;
    const double part = std::frexp(static_cast<double>(value), &exponent);
    exponent = std::max(exponent, -125);  // Subnormal numbers have the smallest exponent's units.
    const double unit = std::ldexp(1.0, exponent - 11);
    (void)part;
    const double in_units = static_cast<double>(value) / unit;
    const double whole = how == 0   ? std::round(in_units)
                         : how == 1 ? std::nearbyint(in_units)
                                    : std::trunc(in_units);
    const auto result = static_cast<float>(whole * unit);
    return std::uint64_t{
        std::bit_cast<std::uint32_t>(whole == 0 ? std::copysign(0.0f, value) : result)};
  };
  int how = 0;
  for (const std::string mode : {"rna", "rn", "rz"}) {
    const auto expected = [rounded, how](std::uint64_t a, std::uint64_t, std::uint64_t) {
      return rounded(a, how);
    };
    const auto positive = [rounded, how](std::uint64_t a, std::uint64_t, std::uint64_t) {
      return f32(a) <= 0 ? 0 : rounded(a, how);
    };
    const std::vector<std::uint64_t> ties{0x3f801000, 0x3f803000, 0xbf801000, 0x00001000,
                                          0x7f7ff000, 0x3f800fff, 0x3f801001};
    expect_operation({"cvt." + mode + ".tf32.f32 %d, %a;", "f32", "b32", expected, ties}, 3);
    if (how != 0) {
      expect_operation({"cvt." + mode + ".relu.tf32.f32 %d, %a;", "f32", "b32", positive, ties}, 4);
    }
    ++how;
  }
}

TEST(EmulatedWmma, reports_misuse) {
  const auto fault = [](const std::string& code, exec::Fault expected, const std::string& words) {
    Product of = case_of({"m16n16k16", 16, 16, 16, "f16", "f32", "f32"}, 0);
    const Outcome outcome = run(of, code);
    EXPECT_EQ(outcome.fault, expected) << code << outcome.report;
    EXPECT_NE(outcome.report.find(words), std::string::npos) << outcome.report;
  };
  using exec::Fault;
  const std::string load = "wmma.load.a.sync.aligned.row.m16n16k16.f16 " + list_of("a", 8);
  fault("setp.eq.u32 %p0, %t, 7; @%p0 exit;\n" + load + ", [%pa];", Fault::divergence,
        "needs all 32 lanes of a warp, at m.ptx:");
  fault(load + ", [%pa+16];", Fault::misaligned_address,
        "its address has to be a multiple of 32, at m.ptx:");
  fault(load + ", [%pa], 17;", Fault::misaligned_address,
        "a stride of 17 elements, 34 bytes; it has to be a multiple of 16 bytes");
  fault(load + ", [%pa], 1024;", Fault::illegal_address, "an access of 2 bytes to 0x");
  fault("wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [cells+2048], " + list_of("d", 8) + ";",
        Fault::illegal_address, "an access of 4 bytes to 0x");
  const auto refused = [](const std::string& code, const std::string& words) {
    const std::string said = refusal_of(ptx_head + kernel_with(code));
    EXPECT_NE(said.find(words), std::string::npos) << code << ": " << said;
  };
  refused("wmma.load.a.sync.aligned.row.m16n16k16.f16 " + list_of("a", 4) + ", [%pa];",
          "a fragment of 4 registers, where this shape has 8");
  refused("wmma.load.a.sync.aligned.row.m8n8k32.s4 {%a0}, [%pa];",
          "`wmma.load.a.sync.aligned.row.m8n8k32.s4 {%a0}, [%pa]`: this form of the instruction is "
          "not known");
  refused("wmma.load.a.sync.aligned.row.m16n16k16.tf32 " + list_of("a", 4) + ", [%pa];",
          "not known");
  refused("wmma.load.c.sync.aligned.row.m16n16k16.bf16 " + list_of("a", 4) + ", [%pa];",
          "not known");
  refused("wmma.load.a.sync.aligned.m16n16k16.f16 " + list_of("a", 8) + ", [%pa];", "not known");
  const auto multiply = [](const std::string& words) {
    return "wmma.mma.sync.aligned." + words + " " + list_of("d", 8) + ", " + list_of("a", 8) +
           ", " + list_of("b", 8) + ", " + list_of("c", 8) + ";";
  };
  const auto small = [](const std::string& words) {
    return "wmma.mma.sync.aligned." + words + " {%d0, %d1}, {%a0}, {%b0}, {%c0, %c1};";
  };
  EXPECT_EQ(refusal_of(ptx_head + kernel_with(multiply("row.col.m16n16k16.f32.f32"))), "");
  refused(multiply("row.m16n16k16.f32.f32"), "not known");
  refused(multiply("row.col.m16n16k16.f32.f16.f16.f32"), "not known");
  refused(multiply("row.col.m16n16k16.f32.s32"), "not known");
  refused(multiply("row.col.m16n16k16.f32.f32.satfinite"), "the modifier .satfinite");
  refused(multiply("row.col.m16n16k16.s32.s8.u8.s32"), "not known");
  refused(small("row.col.m8n8k128.xor.popc.s32.b1.b1.s32"), "not known");
  refused(small("row.col.m8n8k4.f64.f64.f64.f64.rz"), "the modifier .rz");
  refused("cvt.rna.relu.tf32.f32 %a0, %a1;", "this conversion is not known");
  refused("cvt.rm.tf32.f32 %a0, %a1;", "this conversion is not known");
}

}  // namespace

}  // namespace k2k::emulator
