// mma of 16 x 8 results in f32 from f16 or bf16, and ldmatrix: all 32 lanes of a warp together.
//
// Each result is summed exactly enough in double precision and rounded once; PTX leaves the order
// and the rounding of the sum open.

#include "emulator/cuda/exec/ops/matrix.hpp"

#include <array>
#include <bit>
#include <cstring>

#include "emulator/cuda/exec/ops/access.hpp"
#include "emulator/cuda/exec/ops/decoding.hpp"
#include "emulator/cuda/exec/ops/real_formats.hpp"

namespace k2k::emulator::exec {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

constexpr std::size_t rows = 16;
constexpr std::size_t columns = 8;
constexpr std::size_t depth_max = 16;

// Of the 16-bit element `index` of a lane's fragment: the halves of its registers, in their order.
std::uint16_t element(const Lane& lane, std::size_t first, std::size_t index) {
  const auto both = get<std::uint32_t>(lane, lane.waits_at->more[first + index / 2]);
  return static_cast<std::uint16_t>(index % 2 == 0 ? both : both >> 16);
}

// flags: the depth; 256: bf16. more: the registers of a, b and c; tos: of d.
void multiply(Block& block, std::uint32_t first, std::uint32_t mask) {
  if (!is_whole_warp(block, first, mask)) return;
  std::array<std::array<double, depth_max>, rows> a{};
  std::array<std::array<double, columns>, depth_max> b{};
  const std::uint32_t flags = block.lanes[first].waits_at->flags;
  const std::size_t depth = flags & 255;
  const bool brain = (flags & 256) != 0;
  const auto value = [&](std::uint16_t bits) {
    return static_cast<double>(brain ? float_of_brain(bits) : float_of_half(bits));
  };
  const std::size_t of_a = depth / 4;  // Registers.
  const std::size_t of_b = depth / 8;
  for (std::uint32_t at = 0; at < warp_lanes; ++at) {
    const Lane& lane = block.lanes[first + at];
    const std::size_t group = at / 4;
    const std::size_t pair = at % 4 * 2;
    for (std::size_t index = 0; index < 2 * of_a; ++index) {
      a[group + index / 2 % 2 * 8][pair + index % 2 + index / 4 * 8] =
          value(element(lane, 0, index));
    }
    for (std::size_t index = 0; index < 2 * of_b; ++index) {
      b[pair + index % 2 + index / 2 * 8][group] = value(element(lane, of_a, index));
    }
  }
  for (std::uint32_t at = 0; at < warp_lanes; ++at) {
    Lane& lane = block.lanes[first + at];
    const Op& op = *lane.waits_at;
    std::array<float, 4> results{};
    for (std::size_t index = 0; index < results.size(); ++index) {
      const std::size_t row = at / 4 + index / 2 * 8;
      const std::size_t column = at % 4 * 2 + index % 2;
      double sum = get<float>(lane, op.more[of_a + of_b + index]);
      for (std::size_t k = 0; k < depth; ++k) sum += a[row][k] * b[k][column];
      results[index] = static_cast<float>(sum);
    }
    for (std::size_t index = 0; index < results.size(); ++index) {
      const bool is_nan = results[index] != results[index];
      lane.regs[op.tos[index]] = is_nan ? nan32 : to_bits(results[index]);
    }
  }
}

// Besides the space in flags. Of each matrix, lane 8 * m + r has the address of row r.
constexpr std::uint32_t transposed = 16;

void load_matrices(Block& block, std::uint32_t first, std::uint32_t mask) {
  if (!is_whole_warp(block, first, mask)) return;
  constexpr std::size_t row_bytes = 16;
  std::array<std::array<std::array<std::uint16_t, 8>, 8>, 4> matrices{};
  const std::size_t count = block.lanes[first].waits_at->tos.size();
  for (std::size_t at = 0; at < 8 * count; ++at) {
    Lane& lane = block.lanes[first + at];
    const Op& op = *lane.waits_at;
    const std::byte* const from = reach(lane, op, row_bytes);
    if (from == nullptr) return;
    if (block.watch != nullptr) {
      block.watch->touches(lane, op, reinterpret_cast<std::uint64_t>(from), row_bytes, false);
    }
    std::memcpy(matrices[at / 8][at % 8].data(), from, row_bytes);
  }
  for (std::uint32_t at = 0; at < warp_lanes; ++at) {
    Lane& lane = block.lanes[first + at];
    const Op& op = *lane.waits_at;
    const std::size_t row = at / 4;
    const std::size_t pair = at % 4 * 2;
    const bool turned = (op.flags & transposed) != 0;
    for (std::size_t index = 0; index < count; ++index) {
      const auto& matrix = matrices[index];
      const std::uint32_t low = turned ? matrix[pair][row] : matrix[row][pair];
      const std::uint32_t high = turned ? matrix[pair + 1][row] : matrix[row][pair + 1];
      lane.regs[op.tos[index]] = low | high << 16;
    }
  }
}

// --- Decoding.

void add_registers(Decoding& with, const Operand& from, std::size_t count, Type type) {
  if (from.kind != Operand::Kind::vector || from.elements.size() != count) {
    with.refuse("a fragment of another size");
  }
  add_sources(with, from, type);
}

void add_results(Decoding& with, const Operand& to, std::size_t count) {
  const bool is_list = to.kind == Operand::Kind::vector;
  if (is_list ? to.elements.size() != count : count != 1) with.refuse("a fragment of another size");
  if (!is_list) with.op.tos.push_back(with.destination_of(to));
  add_destinations(with, to);
}

bool decode_multiply(Decoding& with) {
  const bool whole = with.take("sync") && with.take("aligned");
  const std::size_t shape = with.take_one({"m16n8k8", "m16n8k16"});
  const bool order = with.take("row") && with.take("col");
  const Type to = with.take_type();
  const Type a = with.take_type();
  const Type b = with.take_type();
  const Type c = with.take_type();
  with.need_count(4, 4);
  if (!whole || shape > 1 || !order || to != Type::f32 || c != Type::f32 || a != b ||
      (a != Type::f16 && a != Type::bf16)) {
    return false;
  }
  const std::size_t depth = shape == 0 ? 8 : 16;
  add_results(with, with.operand(0), 4);
  add_registers(with, with.operand(1), depth / 4, Type::b32);
  add_registers(with, with.operand(2), depth / 8, Type::b32);
  add_registers(with, with.operand(3), 4, Type::f32);
  with.op.flags = static_cast<std::uint32_t>(depth) | (a == Type::bf16 ? 256u : 0u);
  with.op.d.value = whole_warp;
  meets(with, &multiply);
  return true;
}

bool decode_load(Decoding& with) {
  const bool whole = with.take("sync") && with.take("aligned") && with.take("m8n8");
  const std::size_t count = with.take_one({"x1", "x2", "x4"});
  const bool turned = with.take("trans");
  const Space space = with.take_shared() ? Space::shared : Space::generic;
  with.need_count(2, 2);
  if (!whole || count > 2 || with.take_type() != Type::b16) return false;
  add_results(with, with.operand(0), std::size_t{1} << count);
  with.op.flags = static_cast<std::uint32_t>(space) | (turned ? transposed : 0);
  with.op.a = with.address(1, space, with.op.immediate);
  with.op.d.value = whole_warp;
  meets(with, &load_matrices);
  return true;
}

}  // namespace

bool is_whole_warp(Block& block, std::uint32_t first, std::uint32_t mask) {
  if (mask == whole_warp) return true;
  block.lanes[first + static_cast<std::uint32_t>(std::countr_zero(mask))].fail(
      Fault::divergence, "an instruction on matrices needs all 32 lanes of a warp");
  return false;
}

bool decode_matrix(Decoding& with) {
  const bool multiplies = with.opcode() == "mma";
  if (!multiplies && with.opcode() != "ldmatrix") return false;
  if (!(multiplies ? decode_multiply(with) : decode_load(with))) {
    with.refuse("this form of the instruction is not known");
  }
  return true;
}

}  // namespace k2k::emulator::exec
